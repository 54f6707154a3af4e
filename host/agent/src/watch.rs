//! Those who wait for a turn, and the channel that shows it while it runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use homeagent_types::ports::Plugins;
use homeagent_types::{Conversation, OutputDelta, Shown};
use tokio::sync::mpsc;

use crate::result::{TurnEvent, TurnResult};

/// How many events wait for a slow reader before pieces of text are joined.
const EVENTS_KEPT: usize = 256;

/// How long the end of a turn waits for a reader that does not read.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// One who waits for a turn's result. Dropping the receiver ends the watching, not the turn.
#[derive(Debug)]
pub(crate) struct Watcher {
    events: mpsc::Sender<TurnEvent>,
    /// What did not fit. Neighbouring pieces are joined, so that it is bounded by the answer's size.
    backlog: VecDeque<TurnEvent>,
}

impl Watcher {
    pub(crate) fn new() -> (Self, mpsc::Receiver<TurnEvent>) {
        let (events, receiver) = mpsc::channel(EVENTS_KEPT);
        (Self { events, backlog: VecDeque::new() }, receiver)
    }

    fn tell(&mut self, event: TurnEvent) {
        match (self.backlog.back_mut(), event) {
            (Some(TurnEvent::Delta(Shown::Text(last))), TurnEvent::Delta(Shown::Text(next)))
            | (Some(TurnEvent::Delta(Shown::Reasoning(last))), TurnEvent::Delta(Shown::Reasoning(next))) => {
                last.push_str(&next);
            }
            (_, event) => self.backlog.push_back(event),
        }
        while let Some(event) = self.backlog.pop_front() {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(event)) => {
                    self.backlog.push_front(event);
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => self.backlog.clear(),
            }
        }
    }

    /// Hands over what is left and the result, without holding up the caller.
    pub(crate) fn finish(self, result: TurnResult) {
        tokio::spawn(async move {
            let last = self.backlog.into_iter().chain([TurnEvent::Finished(result)]);
            for event in last {
                if self.events.send_timeout(event, LAST_WORDS).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Shows a turn to its channel and to its watchers.
pub(crate) struct Shower {
    plugins: Arc<dyn Plugins>,
    /// The plugin whose channel wants pieces, if there is one.
    plugin: Option<String>,
    run: String,
    conversation: Conversation,
    reply_route: Option<String>,
    watchers: Mutex<Vec<Watcher>>,
}

impl Shower {
    pub(crate) fn new(
        plugins: Arc<dyn Plugins>,
        run: String,
        conversation: Conversation,
        reply_route: Option<String>,
        watchers: Vec<Watcher>,
    ) -> Self {
        let offers = plugins.offers();
        let plugin = offers
            .channel(&conversation.channel)
            .filter(|offer| offer.item.streaming)
            .map(|offer| offer.plugin.clone());
        let shower = Self { plugins, plugin, run, conversation, reply_route, watchers: Mutex::new(watchers) };
        shower.tell(|| TurnEvent::Started { run: shower.run.clone() });
        shower
    }

    /// Shows a piece. Never waits.
    pub(crate) fn show(&self, content: Shown) {
        self.tell(|| TurnEvent::Delta(content.clone()));
        if let Some(plugin) = &self.plugin {
            let delta = OutputDelta {
                run: self.run.clone(),
                conversation: self.conversation.clone(),
                reply_route: self.reply_route.clone(),
                content,
            };
            self.plugins.show(plugin, vec![delta]);
        }
    }

    /// Tells the watchers how it ended. Later calls find nobody.
    pub(crate) fn finish(&self, result: &TurnResult) {
        let watchers = std::mem::take(&mut *self.watchers.lock().unwrap_or_else(PoisonError::into_inner));
        for watcher in watchers {
            watcher.finish(result.clone());
        }
    }

    /// Whether somebody waits for the result without a channel.
    pub(crate) fn watched(&self) -> bool {
        !self.watchers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Tells the watchers alone.
    pub(crate) fn tell(&self, event: impl Fn() -> TurnEvent) {
        for watcher in self.watchers.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            watcher.tell(event());
        }
    }
}
