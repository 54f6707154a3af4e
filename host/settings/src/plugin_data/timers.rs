//! Timers, as they are kept over restarts.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::PacedWriter;
use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &["CREATE TABLE plugin_timers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    plugin TEXT NOT NULL,
    name TEXT NOT NULL,
    due INTEGER NOT NULL,  -- milliseconds since 1970
    every INTEGER,         -- milliseconds
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL,  -- at the firing that is due
    UNIQUE (plugin, name)
) STRICT;"];

const COLUMNS: &str = "id, plugin, name, due, every, payload, attempts";

pub(super) fn migrate(database: &Database) -> Result<(), DatabaseError> {
    database.migrate("plugin_timers", MIGRATIONS)
}

/// A timer of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerRow {
    /// Another one for each that is set, also under the same name.
    pub id: i64,
    /// Whose it is.
    pub plugin: String,
    /// What the plugin calls it.
    pub name: String,
    /// When it fires next, in milliseconds since 1970.
    pub due: u64,
    /// The interval in milliseconds of one that fires again and again.
    pub every: Option<u64>,
    /// What the plugin gave it to remember; JSON.
    pub payload: String,
    /// How often the firing that is due was begun.
    pub attempts: u32,
}

/// Why a timer was not set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimerError {
    /// The plugin has as many as it may.
    #[error("the plugin has {0} timers and may have no more; cancel some")]
    Full(u64),
    /// The database failed; the timers are as they were.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The timers of all plugins. All of it waits for the disk. Clones share it.
#[derive(Clone)]
pub struct TimerStore {
    writer: Arc<PacedWriter>,
}

impl TimerStore {
    pub(super) fn new(writer: Arc<PacedWriter>) -> Self {
        Self { writer }
    }

    /// Every timer there is. A damaged one is left out, and stays as it is: see [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn all(&self) -> Result<Vec<TimerRow>, DatabaseError> {
        self.writer.database.read_rows(
            "reading the timers",
            &format!("SELECT {COLUMNS} FROM plugin_timers"),
            ("a timer", "its plugin has to set it again"),
            read,
        )
    }

    /// Sets a timer, in the place of one of that name; on the disk when this returns. The plugin may have `most`.
    ///
    /// # Errors
    ///
    /// Why it was not set.
    pub fn set(
        &self,
        plugin: &str,
        name: &str,
        (due, every): (u64, Option<u64>),
        payload: &str,
        most: u64,
    ) -> Result<TimerRow, TimerError> {
        let doing = "setting a timer";
        let failed = |source| TimerError::Database(self.writer.database.error(doing, source));
        self.writer.write(doing, |transaction| {
            cancel(transaction, plugin, name).map_err(failed)?;
            let sql = "SELECT count(*) FROM plugin_timers WHERE plugin = ?1";
            let count: i64 = transaction.query_row(sql, [plugin], |row| row.get(0)).map_err(failed)?;
            if u64::try_from(count).unwrap_or_default() >= most {
                return Err(TimerError::Full(most));
            }
            let sql = "INSERT INTO plugin_timers (plugin, name, due, every, payload, attempts)
                       VALUES (?1, ?2, ?3, ?4, ?5, 0)";
            let stored = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let values = params![plugin, name, stored(due), every.map(stored), payload];
            transaction.execute(sql, values).map_err(failed)?;
            let sql = format!("SELECT {COLUMNS} FROM plugin_timers WHERE id = last_insert_rowid()");
            transaction.query_row(&sql, [], read).map_err(failed)
        })
    }

    /// Takes a timer away; says whether it was there.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn cancel(&self, plugin: &str, name: &str) -> Result<bool, DatabaseError> {
        self.write("cancelling a timer", |transaction| cancel(transaction, plugin, name))
    }

    /// Notes, before it is handed to the plugin, that a firing is begun once more. False: there is no such timer now.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn begin(&self, id: i64) -> Result<bool, DatabaseError> {
        self.write("beginning a timer's firing", |transaction| {
            let sql = "UPDATE plugin_timers SET attempts = attempts + 1 WHERE id = ?1";
            Ok(transaction.execute(sql, [id])? > 0)
        })
    }

    /// Notes that the plugin was not reached after all.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn take_back(&self, id: i64) -> Result<(), DatabaseError> {
        self.write("taking a timer's firing back", |transaction| {
            let sql = "UPDATE plugin_timers SET attempts = max(attempts - 1, 0) WHERE id = ?1";
            transaction.execute(sql, [id]).map(drop)
        })
    }

    /// Ends a firing: the timer is due at `next` again, or is gone.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn finish(&self, id: i64, next: Option<u64>) -> Result<(), DatabaseError> {
        self.write("ending a timer's firing", |transaction| match next {
            Some(next) => {
                let sql = "UPDATE plugin_timers SET due = ?2, attempts = 0 WHERE id = ?1";
                transaction.execute(sql, params![id, i64::try_from(next).unwrap_or(i64::MAX)]).map(drop)
            }
            None => transaction.execute("DELETE FROM plugin_timers WHERE id = ?1", [id]).map(drop),
        })
    }

    fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let failed = |source| self.writer.database.error(doing, source);
        self.writer.write(doing, |transaction| work(transaction).map_err(failed))
    }
}

/// Deletes all of a plugin's timers.
pub(super) fn forget(transaction: &Transaction<'_>, plugin: &str) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM plugin_timers WHERE plugin = ?1 OR plugin GLOB ?1 || '@*'", [plugin]).map(drop)
}

fn cancel(transaction: &Transaction<'_>, plugin: &str, name: &str) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM plugin_timers WHERE plugin = ?1 AND name = ?2 RETURNING id";
    let id: Option<i64> = transaction.query_row(sql, [plugin, name], |row| row.get(0)).optional()?;
    Ok(id.is_some())
}

fn read(row: &Row<'_>) -> rusqlite::Result<TimerRow> {
    let time = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok(TimerRow {
        id: row.get(0)?,
        plugin: row.get(1)?,
        name: row.get(2)?,
        due: time(row.get(3)?),
        every: row.get::<_, Option<i64>>(4)?.map(time),
        payload: row.get(5)?,
        attempts: u32::try_from(row.get::<_, i64>(6)?).unwrap_or(u32::MAX),
    })
}
