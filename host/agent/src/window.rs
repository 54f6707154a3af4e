//! The working window of a conversation: a view over the journal that is always a valid sequence for a model.
//!
//! Valid means: each call of a tool is followed, before anything else, by its result; there is no result without its
//! call; what a model is shown begins with what a person said.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use homeagent_journal::Event;
use homeagent_types::ToolCall;
use homeagent_types::model::{ContentPart, Message};

/// Idle windows that are kept; others are rebuilt from the journal when their conversation goes on.
const IDLE_WINDOWS: usize = 64;

/// The bytes that idle windows may hold together.
const IDLE_BYTES: usize = 64 << 20;

/// The result of a call that was cut off before it gave one.
pub(crate) const NO_RESULT: &str = "error: there is no result, because the turn was cut off while this call was open";

/// The messages of a conversation, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    messages: Vec<Message>,
    /// For each message, whether others may have written it.
    foreign: Vec<bool>,
    /// For each message, the time that the model is told behind it. It is told where it was, so that what precedes the next
    /// message stays the same for ever and vendors' caches hit.
    times: Vec<Option<String>>,
}

/// The field of a message's event that says that others may have written it.
pub(crate) const FOREIGN: &str = "foreign";

/// The field of a message's event that says the time that the model is told behind it.
pub(crate) const AT: &str = "at";

impl Window {
    /// Rebuilds a window from the journal. Calls that were cut off get a result that says so.
    pub(crate) fn from_history(events: &[Event]) -> Self {
        let mut window = Self::default();
        for event in events {
            let Some(message) = event.payload.get("message").cloned() else { continue };
            match serde_json::from_value::<Message>(message) {
                Ok(message) => {
                    window.push(message, event.payload[FOREIGN] == true);
                    if let Some(time) = event.payload[AT].as_str() {
                        window.note_time(time.to_owned());
                    }
                }
                Err(error) => tracing::warn!(seq = event.seq, %error, "a message in the journal can't be read"),
            }
        }
        window.close();
        window.drop_headless();
        window
    }

    /// Adds a message. Whatever would break the sequence is mended: calls still open get a result before anything else
    /// follows, and a result without its call is left out.
    /// `foreign`: others may have written it.
    pub(crate) fn push(&mut self, message: Message, foreign: bool) {
        if let Message::Tool { call, .. } = &message {
            if self.open_calls().iter().any(|open| open.id == *call) {
                self.put(message, foreign);
            }
            return;
        }
        self.close();
        self.put(message, foreign);
    }

    fn put(&mut self, message: Message, foreign: bool) {
        self.messages.push(message);
        self.foreign.push(foreign);
        self.times.push(None);
    }

