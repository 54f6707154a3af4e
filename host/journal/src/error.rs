//! What can go wrong with the journal.

use homeagent_settings::DatabaseError;

use crate::run::RunStatus;

/// An error of the journal. Nothing of the operation that got it was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The database failed: a full disk, a read-only or damaged file, or another program that keeps it locked.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The journal was closed, or its thread ended.
    #[error("the journal is closed: the daemon is stopping")]
    Closed,
    /// The writing thread could not be started.
    #[error("the journal's thread could not be started: {source}")]
    Thread {
        /// What the operating system said.
        source: std::io::Error,
    },
    /// An event names a session or a run that is not there.
    #[error("an event belongs to session {session} and run {run:?}, and one of them is not in the journal")]
    UnknownOwner {
        /// The session named.
        session: String,
        /// The run named.
        run: Option<String>,
    },
    /// No run has that id.
    #[error("there is no run {run}")]
    UnknownRun {
        /// The id given.
        run: String,
    },
    /// The run has ended already.
    #[error("the run {run} is {}, it can't be finished again", status.as_str())]
    RunEnded {
        /// The run.
        run: String,
        /// How it ended.
        status: RunStatus,
    },
    /// A run can't be finished as open.
    #[error("a run is finished as completed, failed or cancelled, not as open")]
    NotFinal,
    /// No accepted input has that id.
    #[error("there is no accepted input {input}")]
    UnknownInput {
        /// The id given.
        input: String,
    },
    /// The input does not wait any more: a run took it, or it was flushed or refused.
    #[error("the input {input} was {state} already")]
    InputNotWaiting {
        /// The input.
        input: String,
        /// `taken`, `flushed` or `refused`.
        state: String,
    },
    /// Events of this kind are written together with what they stand for.
    #[error("{kind} events are written by {operation}, not appended")]
    ReservedKind {
        /// The kind.
        kind: &'static str,
        /// The operation that writes it.
        operation: &'static str,
    },
    /// The payload of this kind needs a field that says what it is about.
    #[error("the payload of {kind} has no text in \"{field}\"")]
    MissingField {
        /// The kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
    },
}
