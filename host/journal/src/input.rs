//! Inputs: accepted once, then taken by a run, flushed or refused.

use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;

use crate::error::JournalError;
use crate::event::{self, EventKind, NewEvent, Seq};
use crate::journal::Journal;
use crate::session;
use crate::writer::{Failure, now_ms};

/// How long a platform's id is remembered, in milliseconds: 30 days.
const KEY_AGE_MS: i64 = 30 * 24 * 3600 * 1000;

/// As many of the newest are remembered however old they seem to be: a clock that jumps ahead makes all of them old at
/// once.
const KEYS_KEPT: u32 = 4096;

/// What became of an input that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// It is in the journal and waits for a run.
    Accepted {
        /// Its place.
        seq: Seq,
        /// Its id, as it was given.
        input_id: String,
    },
    /// It had been accepted before; nothing was recorded.
    Duplicate {
        /// The id of the one that was accepted then.
        input_id: String,
    },
}

impl Journal {
    /// Records an input in the conversation's current session (begun here if there is none).
    ///
    /// `dedup_key` is the channel and what the platform calls the message: a second one with the same key within 30
    /// days is a duplicate, as is a second one with the same `input_id` at any time.
    ///
    /// # Errors
    ///
    /// What the database answers; then the input does not count, and should not be acknowledged.
    pub async fn accept_input(
        &self,
        conversation: &str,
        input_id: &str,
        dedup_key: Option<(&str, &str)>,
        payload: Value,
        audience: &str,
    ) -> Result<Acceptance, JournalError> {
        let key = dedup_key.map(|(channel, platform_id)| (channel.to_owned(), platform_id.to_owned()));
        let (conversation, input_id) = (conversation.to_owned(), input_id.to_owned());
        let audience = audience.to_owned();
        self.writer
            .write("accepting an input", move |connection| {
                if let Some(earlier) = find_earlier(connection, &input_id, key.as_ref())? {
                    return Ok(Acceptance::Duplicate { input_id: earlier });
                }
                let event = NewEvent {
                    session: session::ensure(connection, &conversation)?,
                    run: None,
                    conversation: conversation.clone(),
                    kind: EventKind::InputAccepted,
                    audience: audience.clone(),
                    payload: payload.clone(),
                };
                let seq = event::insert(connection, &event)?;
                connection
                    .prepare_cached("INSERT INTO inputs (id, seq, state) VALUES (?1, ?2, 'waiting')")?
                    .execute(params![input_id, seq])?;
                if let Some((channel, platform_id)) = &key {
                    connection
                        .prepare_cached(
                            "INSERT INTO input_keys (channel, platform_id, input, at_ms) VALUES (?1, ?2, ?3, ?4)",
                        )?
                        .execute(params![channel, platform_id, input_id, now_ms()])?;
                }
                Ok(Acceptance::Accepted { seq, input_id: input_id.clone() })
            })
            .await
    }
}

fn find_earlier(
    connection: &Connection,
    input_id: &str,
    key: Option<&(String, String)>,
) -> Result<Option<String>, Failure> {
    let same = connection
        .prepare_cached("SELECT id FROM inputs WHERE id = ?1")?
        .query_row([input_id], |row| row.get(0))
        .optional()?;
    let (None, Some((channel, platform_id))) = (&same, key) else {
        return Ok(same);
    };
    connection
        .prepare_cached(
            "DELETE FROM input_keys WHERE at_ms < ?1
             AND at_ms < (SELECT at_ms FROM input_keys ORDER BY at_ms DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![now_ms() - KEY_AGE_MS, KEYS_KEPT - 1])?;
    let earlier = connection
        .prepare_cached("SELECT input FROM input_keys WHERE channel = ?1 AND platform_id = ?2")?
        .query_row([channel, platform_id], |row| row.get(0))
        .optional()?;
    Ok(earlier)
}

/// Marks an input as taken by `run`; returns the audience it was accepted for.
pub(crate) fn take(connection: &Connection, input_id: &str, run: &str) -> Result<String, Failure> {
    let found: Option<(String, String)> = connection
        .prepare_cached(
            "SELECT inputs.state, events.audience FROM inputs JOIN events ON events.seq = inputs.seq
             WHERE inputs.id = ?1",
        )?
        .query_row([input_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((state, audience)) = found else {
        return Err(JournalError::UnknownInput { input: input_id.to_owned() }.into());
    };
    if state != "waiting" {
        return Err(JournalError::InputNotWaiting { input: input_id.to_owned(), state }.into());
    }
    connection.prepare_cached("UPDATE inputs SET state = 'taken', run = ?2 WHERE id = ?1")?.execute([input_id, run])?;
    Ok(audience)
}