    /// Whether what others may have written stands in it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign.contains(&true)
    }

    /// Gives calls that are still open a result that says that there is none.
    pub(crate) fn close(&mut self) {
        for open in self.open_calls() {
            self.put(tool_message(&open, NO_RESULT.to_owned(), true), false);
        }
    }

    /// The calls of the last assistant message that have no result yet.
    fn open_calls(&self) -> Vec<ToolCall> {
        let results = self.messages.iter().rev().take_while(|message| matches!(message, Message::Tool { .. })).count();
        let head = self.messages.len() - results;
        let Some(Message::Assistant { tool_calls, .. }) = head.checked_sub(1).and_then(|at| self.messages.get(at))
        else {
            return Vec::new();
        };
        let answered = |id: &str| {
            self.messages[head..].iter().any(|message| matches!(message, Message::Tool { call, .. } if call == id))
        };
        tool_calls.iter().filter(|call| !answered(&call.id)).cloned().collect()
    }

    /// Above `limit` messages, leaves the newest three quarters of it: in batches, so that what precedes stays the same
    /// from turn to turn and vendors' caches hit. Called between turns, or with no call open.
    pub(crate) fn prune(&mut self, limit: usize) {
        if self.messages.len() > limit {
            self.keep_newest((limit * 3 / 4).max(1));
        }
    }

    /// Leaves the newer half, for a model to which it was too long. False: there is nothing to leave out.
    pub(crate) fn halve(&mut self) -> bool {
        let before = self.messages.len();
        self.keep_newest((before / 2).max(1));
        self.messages.len() < before
    }

    fn keep_newest(&mut self, keep: usize) {
        let least = self.messages.len().saturating_sub(keep);
        let is_start = |message: &Message| matches!(message, Message::User(_));
        let after = self.messages.iter().skip(least).position(is_start).map(|at| at + least);
        // A turn longer than what is kept: its beginning stays, with all that follows.
        let start = after.or_else(|| self.messages.iter().rposition(is_start)).unwrap_or(0);
        self.drop_before(start);
    }

    fn drop_before(&mut self, start: usize) {
        self.messages.drain(..start);
        self.foreign.drain(..start);
        self.times.drain(..start);
    }

    fn drop_headless(&mut self) {
        let start = self.messages.iter().position(|message| matches!(message, Message::User(_)));
        self.drop_before(start.unwrap_or(self.messages.len()));
    }

    /// Takes out pictures and sounds, but those of the last so many messages of people and of the results behind them;
    /// where they were, the text names them.
    pub(crate) fn hide_media(&mut self, left: usize) {
        let mut left = left;
        for message in self.messages.iter_mut().rev() {
            let is_said = matches!(message, Message::User(_));
            if let Message::User(parts) | Message::Tool { content: parts, .. } = message
                && left == 0
            {
                parts.retain(|part| matches!(part, ContentPart::Text(_)));
            }
            left = left.saturating_sub(usize::from(is_said));
        }
    }

    /// Notes that it is this time behind the last message. Called with no call open.
    pub(crate) fn note_time(&mut self, time: String) {
        if let Some(last) = self.times.last_mut() {
            *last = Some(time);
        }
    }

    /// The messages alone.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The messages with the times between them, as the model is shown them.
    pub(crate) fn shown(&self) -> Vec<Message> {
        let mut shown = Vec::with_capacity(self.messages.len() * 3 / 2);
        for (message, time) in self.messages.iter().zip(&self.times) {
            shown.push(message.clone());
            shown.extend(time.as_ref().map(|time| Message::System(format!("It is {time}."))));
        }
        shown
    }

    fn bytes(&self) -> usize {
        let parts = |parts: &[ContentPart]| -> usize {
            parts.iter().map(|part| if let ContentPart::Text(text) = part { text.len() } else { 64 }).sum()
        };
        let one = |message: &Message| match message {
            Message::System(text) => text.len(),
            Message::User(content) | Message::Tool { content, .. } => parts(content),
            Message::Assistant { text, reasoning, tool_calls, opaque } => {
                let calls: usize = tool_calls.iter().map(|call| call.arguments.len() + 64).sum();
                let blobs: usize = opaque.iter().map(|blob| blob.value.len() + 64).sum();
                text.len() + reasoning.len() + calls + blobs
            }
        };
        self.messages.iter().map(|message| one(message) + 64).sum()
    }
}

/// The message that answers a call.
pub(crate) fn tool_message(call: &ToolCall, content: String, failed: bool) -> Message {
    Message::Tool { call: call.id.clone(), name: call.name.clone(), content: vec![ContentPart::Text(content)], failed }
}

/// What is kept of a conversation between its turns.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) session: String,
    pub(crate) window: Window,
    /// Digests of what was snapshotted last in this session.
    pub(crate) prompt_digest: String,
    pub(crate) tools_digest: String,
}

/// The contexts of conversations that run no turn. A turn takes its own out and gives it back: so each has one writer,
/// and what a panic leaves half-written is lost with it and rebuilt.
#[derive(Default)]
pub(crate) struct Contexts {
    /// The one used last stands at the end.
    idle: Mutex<VecDeque<(String, Context)>>,
}

impl Contexts {
    pub(crate) fn take(&self, conversation: &str) -> Option<Context> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(name, _)| name == conversation)?;
        idle.remove(at).map(|(_, context)| context)
    }

    pub(crate) fn give(&self, conversation: &str, context: Context) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push_back((conversation.to_owned(), context));
        let mut bytes: usize = idle.iter().map(|(_, context)| context.window.bytes()).sum();
        while idle.len() > IDLE_WINDOWS || (bytes > IDLE_BYTES && idle.len() > 1) {
            let Some((_, oldest)) = idle.pop_front() else { return };
            bytes -= oldest.window.bytes();
        }
    }

    /// How many there are, and the bytes of their windows.
    pub(crate) fn held(&self) -> (usize, usize) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        (idle.len(), idle.iter().map(|(_, context)| context.window.bytes()).sum())
    }
}
