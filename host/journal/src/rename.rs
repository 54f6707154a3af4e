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

/// The columns that are a name.
const NAMES: [(&str, &str); 5] = [
    ("runs", "conversation"),
    ("runs", "principal"),
    ("runs", "audience"),
    ("events", "conversation"),
    ("events", "audience"),
];

impl Journal {
    /// Renames in all columns, by `names` where they are a name and by `texts` where they are words, and in the payload of
    /// every event in whose JSON one of `fragments` stands. A conversation of that name is over: who speaks there next begins
    /// another. Returns the events whose payload is another now. What stood there before may be in free pages until
    /// [`Journal::shred`].
    ///
    /// # Errors
    ///
    /// What the database answers; what was written before stays written, and asking again does the rest.
    pub async fn rename(
        &self,
        fragments: &[String],
        names: Renamed,
        texts: Renamed,
        in_payload: RenamedIn,
    ) -> Result<Vec<Seq>, JournalError> {
        let mut changed = Vec::new();
        for batch in self.events_with(fragments.to_vec()).await?.chunks(BATCH) {
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
        let work = move |connection: &Connection| Ok(columns(connection, &*names, &*texts)?);
        self.writer.write("renaming in the journal", work).await?;
        Ok(changed)
    }
}

fn columns(
    connection: &Connection,
    names: &dyn Fn(&str) -> Option<String>,
    texts: &dyn Fn(&str) -> Option<String>,
) -> rusqlite::Result<()> {
    let others = |table: &str, column: &str, renamed: &dyn Fn(&str) -> Option<String>| {
        let sql = format!("SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL");
        let mut statement = connection.prepare(&sql)?;
        let all = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        let other = all.into_iter().filter_map(|text| renamed(&text).map(|other| (text, other)));
        Ok::<_, rusqlite::Error>(other.collect::<Vec<_>>())
    };
    for (table, column) in NAMES {
        for (name, other) in others(table, column, names)? {
            let sql = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
            connection.execute(&sql, params![name, other])?;
        }
    }
    for (error, other) in others("runs", "error", texts)? {
        connection.execute("UPDATE runs SET error = ?2 WHERE error = ?1", params![error, other])?;
    }
    for (name, other) in others("sessions", "conversation", names)? {
        let sql = "UPDATE sessions SET conversation = ?2, ended_at = coalesce(ended_at, ?3) WHERE conversation = ?1";
        connection.execute(sql, params![name, other, now_ms()])?;
    }
    for (id, other) in others("input_keys", "platform_id", texts)? {
        let sql = "UPDATE OR REPLACE input_keys SET platform_id = ?2 WHERE platform_id = ?1";
        connection.execute(sql, params![id, other])?;
    }
    Ok(())
}
