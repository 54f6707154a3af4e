//! Events: what kinds there are, and how one is written and read.

use homeagent_types::lenient;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, Rows, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::JournalError;
use crate::writer::{Failure, now_ms};

/// An event's place in the journal; grows by at least one with each event.
pub type Seq = i64;

/// The payload field that names the input of [`EventKind::InputFlushed`] and [`EventKind::InputRefused`].
pub const INPUT_ID: &str = "input_id";

/// The payload field that names the output of [`EventKind::OutputQueued`], [`EventKind::OutputSent`] and
/// [`EventKind::OutputUnknown`].
pub const OUTPUT_ID: &str = "output_id";

/// The payload field of [`EventKind::ToolStarted`] that says what the tool does to the world: `read` is nothing that
/// could not be done once more.
pub const EFFECT: &str = "effect";

/// What an event records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// An input arrived; only after this it counts.
    InputAccepted,
    /// A waiting input got a structured error because the daemon stopped.
    InputFlushed,
    /// An input was turned away.
    InputRefused,
    /// A run began and took its inputs.
    RunStarted,
    /// A model was asked.
    ModelCalled,
    /// A message of a person went into the window.
    UserMessageAdded,
    /// A message of the agent, with its tool calls, went into the window.
    AssistantMessageAdded,
    /// A tool was started.
    ToolStarted,
    /// A tool's result went into the window.
    ToolResultRecorded,
    /// The owner was asked whether a tool may run.
    QuestionAsked,
    /// The owner answered, or nobody did.
    QuestionAnswered,
    /// An output was handed to a channel.
    OutputQueued,
    /// The channel said it was sent.
    OutputSent,
    /// Nobody knows whether it was sent; it is not repeated.
    OutputUnknown,
    /// An interrupt reached a run.
    Interrupted,
    /// Money was set aside for a model call.
    Reserved,
    /// What it really cost.
    Settled,
    /// Which skills were active. Hidden.
    SkillActivationSnapshotted,
    /// Which tools were offered. Hidden.
    ToolSelectionSnapshotted,
    /// The system prompt as it was sent. Hidden.
    SystemPromptSnapshotted,
    /// What of the memory went into a prompt, and what was left out. Hidden.
    MemoryRecalled,
    /// A run came to its end. Hidden.
    RunCompleted,
    /// A run failed or was cancelled. Hidden.
    RunFailed,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 23] = [
        Self::InputAccepted,
        Self::InputFlushed,
        Self::InputRefused,
        Self::RunStarted,
        Self::ModelCalled,
        Self::UserMessageAdded,
        Self::AssistantMessageAdded,
        Self::ToolStarted,
        Self::ToolResultRecorded,
        Self::QuestionAsked,
        Self::QuestionAnswered,
        Self::OutputQueued,
        Self::OutputSent,
        Self::OutputUnknown,
        Self::Interrupted,
        Self::Reserved,
        Self::Settled,
        Self::SkillActivationSnapshotted,
        Self::ToolSelectionSnapshotted,
        Self::SystemPromptSnapshotted,
        Self::MemoryRecalled,
        Self::RunCompleted,
        Self::RunFailed,
    ];

    /// The kind's name, as it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InputAccepted => "input_accepted",
            Self::InputFlushed => "input_flushed",
            Self::InputRefused => "input_refused",
            Self::RunStarted => "run_started",
            Self::ModelCalled => "model_called",
            Self::UserMessageAdded => "user_message_added",
            Self::AssistantMessageAdded => "assistant_message_added",
            Self::ToolStarted => "tool_started",
            Self::ToolResultRecorded => "tool_result_recorded",
            Self::QuestionAsked => "question_asked",
            Self::QuestionAnswered => "question_answered",
            Self::OutputQueued => "output_queued",
            Self::OutputSent => "output_sent",
            Self::OutputUnknown => "output_unknown",
            Self::Interrupted => "interrupted",
            Self::Reserved => "reserved",
            Self::Settled => "settled",
            Self::SkillActivationSnapshotted => "skill_activation_snapshotted",
            Self::ToolSelectionSnapshotted => "tool_selection_snapshotted",
            Self::SystemPromptSnapshotted => "system_prompt_snapshotted",
            Self::MemoryRecalled => "memory_recalled",
            Self::RunCompleted => "run_completed",
            Self::RunFailed => "run_failed",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether events of this kind are left out of the visible history.
    #[must_use]
    pub fn hidden(self) -> bool {
        matches!(
            self,
            Self::SkillActivationSnapshotted
                | Self::ToolSelectionSnapshotted
                | Self::SystemPromptSnapshotted
                | Self::MemoryRecalled
                | Self::RunCompleted
                | Self::RunFailed
        )
    }

    /// The operation that alone writes this kind, if there is one.
    fn written_by(self) -> Option<&'static str> {
        match self {
            Self::InputAccepted => Some("accept_input"),
            Self::RunStarted => Some("start_run"),
            Self::RunCompleted | Self::RunFailed => Some("finish_run"),
            _ => None,
        }
    }
}

