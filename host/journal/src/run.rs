//! Runs: one turn each, from the inputs it took to how it ended.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::{self, COLUMNS, Event, EventKind, NewEvent, Seq, read_rows};
use crate::input;
use crate::journal::Journal;
use crate::session;
use crate::writer::{Failure, now_ms};

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It goes on.
    Open,
    /// It came to its end.
    Completed,
    /// It failed.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl RunStatus {
    /// The status' name, as it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Open, Self::Completed, Self::Failed, Self::Cancelled].into_iter().find(|status| status.as_str() == name)
    }
}

/// A run as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// The session it belongs to.
    pub session: String,
    /// The conversation it belongs to.
    pub conversation: String,
    /// With whose rights it runs.
    pub principal: String,
    /// Who may come to see what it says.
    pub audience: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// How it stands.
    pub status: RunStatus,
    /// Why it ended, in one word.
    pub finish_reason: Option<String>,
    /// What went wrong, as a sentence.
    pub error: Option<String>,
}

const RUN_COLUMNS: &str =
    "id, session, conversation, principal, audience, started_at, ended_at, status, finish_reason, error";

impl Run {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let status: String = row.get(7)?;
        let unknown =
            || rusqlite::Error::FromSqlConversionFailure(7, Type::Text, format!("no status \"{status}\"").into());
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            conversation: row.get(2)?,
            principal: row.get(3)?,
            audience: row.get(4)?,
            started_at: row.get(5)?,
            ended_at: row.get(6)?,
            status: RunStatus::from_name(&status).ok_or_else(unknown)?,
            finish_reason: row.get(8)?,
            error: row.get(9)?,
        })
    }
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The session it belongs to.
    pub session: String,
    /// Its id.
    pub run: String,
}

impl Journal {
    /// Begins a run in the conversation's current session (begun here if there is none) and takes its inputs, all in
    /// one transaction. Its audience is that of the last input; a run without inputs (the agent's own work) has its
    /// conversation for audience.
    ///
    /// # Errors
    ///
    /// An input that is not there or does not wait any more, and what the database answers.
    pub async fn start_run(
        &self,
        conversation: &str,
        principal: &str,
        input_ids: &[String],
    ) -> Result<Started, JournalError> {
        let id = Uuid::now_v7().to_string();
        let (conversation, principal) = (conversation.to_owned(), principal.to_owned());
        let input_ids = input_ids.to_vec();
        self.writer
            .write("starting a run", move |connection| {
                let session = session::ensure(connection, &conversation)?;
                // The run is there before its inputs point to it; which audience it has is known after.
                connection
                    .prepare_cached(
                        "INSERT INTO runs (id, session, conversation, principal, audience, started_at, status)
                         VALUES (?1, ?2, ?3, ?4, ?3, ?5, 'open')",
                    )?
                    .execute(params![id, session, conversation, principal, now_ms()])?;
                let mut audience = conversation.clone();
                for input_id in &input_ids {
                    audience = input::take(connection, input_id, &id)?;
                }
                connection.prepare_cached("UPDATE runs SET audience = ?2 WHERE id = ?1")?.execute([&id, &audience])?;
                let event = NewEvent {
                    session: session.clone(),
                    run: Some(id.clone()),
                    conversation: conversation.clone(),
                    kind: EventKind::RunStarted,
                    audience,
                    payload: json!({ "principal": principal, "inputs": input_ids }),
                };
                event::insert(connection, &event)?;
                Ok(Started { session, run: id.clone() })
            })
            .await
    }

    /// Takes an input into a run that is open already, and appends `events`: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// A run that is not there or has ended, an input that is not there or does not wait any more, those of
    /// [`Journal::append`], and what the database answers.
    pub async fn join_run(&self, run: &str, input: &str, events: Vec<NewEvent>) -> Result<(), JournalError> {
        let (run, input) = (run.to_owned(), input.to_owned());
        self.writer
            .write("taking an input into a run", move |connection| {
                let found = find(connection, &run)?.ok_or_else(|| JournalError::UnknownRun { run: run.clone() })?;
                if found.status != RunStatus::Open {
                    return Err(JournalError::RunEnded { run: found.id, status: found.status }.into());
                }
                input::take(connection, &input, &run)?;
                events.iter().try_for_each(|event| event::append(connection, event).map(drop))
            })
            .await
    }

