//! Forgetting: the one exception to a record that only grows. Words are taken out of events; that something was there, when
//! and where, stays, so that every window can still be rebuilt.

use std::sync::Arc;

use homeagent_types::lenient;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::{Map, Value};

use crate::error::JournalError;
use crate::event::{EventKind, Seq};
use crate::journal::Journal;
use crate::writer::Failure;

/// What stands in the place of what was forgotten.
pub const FORGOTTEN: &str = "[forgotten]";

/// How many events one commit rewrites, so that a turn that runs meanwhile does not wait long.
pub(crate) const BATCH: usize = 200;

/// Takes the words out of an event's payload, knowing what they mean.
pub type Blank = Arc<dyn Fn(EventKind, &mut Value) + Send + Sync>;

impl Journal {
    /// The places of all events, hidden ones too, in whose payload one of these texts stands, in their order. Reads the
    /// whole journal.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn events_holding(&self, texts: &[String]) -> Result<Vec<Seq>, JournalError> {
        self.events_with(texts.iter().filter(|text| !text.is_empty()).map(|text| written(text)).collect()).await
    }

    /// The places of all events in whose payload, as it is written, one of these fragments stands.
    pub(crate) async fn events_with(&self, fragments: Vec<String>) -> Result<Vec<Seq>, JournalError> {
        self.readers
            .read("looking for a text in the journal", move |connection| {
                let mut found = Vec::new();
                for fragment in &fragments {
                    let mut statement =
                        connection.prepare_cached("SELECT seq FROM events WHERE instr(payload, ?1) > 0")?;
                    for seq in statement.query_map([fragment], |row| row.get(0))? {
                        found.push(seq?);
                    }
                }
                found.sort_unstable();
                found.dedup();
                Ok(found)
            })
            .await
    }

    /// Puts [`FORGOTTEN`] in the place of these texts wherever they stand in these events, and has `blank` take out the words
    /// of the events in `whole`. Returns how many events are another now. It is on the disk when this answers, but the old
    /// words may stand in pages that are free now: [`Journal::shred`] clears those.
    ///
    /// # Errors
    ///
    /// What the database answers; batches that were written before stay written, and asking again does the rest.
    pub async fn forget(
        &self,
        events: Vec<Seq>,
        texts: &[String],
        whole: Vec<Seq>,
        blank: &Blank,
    ) -> Result<usize, JournalError> {
        let texts: Arc<[String]> = texts.iter().filter(|text| !text.is_empty()).cloned().collect();
        let mut changed = 0;
        for batch in whole.chunks(BATCH) {
            let (of_runs, blank) = (batch.to_vec(), Arc::clone(blank));
            changed += self.rewrite(batch.to_vec(), move |kind, payload| blank(kind, payload)).await?;
            let take = move |connection: &Connection| {
                let sql = "UPDATE runs SET error = ?2
                           WHERE error IS NOT NULL AND id = (SELECT run FROM events WHERE seq = ?1)";
                let mut statement = connection.prepare_cached(sql)?;
                of_runs.iter().try_for_each(|seq| statement.execute(params![seq, FORGOTTEN]).map(drop))?;
                Ok(())
            };
            self.writer.write("forgetting what runs failed of", take).await?;
        }
        for batch in events.chunks(BATCH) {
            let (batch, texts) = (batch.to_vec(), Arc::clone(&texts));
            changed += self.rewrite(batch, move |_, payload| take_out(payload, &texts)).await?;
        }
        let take = move |connection: &Connection| {
            for text in texts.iter() {
                let mut statement = connection.prepare_cached("UPDATE runs SET error = replace(error, ?1, ?2)")?;
                statement.execute([text, FORGOTTEN])?;
            }
            Ok(())
        };
        self.writer.write("forgetting what runs failed of", take).await?;
        Ok(changed)
    }

    async fn rewrite(
        &self,
        batch: Vec<Seq>,
        change: impl Fn(EventKind, &mut Value) + Send + 'static,
    ) -> Result<usize, JournalError> {
        let work = move |connection: &Connection| {
            let mut changed = 0;
            for seq in &batch {
                changed += usize::from(rewrite_one(connection, *seq, &change)?);
            }
            Ok(changed)
        };
        self.writer.write("forgetting in the journal", work).await
    }

    /// Rewrites the database's file without its free pages and empties the write-ahead log, so that nothing that was deleted
    /// or rewritten, by any part that keeps its tables there, is left in the bytes of either. What is written meanwhile waits:
    /// some seconds for a file of a gigabyte.
    ///
    /// # Errors
    ///
    /// What the database answers: such as that the disk has no room for a second file, or that somebody reads for longer than
    /// ten seconds. Asking again does it.
    pub async fn shred(&self) -> Result<(), JournalError> {
        self.writer
            .alone("rewriting the database", |connection| {
                connection.execute_batch("PRAGMA secure_delete = ON; VACUUM;")?;
                let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
                if busy {
                    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                    let text = "the write-ahead log is being read";
                    return Err(rusqlite::Error::SqliteFailure(code, Some(text.to_owned())).into());
                }
                Ok(())
            })
            .await
    }
}

/// How a text stands in a JSON document.
fn written(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Rewrites an event; false where it stays as it was, is gone, or can't be read.
pub(crate) fn rewrite_one(
    connection: &Connection,
    seq: Seq,
    change: &impl Fn(EventKind, &mut Value),
) -> Result<bool, Failure> {
    let row: Option<(String, String)> = connection
        .prepare_cached("SELECT kind, payload FROM events WHERE seq = ?1")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((kind, text)) = row else { return Ok(false) };
    let Some(kind) = EventKind::from_name(&kind) else { return Ok(false) };
    // One that is damaged may hold the words all the same, and nobody reads it.
    let mut payload = lenient::from_slice(text.as_bytes()).unwrap_or_else(|_| Value::from(FORGOTTEN));
    change(kind, &mut payload);
    let rewritten = payload.to_string();
    if rewritten == text {
        return Ok(false);
    }
    connection.prepare_cached("UPDATE events SET payload = ?2 WHERE seq = ?1")?.execute(params![seq, rewritten])?;
    Ok(true)
}

/// Whether a field's name is one that programs give, which says nothing and by which the document is read.
fn is_given(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Puts [`FORGOTTEN`] in the place of the texts in all strings of a document, in the names of fields too where people may
/// have chosen them.
fn take_out(value: &mut Value, texts: &[String]) {
    let replaced = |text: &str| {
        let holds = texts.iter().any(|forgotten| text.contains(forgotten.as_str()));
        holds.then(|| texts.iter().fold(text.to_owned(), |text, forgotten| text.replace(forgotten.as_str(), FORGOTTEN)))
    };
    match value {
        Value::String(text) => {
            if let Some(other) = replaced(text) {
                *text = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| take_out(one, texts)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|one| take_out(one, texts));
            let renamed = |name: &str| replaced(name).filter(|_| !is_given(name));
            if fields.keys().any(|name| renamed(name).is_some()) {
                let all = std::mem::take(fields).into_iter();
                *fields = all.map(|(name, one)| (renamed(&name).unwrap_or(name), one)).collect::<Map<_, _>>();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
