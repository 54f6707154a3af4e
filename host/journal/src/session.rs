//! Sessions: the stretches of a conversation between one "new" and the next.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Serialize;
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::{COLUMNS, Event, EventKind, Seq, read_rows};
use crate::journal::Journal;
use crate::writer::{Failure, now_ms};

/// A session of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub conversation: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When the next one took its place; `None` for the current one.
    pub ended_at: Option<i64>,
}

impl Session {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, conversation: row.get(1)?, started_at: row.get(2)?, ended_at: row.get(3)? })
    }
}

const CURRENT: &str = "SELECT id FROM sessions WHERE conversation = ?1 AND ended_at IS NULL";

/// The current session of a conversation, begun if there is none.
pub(crate) fn ensure(connection: &Connection, conversation: &str) -> Result<String, Failure> {
    let current = connection.prepare_cached(CURRENT)?.query_row([conversation], |row| row.get(0)).optional()?;
    match current {
        Some(id) => Ok(id),
        None => begin(connection, conversation),
    }
}

fn begin(connection: &Connection, conversation: &str) -> Result<String, Failure> {
    let id = Uuid::now_v7().to_string();
    connection
        .prepare_cached("INSERT INTO sessions (id, conversation, started_at) VALUES (?1, ?2, ?3)")?
        .execute(params![id, conversation, now_ms()])?;
    Ok(id)
}

impl Journal {
    /// The id of the conversation's current session, begun if there is none.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn current_session(&self, conversation: &str) -> Result<String, JournalError> {
        let conversation = conversation.to_owned();
        self.writer.write("looking up the current session", move |connection| ensure(connection, &conversation)).await
    }

    /// Ends the conversation's current session, if there is one, and begins another; returns its id. Runs that are
    /// still open go on in the session they began in.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn new_session(&self, conversation: &str) -> Result<String, JournalError> {
        let conversation = conversation.to_owned();
        self.writer
            .write("beginning a session", move |connection| {
                connection
                    .prepare_cached("UPDATE sessions SET ended_at = ?2 WHERE conversation = ?1 AND ended_at IS NULL")?
                    .execute(params![conversation, now_ms()])?;
                begin(connection, &conversation)
            })
            .await
    }

    /// All sessions, newest first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn sessions(&self) -> Result<Vec<Session>, JournalError> {
        self.readers
            .read("reading the sessions", |connection| {
                connection
                    .prepare_cached("SELECT id, conversation, started_at, ended_at FROM sessions ORDER BY number DESC")?
                    .query_map([], Session::read)?
                    .collect()
            })
            .await
    }

    /// The events of a session from `from_seq` on (that one included), oldest first, at most `limit`. With
    /// `visible_only` the hidden ones are left out.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn session_events(
        &self,
        session: &str,
        visible_only: bool,
        from_seq: Seq,
        limit: u32,
    ) -> Result<Vec<Event>, JournalError> {
        let session = session.to_owned();
        self.readers
            .read("reading a session", move |connection| {
                let mut statement = connection.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM events
                     WHERE session = ?1 AND seq >= ?2 AND (NOT ?3 OR hidden = 0) ORDER BY seq LIMIT ?4"
                ))?;
                read_rows(statement.query(params![session, from_seq, visible_only, limit])?, Event::read)
            })
            .await
    }

    /// The newest `limit` messages (of people, of the agent, and tool results) of the conversation's current session,
    /// oldest first, to rebuild a window from. Those of a run that gave its inputs back when the daemon died are left
    /// out: the run that took the inputs up says them again.
    ///
    /// Where the limit cuts between a tool call and its results, the results without their call are left out too, so
    /// there may be fewer. A call whose results were never recorded, because its run was cut, is there without them.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn conversation_history(&self, conversation: &str, limit: u32) -> Result<Vec<Event>, JournalError> {
        let conversation = conversation.to_owned();
        self.readers
            .read("reading a conversation's history", move |connection| {
                let mut statement = connection.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM events WHERE session = ({CURRENT})
                     AND kind IN ('user_message_added', 'assistant_message_added', 'tool_result_recorded')
                     AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = events.run AND returned = 1)
                     ORDER BY seq DESC LIMIT ?2"
                ))?;
                let mut events = read_rows(statement.query(params![conversation, limit])?, Event::read)?;
                // Newest first still: what stands at the end is the oldest.
                while events.last().is_some_and(|event| event.kind == EventKind::ToolResultRecorded) {
                    events.pop();
                }
                events.reverse();
                Ok(events)
            })
            .await
    }
}