    /// Ends a run, and records that as `run_completed`, or `run_failed` for a failed or cancelled one; `payload` (the
    /// turn's result: rounds, source, usage) is kept in that event under `result`. `before` are events that come before
    /// it: all of it is recorded, or nothing.
    ///
    /// # Errors
    ///
    /// A run that is not there or has ended, a status of [`RunStatus::Open`], those of [`Journal::append`], and what the
    /// database answers.
    pub async fn finish_run(
        &self,
        run: &str,
        before: Vec<NewEvent>,
        status: RunStatus,
        finish_reason: Option<&str>,
        error: Option<&str>,
        payload: Value,
    ) -> Result<Seq, JournalError> {
        let (run, finish_reason) = (run.to_owned(), finish_reason.map(str::to_owned));
        let error = error.map(str::to_owned);
        self.writer
            .write("finishing a run", move |connection| {
                for event in &before {
                    event::append(connection, event)?;
                }
                let found = find(connection, &run)?.ok_or_else(|| JournalError::UnknownRun { run: run.clone() })?;
                finish(connection, found, status, finish_reason.as_deref(), error.as_deref(), &payload)
                    .map(|(_, seq)| seq)
            })
            .await
    }

    /// The run of that id.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn run(&self, id: &str) -> Result<Option<Run>, JournalError> {
        let id = id.to_owned();
        self.readers.read("reading a run", move |connection| find(connection, &id)).await
    }

    /// Runs, newest first, at most `limit`; those that began before the run `before`, or the newest. None if there is
    /// no such run.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn runs(&self, limit: u32, before: Option<&str>) -> Result<Vec<Run>, JournalError> {
        let before = before.map(str::to_owned);
        self.readers
            .read("reading the runs", move |connection| {
                connection
                    .prepare_cached(&format!(
                        "SELECT {RUN_COLUMNS} FROM runs
                         WHERE ?1 IS NULL OR number < (SELECT number FROM runs WHERE id = ?1)
                         ORDER BY number DESC LIMIT ?2"
                    ))?
                    .query_map(params![before, limit], Run::read)?
                    .collect()
            })
            .await
    }

    /// Everything that happened in a run, the hidden events too, oldest first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn run_events(&self, run: &str) -> Result<Vec<Event>, JournalError> {
        let run = run.to_owned();
        self.readers
            .read("reading a run's events", move |connection| {
                let mut statement =
                    connection.prepare_cached(&format!("SELECT {COLUMNS} FROM events WHERE run = ?1 ORDER BY seq"))?;
                read_rows(statement.query([run])?, Event::read)
            })
            .await
    }
}

fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<Run>> {
    connection
        .prepare_cached(&format!("SELECT {RUN_COLUMNS} FROM runs WHERE id = ?1"))?
        .query_row([id], Run::read)
        .optional()
}

/// The open runs, oldest first.
pub(crate) fn open(connection: &Connection) -> rusqlite::Result<Vec<Run>> {
    connection
        .prepare_cached(&format!("SELECT {RUN_COLUMNS} FROM runs WHERE status = 'open' ORDER BY number"))?
        .query_map([], Run::read)?
        .collect()
}

/// Ends `run` and records it; returns it as it then stands.
pub(crate) fn finish(
    connection: &Connection,
    run: Run,
    status: RunStatus,
    finish_reason: Option<&str>,
    error: Option<&str>,
    result: &Value,
) -> Result<(Run, Seq), Failure> {
    let kind = match status {
        RunStatus::Open => return Err(JournalError::NotFinal.into()),
        RunStatus::Completed => EventKind::RunCompleted,
        RunStatus::Failed | RunStatus::Cancelled => EventKind::RunFailed,
    };
    if run.status != RunStatus::Open {
        return Err(JournalError::RunEnded { run: run.id, status: run.status }.into());
    }
    let ended_at = now_ms();
    connection
        .prepare_cached("UPDATE runs SET ended_at = ?2, status = ?3, finish_reason = ?4, error = ?5 WHERE id = ?1")?
        .execute(params![run.id, ended_at, status.as_str(), finish_reason, error])?;
    let event = NewEvent {
        session: run.session.clone(),
        run: Some(run.id.clone()),
        conversation: run.conversation.clone(),
        kind,
        audience: run.audience.clone(),
        payload: json!({
            "status": status.as_str(),
            "finish_reason": finish_reason,
            "error": error,
            "result": result,
        }),
    };
    let seq = event::insert(connection, &event)?;
    let ended = Run {
        ended_at: Some(ended_at),
        status,
        finish_reason: finish_reason.map(str::to_owned),
        error: error.map(str::to_owned),
        ..run
    };
    Ok((ended, seq))
}
