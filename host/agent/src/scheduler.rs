//! The event loop: starts turns when there are inputs and places, and sees each to its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::time::Instant;

use crate::commands;
use crate::config::Pace;
use crate::core::Core;
use crate::ending;
use crate::intake;
use crate::interrupt::Control;
use crate::lifecycle::Phase;
use crate::queue::{Batch, Next};
use crate::result::{TurnError, TurnResult};
use crate::turn::Turn;

/// Runs until the agent has stopped.
pub(crate) async fn run(core: Arc<Core>) {
    let mut phase = core.phase.subscribe();
    loop {
        let wake_at = start_turns(&core);
        let timer = async {
            match wake_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = core.wake.notified() => {}
            () = timer => {}
            stopped = phase.wait_for(|phase| *phase == Phase::Stopped) => {
                drop(stopped);
                return;
            }
        }
    }
}

/// Starts what can be started; returns when to look again although nothing changes.
fn start_turns(core: &Arc<Core>) -> Option<Instant> {
    let pace = match Pace::read(&core.settings) {
        Ok(pace) => pace,
        Err(error) => {
            tracing::error!(%error, "the agent's settings can't be read; no turn is started");
            return None;
        }
    };
    loop {
        let next = core.queue().next(Instant::now(), pace);
        match next {
            Next::Wait(at) => return at,
            Next::Batch(batch) => seat(core, batch),
        }
    }
}

/// Holds a conversation's place; gives it back however its task ends.
struct Seat {
    core: Arc<Core>,
    conversation: String,
    control: Arc<Control>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        intake::requeue(&self.core, self.control.close());
        self.core.turn_ended(&self.conversation);
    }
}

fn seat(core: &Arc<Core>, batch: Batch) {
    let Some(first) = batch.items.first() else {
        core.queue().done(&batch.conversation);
        return;
    };
    let (conversation, principal) = (first.input.conversation.clone(), first.input.principal.clone());
    let control = Arc::new(Control::new(conversation, principal));
    core.turn_began(Arc::clone(&control));
    let seat = Seat { core: Arc::clone(core), conversation: batch.conversation.clone(), control };
    core.tasks.spawn(async move { Box::pin(occupy(&seat, batch)).await });
}

async fn occupy(seat: &Seat, mut batch: Batch) {
    if batch.items.len() == 1
        && let Some(item) = batch.items.pop_if(|item| commands::of(&item.input).is_some())
    {
        commands::run(&seat.core, item).await;
        return;
    }
    let route = batch.items.last().map(|item| item.input.clone());
    let turn = match Turn::begin(&seat.core, &seat.control, batch).await {
        Ok(turn) => turn,
        Err((error, watchers)) => {
            tracing::error!(%error, "a turn could not begin; its inputs wait in the journal for the next start");
            let text = format!("I can't begin to work on this: {error}");
            let error = TurnError { code: "journal".to_owned(), text };
            if let Some(input) = route {
                intake::tell(&seat.core, &input, "failed", &error.text).await;
            }
            let result = TurnResult { finish: "failed".to_owned(), error: Some(error), ..TurnResult::default() };
            for watcher in watchers {
                watcher.finish(result.clone());
            }
            return;
        }
    };
    let closing = turn.closing();
    let begun = turn.result.clone();
    if AssertUnwindSafe(turn.run()).catch_unwind().await.is_err() {
        tracing::error!(run = begun.run, "a turn panicked");
        ending::close_panicked(&seat.core, closing, begun).await;
    }
}