/// An event to be appended. The journal stamps its time.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The session it belongs to.
    pub session: String,
    /// The run it happened in, if in one.
    pub run: Option<String>,
    /// The conversation it belongs to.
    pub conversation: String,
    /// What it records.
    pub kind: EventKind,
    /// Who may come to see it.
    pub audience: String,
    /// The details.
    pub payload: Value,
}

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = JournalEvent)]
pub struct Event {
    /// Its place in the journal.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// The session it belongs to.
    pub session: String,
    /// The run it happened in, if in one.
    pub run: Option<String>,
    /// The conversation it belongs to.
    pub conversation: String,
    /// What it records.
    pub kind: EventKind,
    /// Whether it is left out of the visible history.
    pub hidden: bool,
    /// Who may come to see it.
    pub audience: String,
    /// The details.
    pub payload: Value,
}

/// The columns [`Event::read`] reads, in its order, also where `events` is joined with inputs or outputs.
pub(crate) const COLUMNS: &str =
    "events.seq, at_ms, session, events.run, conversation, kind, hidden, audience, payload";

impl Event {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let name: String = row.get(5)?;
        let payload: String = row.get(8)?;
        let damaged = |column, why| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why);
        Ok(Self {
            seq: row.get(0)?,
            at_ms: row.get(1)?,
            session: row.get(2)?,
            run: row.get(3)?,
            conversation: row.get(4)?,
            kind: EventKind::from_name(&name).ok_or_else(|| damaged(5, format!("no event kind \"{name}\"").into()))?,
            hidden: row.get(6)?,
            audience: row.get(7)?,
            payload: lenient::from_slice(payload.as_bytes()).map_err(|error| damaged(8, error.into()))?,
        })
    }
}

/// All rows that can be read. One that holds what can't be is left out, and so is kept from nobody else: it stays in the
/// file as it is, and the log names it.
pub(crate) fn read_rows<T>(
    mut rows: Rows<'_>,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(one) => all.push(one),
            Err(error) => say_damaged(row, &error),
        }
    }
    Ok(all)
}

/// Names an event that can't be read.
pub(crate) fn say_damaged(row: &Row<'_>, error: &rusqlite::Error) {
    let seq = row.get::<_, Seq>(0).ok();
    tracing::warn!(seq, %error, "an event of the journal is damaged and left out");
}

/// What every caller of `append` may write, with its effect on inputs and outputs.
pub(crate) fn append(connection: &Connection, event: &NewEvent) -> Result<Seq, Failure> {
    let kind = event.kind;
    if let Some(operation) = kind.written_by() {
        return Err(JournalError::ReservedKind { kind: kind.as_str(), operation }.into());
    }
    let named = |field| {
        let missing = || JournalError::MissingField { kind: kind.as_str(), field };
        event.payload.get(field).and_then(Value::as_str).ok_or_else(missing)
    };
    match kind {
        EventKind::OutputQueued => {
            let id = named(OUTPUT_ID)?;
            let seq = insert(connection, event)?;
            connection
                .prepare_cached("INSERT OR REPLACE INTO open_outputs (id, seq) VALUES (?1, ?2)")?
                .execute(params![id, seq])?;
            Ok(seq)
        }
        EventKind::OutputSent | EventKind::OutputUnknown => {
            connection.prepare_cached("DELETE FROM open_outputs WHERE id = ?1")?.execute([named(OUTPUT_ID)?])?;
            insert(connection, event)
        }
        EventKind::InputFlushed | EventKind::InputRefused => {
            let state = if kind == EventKind::InputFlushed { "flushed" } else { "refused" };
            connection
                .prepare_cached("UPDATE inputs SET state = ?2 WHERE id = ?1 AND state = 'waiting'")?
                .execute([named(INPUT_ID)?, state])?;
            insert(connection, event)
        }
        _ => insert(connection, event),
    }
}

pub(crate) fn insert(connection: &Connection, event: &NewEvent) -> Result<Seq, Failure> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO events (at_ms, session, run, conversation, kind, hidden, audience, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let inserted = statement.insert(params![
        now_ms(),
        event.session,
        event.run,
        event.conversation,
        event.kind.as_str(),
        event.kind.hidden(),
        event.audience,
        event.payload.to_string(),
    ]);
    inserted.map_err(|error| match error.sqlite_extended_error_code() {
        Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => {
            JournalError::UnknownOwner { session: event.session.clone(), run: event.run.clone() }.into()
        }
        _ => error.into(),
    })
}
