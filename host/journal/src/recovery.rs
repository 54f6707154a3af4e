//! What is left of the last time the daemon ran.

use rusqlite::{Connection, Row};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::JournalError;
use crate::event::{self, COLUMNS, EFFECT, Event, EventKind, NewEvent, OUTPUT_ID, Seq, read_rows};
use crate::journal::Journal;
use crate::run::{self, Run, RunStatus};
use crate::writer::Failure;

/// The error of a run that was open when the daemon stopped.
pub const STOPPED_DURING_RUN: &str = "the daemon stopped during this run";

/// The error of such a run in which nothing had happened that can't be done once more.
pub const RETURNED_BY_RUN: &str = "the daemon stopped during this run; what it was to answer is taken up by another";

/// The field in the result of a failed run that names the inputs it gave back.
const RETURNED: &str = "inputs_returned";

/// What [`Journal::recover`] found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recovery {
    /// Runs that were open, closed as failed now. The inputs of those that may have done something are not repeated.
    pub failed_runs: Vec<Run>,
    /// Inputs that were accepted and that no run took, or only some that did nothing but look and think; oldest first.
    /// They are to be taken now.
    pub pending_inputs: Vec<PendingInput>,
    /// Outputs that were handed to a channel and never answered for; they are not to be repeated.
    pub unknown_outputs: Vec<UnknownOutput>,
}

/// An input that waits for a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PendingInput {
    /// Its place in the journal.
    pub seq: Seq,
    /// Its id.
    pub input_id: String,
    /// When it was accepted, in milliseconds since 1970.
    pub at_ms: i64,
    /// The session it was accepted in.
    pub session: String,
    /// The conversation it belongs to.
    pub conversation: String,
    /// Who may come to see it.
    pub audience: String,
    /// What was accepted.
    pub payload: Value,
    /// How often a run that was cut has given it back.
    pub returned: u32,
}

/// An output of which nobody knows whether it was sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnknownOutput {
    /// Its id.
    pub output_id: String,
    /// The event with which it was queued.
    pub queued: Event,
}

impl Journal {
    /// Closes what the last stop left open, in one transaction: open runs become failed ones, and outputs without an
    /// answer become unknown. To be called once, before the first run of this start. A second call changes nothing and
    /// finds the same pending inputs.
    ///
    /// # Errors
    ///
    /// What the database answers; then nothing was closed.
    pub async fn recover(&self) -> Result<Recovery, JournalError> {
        let recovery = self
            .writer
            .write("recovering the journal", |connection| {
                Ok(Recovery {
                    // First the outputs: they belong to the runs that are closed after them.
                    unknown_outputs: close_outputs(connection)?,
                    failed_runs: close_runs(connection)?,
                    pending_inputs: pending(connection)?,
                })
            })
            .await?;
        tracing::info!(
            failed_runs = recovery.failed_runs.len(),
            pending_inputs = recovery.pending_inputs.len(),
            unknown_outputs = recovery.unknown_outputs.len(),
            "journal recovered"
        );
        Ok(recovery)
    }
}

fn close_outputs(connection: &Connection) -> Result<Vec<UnknownOutput>, Failure> {
    let read = |row: &Row<'_>| Ok(UnknownOutput { queued: Event::read(row)?, output_id: row.get("id")? });
    let mut statement = connection
        .prepare_cached(&format!("SELECT {COLUMNS}, id FROM open_outputs JOIN events USING (seq) ORDER BY seq"))?;
    let outputs = read_rows(statement.query([])?, read)?;
    for output in &outputs {
        let queued = &output.queued;
        let event = NewEvent {
            session: queued.session.clone(),
            run: queued.run.clone(),
            conversation: queued.conversation.clone(),
            kind: EventKind::OutputUnknown,
            audience: queued.audience.clone(),
            payload: json!({
                OUTPUT_ID: output.output_id,
                "reason": "the daemon stopped before the channel answered",
            }),
        };
        event::append(connection, &event)?;
    }
    Ok(outputs)
}

fn close_runs(connection: &Connection) -> Result<Vec<Run>, Failure> {
    let close = |open: Run| {
        let returned = give_back(connection, &open.id)?;
        let (error, result) = match returned.is_empty() {
            true => (STOPPED_DURING_RUN, Value::Null),
            false => (RETURNED_BY_RUN, json!({ RETURNED: returned })),
        };
        Ok(run::finish(connection, open, RunStatus::Failed, Some("stopped"), Some(error), &result)?.0)
    };
    run::open(connection)?.into_iter().map(close).collect()
}

/// Whether a run has done what can't be done once more: it wanted to say something, or started a tool that does more
/// than look. Of a start that does not say what the tool does, that is supposed.
const HAS_ACTED: &str = "EXISTS (
    SELECT 1 FROM events WHERE events.run = ?1 AND (
        kind = 'output_queued' OR (kind = 'tool_started' AND
            CASE WHEN json_valid(payload) THEN json_extract(payload, '$.' || ?2) END IS NOT 'read')))";

/// Lets the inputs of a run wait again that did nothing but look and think, and keeps what it said out of windows;
/// returns the inputs' ids.
fn give_back(connection: &Connection, run: &str) -> rusqlite::Result<Vec<String>> {
    let returned: Vec<String> = connection
        .prepare_cached(&format!(
            "UPDATE inputs SET state = 'waiting', run = NULL, returned = returned + 1
             WHERE run = ?1 AND state = 'taken' AND NOT {HAS_ACTED} RETURNING id"
        ))?
        .query_map([run, EFFECT], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if !returned.is_empty() {
        connection.prepare_cached("UPDATE runs SET returned = 1 WHERE id = ?1")?.execute([run])?;
    }
    Ok(returned)
}

fn pending(connection: &Connection) -> Result<Vec<PendingInput>, Failure> {
    let read = |row: &Row<'_>| {
        let event = Event::read(row)?;
        Ok(PendingInput {
            seq: event.seq,
            input_id: row.get("id")?,
            at_ms: event.at_ms,
            session: event.session,
            conversation: event.conversation,
            audience: event.audience,
            payload: event.payload,
            returned: row.get("returned")?,
        })
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, id, returned FROM inputs JOIN events USING (seq) WHERE state = 'waiting' ORDER BY seq"
    ))?;
    Ok(read_rows(statement.query([])?, read)?)
}
