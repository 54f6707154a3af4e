//! What is to be done, as values: everything above is free of the host.

use homeagent_sdk::inputs::Submission;
use homeagent_sdk::log::Level;
use homeagent_sdk::sockets::ConnectionId;
use serde_json::Value;

use crate::desk::Question;
use crate::failure::Failure;

/// Something for the host to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Hand an input to the agent.
    Submit(Box<Submission>),
    /// Ask a client. `ticket`: what the request belongs to, where somebody may wait for it.
    Ask { question: Question, ticket: Option<u64> },
    /// Fetch a picture for a message that waits.
    Fetch { draft: u64, url: String, address: String },
    /// Connect to a client that is the server. `token`: with the access token, which is set.
    Connect { address: String, token: bool },
    /// End the connection to such a client, and its being made again.
    Disconnect { address: String },
    /// Close a connection, and say why.
    Close { connection: ConnectionId, reason: String },
    /// Tell whoever listens to the bus.
    Publish { topic: &'static str, payload: Value },
    /// Write a line to the log.
    Log(Level, String),
    /// Whoever waits for this ticket has the outcome.
    Settle { ticket: u64, outcome: Result<Value, Failure> },
}

/// A line of the log at the level of warnings.
pub(crate) fn warning(text: impl Into<String>) -> Effect {
    Effect::Log(Level::Warn, text.into())
}

/// A line of the log at the level of what happened.
pub(crate) fn info(text: impl Into<String>) -> Effect {
    Effect::Log(Level::Info, text.into())
}
