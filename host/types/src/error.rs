//! Why a call between the host and a component, in either direction, failed.

use serde::{Deserialize, Serialize};

/// What a plugin lacked when it was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The capability of the grant that is missing.
    pub capability: String,
    /// What was attempted.
    pub attempt: String,
    /// What the owner can do about it, usually a command.
    pub remedy: String,
}

/// An expected failure of a call, as a value. Mirrors `error` of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "detail")]
pub enum CallError {
    /// The user has not granted this.
    #[error("{} is not granted: {}; {}", .0.capability, .0.attempt, .0.remedy)]
    Denied(Denial),
    /// The arguments are wrong; the text says which and how.
    #[error("{0}")]
    Invalid(String),
    /// There is nothing of that name.
    #[error("{0}")]
    NotFound(String),
    /// The instance is not, or no longer, the one that serves.
    #[error("it does not serve now: it is starting or stopping")]
    NotLive,
    /// A queue is full, or the callee waits for the caller.
    #[error("busy: try again later")]
    Busy,
    /// The deadline passed.
    #[error("it took longer than it may")]
    Timeout,
    /// The callee was lost or replaced before it answered; the same call may succeed a moment later. Never the answer
    /// to a message that may have been sent, nor to a begun call of a tool that changes something.
    #[error("the plugin was started anew before it answered; the call may be tried again")]
    Retryable,
    /// It could not be put on the disk, so it was not taken; the text says why and what to do. To a component this is
    /// an error in words.
    #[error("{0}")]
    NotStored(String),
    /// How things are forbids it; the text says why and what to do. To a component this is an error in words.
    #[error("{0}")]
    Conflict(String),
    /// Somebody outside did not answer with what was asked for; the text says why and what to do. To a component this is
    /// an error in words.
    #[error("{0}")]
    Unreachable(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl CallError {
    /// A short name for logs and machine-readable answers.
    pub fn code(&self) -> &'static str {
        match self {
            CallError::Denied(_) => "denied",
            CallError::Invalid(_) => "invalid",
            CallError::NotFound(_) => "not-found",
            CallError::NotLive => "not-live",
            CallError::Busy => "busy",
            CallError::Timeout => "timeout",
            CallError::Retryable => "retryable",
            CallError::NotStored(_) => "not-stored",
            CallError::Conflict(_) => "conflict",
            CallError::Unreachable(_) => "unreachable",
            CallError::Other(_) => "other",
        }
    }
}
