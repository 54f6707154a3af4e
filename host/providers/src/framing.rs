//! Cutting the bytes of an answer into events.
//!
//! Bytes may be cut anywhere between two calls of [`Framer::push`]: inside a character, between CR and LF, inside the
//! byte order mark.

mod lines;
mod ndjson;
mod sse;

use homeagent_types::model::{Framing, StreamEvent};

use self::ndjson::NdjsonFramer;
use self::sse::SseFramer;

/// The largest event that is put together, in bytes.
pub const EVENT_LIMIT: usize = 8 << 20;

/// An event is larger than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The most bytes of an event.
    pub limit: usize,
}

/// Cuts a stream into events, as its adapter says.
#[derive(Debug)]
pub struct Framer(Kind);

#[derive(Debug)]
enum Kind {
    Sse(SseFramer),
    Ndjson(NdjsonFramer),
}

impl Framer {
    /// A framer whose events have at most `limit` bytes.
    pub fn new(framing: Framing, limit: usize) -> Self {
        Framer(match framing {
            Framing::Sse => Kind::Sse(SseFramer::new(limit)),
            Framing::Ndjson => Kind::Ndjson(NdjsonFramer::new(limit)),
        })
    }

    /// Appends to `events` those that end within `bytes`.
    ///
    /// # Errors
    ///
    /// [`EventTooLarge`]; the framer is of no use then.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), EventTooLarge> {
        match &mut self.0 {
            Kind::Sse(framer) => framer.push(bytes, events),
            Kind::Ndjson(framer) => framer.push(bytes, events),
        }
    }

    /// The stream has ended. An event whose end (the blank line, the line break) did not come is handed out if it is
    /// whole all the same, which for JSON can be told; a torn one is dropped.
    ///
    /// # Errors
    ///
    /// [`EventTooLarge`].
    pub fn finish(self, events: &mut Vec<StreamEvent>) -> Result<(), EventTooLarge> {
        let last = match self.0 {
            Kind::Sse(framer) => framer.finish()?,
            Kind::Ndjson(framer) => framer.finish(),
        };
        events.extend(last.filter(is_whole));
        Ok(())
    }
}

/// The event that some protocols, whose events are JSON otherwise, put at the end of a stream.
pub(crate) fn is_end(event: &StreamEvent) -> bool {
    event.data.trim() == "[DONE]"
}

fn is_whole(event: &StreamEvent) -> bool {
    is_end(event) || serde_json::from_str::<serde::de::IgnoredAny>(&event.data).is_ok()
}
