//! Giving a name another spelling throughout the record: what was said stays, and by whom can't be told any more.

use std::sync::Arc;

use homeagent_types::ports::Renamed;
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::error::JournalError;
use crate::event::Seq;
use crate::forget::{BATCH, rewrite_one};
use crate::journal::Journal;
use crate::writer::now_ms;

/// Renames in an event's payload.
pub type RenamedIn = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// The columns that may hold a name.
const COLUMNS: [(&str, &str); 6] = [
    ("runs", "conversation"),
    ("runs", "principal"),
    ("runs", "audience"),
    ("runs", "error"),
    ("events", "conversation"),
    ("events", "audience"),
];

impl Journal {
    /// Renames in all columns, and in the payload of every event in which one of `texts` stands. A conversation of that name
    /// is over: who speaks there next begins another. Returns the events whose payload is another now. What stood there
    /// before may be in free pages until [`Journal::shred`].
    ///
    /// # Errors
    ///
    /// What the database answers; what was written before stays written, and asking again does the rest.
    pub async fn rename(
        &self,
        texts: &[String],
        renamed: Renamed,
        in_payload: RenamedIn,
    ) -> Result<Vec<Seq>, JournalError> {
        let mut changed = Vec::new();
        for batch in self.events_holding(texts).await?.chunks(BATCH) {
            let (batch, in_payload) = (batch.to_vec(), Arc::clone(&in_payload));
            let work = move |connection: &Connection| {
                let mut changed = Vec::new();
                for seq in &batch {
                    if rewrite_one(connection, *seq, &|_, payload: &mut Value| in_payload(payload))? {
                        changed.push(*seq);
                    }
                }
                Ok(changed)
            };
            changed.extend(self.writer.write("renaming in events", work).await?);
        }
        let work = move |connection: &Connection| Ok(columns(connection, &*renamed)?);
        self.writer.write("renaming in the journal", work).await?;
        Ok(changed)
    }
}

fn columns(connection: &Connection, renamed: &dyn Fn(&str) -> Option<String>) -> rusqlite::Result<()> {
    let others = |table: &str, column: &str| {
        let sql = format!("SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL");
        let mut statement = connection.prepare(&sql)?;
        let texts = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        Ok::<_, rusqlite::Error>(texts.into_iter().filter_map(|text| renamed(&text).map(|other| (text, other))))
    };
    for (table, column) in COLUMNS {
        for (text, other) in others(table, column)? {
            let sql = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
            connection.execute(&sql, params![text, other])?;
        }
    }
    for (text, other) in others("sessions", "conversation")? {
        let sql = "UPDATE sessions SET conversation = ?2, ended_at = coalesce(ended_at, ?3) WHERE conversation = ?1";
        connection.execute(sql, params![text, other, now_ms()])?;
    }
    for (text, other) in others("input_keys", "platform_id")? {
        let sql = "UPDATE OR REPLACE input_keys SET platform_id = ?2 WHERE platform_id = ?1";
        connection.execute(sql, params![text, other])?;
    }
    Ok(())
}
