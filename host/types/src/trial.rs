//! Trying a channel: what is played to it.

use serde_json::{Map, Value};

use crate::ports::Frame;

/// What the other side of a channel says while the channel is tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What it says by itself, in order.
    pub frames: Vec<Frame>,
    /// What it answers when it is asked.
    pub answers: Vec<RecordedAnswer>,
}

/// An answer to a request of the channel's, in a protocol that answers by echo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// The `action` of the request.
    pub action: String,
    /// Its `params`; an answer to any where they are not told.
    pub params: Option<Value>,
    /// The answer, whose `echo` is the request's.
    pub answer: Map<String, Value>,
}
