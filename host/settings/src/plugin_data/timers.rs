//! Timers, as they are kept over restarts.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::PacedWriter;
use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &[
    "CREATE TABLE plugin_timers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    plugin TEXT NOT NULL,
    name TEXT NOT NULL,
    due INTEGER NOT NULL,  -- milliseconds since 1970
    every INTEGER,         -- milliseconds
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL,  -- at the firing that is due
    UNIQUE (plugin, name)
) STRICT;",
    "ALTER TABLE plugin_timers ADD COLUMN calendar INTEGER NOT NULL DEFAULT 0;  -- the plugin says when it is due again
ALTER TABLE plugin_timers ADD COLUMN creator TEXT;  -- for whom it was set; JSON",
];

const COLUMNS: &str = "id, plugin, name, due, every, calendar, payload, creator, attempts";

pub(super) fn migrate(database: &Database) -> Result<(), DatabaseError> {
    database.migrate("plugin_timers", MIGRATIONS)
}

/// When a timer is due, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// First.
    pub due: u64,
    /// The interval in milliseconds of one that fires again and again.
    pub every: Option<u64>,
    /// The plugin says when it is due again.
    pub calendar: bool,
}

impl From<(u64, Option<u64>)> for Times {
    fn from((due, every): (u64, Option<u64>)) -> Self {
        Self { due, every, calendar: false }
    }
}

/// A firing that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedFiring {
    /// The timer's number.
    pub id: i64,
    /// When it is due again; none: it is gone.
    pub next: Option<u64>,
    /// In the place of its payload.
    pub payload: Option<String>,
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
    /// The plugin says when it is due again.
    pub calendar: bool,
    /// What the plugin gave it to remember; JSON.
    pub payload: String,
    /// For whom it was set, where not for the plugin itself; JSON.
    pub creator: Option<String>,
    /// How often the firing that is due failed.
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
        times: impl Into<Times>,
        payload: &str,
        most: u64,
    ) -> Result<TimerRow, TimerError> {
        self.set_for(plugin, name, times.into(), payload, None, most)
    }

    /// The same, for somebody: `creator` is JSON that comes back with it.
    ///
    /// # Errors
    ///
    /// Why it was not set.
    pub fn set_for(
        &self,
        plugin: &str,
        name: &str,
        times: Times,
        payload: &str,
        creator: Option<&str>,
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
            insert(transaction, plugin, name, times, payload, creator).map_err(failed)
        })
    }

    /// Puts other times and another payload into the place of a timer's, whose creator stays. Nothing: there is no such
    /// timer.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn change(
        &self,
        plugin: &str,
        name: &str,
        times: Times,
        payload: &str,
        whose: impl FnOnce(String) -> String,
    ) -> Result<Option<TimerRow>, DatabaseError> {
        self.write("changing a timer", |transaction| {
            let sql = "DELETE FROM plugin_timers WHERE plugin = ?1 AND name = ?2 RETURNING creator";
            let creator: Option<Option<String>> =
                transaction.query_row(sql, [plugin, name], |row| row.get(0)).optional()?;
            let Some(creator) = creator.map(|creator| creator.map(whose)) else { return Ok(None) };
            insert(transaction, plugin, name, times, payload, creator.as_deref()).map(Some)
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

    /// Notes that the plugin failed in a firing.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn failed(&self, id: i64) -> Result<(), DatabaseError> {
        self.write("noting that a timer's firing failed", |transaction| {
            let sql = "UPDATE plugin_timers SET attempts = attempts + 1 WHERE id = ?1";
            transaction.execute(sql, [id]).map(drop)
        })
    }

    /// Ends firings, all in one transaction: each timer is due again, or gone.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn finish(&self, firings: &[FinishedFiring]) -> Result<(), DatabaseError> {
        self.write("ending timers' firings", |transaction| {
            for FinishedFiring { id, next, payload } in firings {
                match next {
                    Some(next) => transaction
                        .prepare_cached(
                            "UPDATE plugin_timers SET due = ?2, payload = coalesce(?3, payload), attempts = 0
                             WHERE id = ?1",
                        )?
                        .execute(params![id, stored(*next), payload])?,
                    None => transaction.prepare_cached("DELETE FROM plugin_timers WHERE id = ?1")?.execute([id])?,
                };
            }
            Ok(())
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

fn insert(
    transaction: &Transaction<'_>,
    plugin: &str,
    name: &str,
    times: Times,
    payload: &str,
    creator: Option<&str>,
) -> rusqlite::Result<TimerRow> {
    let sql = "INSERT INTO plugin_timers (plugin, name, due, every, calendar, payload, creator, attempts)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)";
    let values = params![plugin, name, stored(times.due), times.every.map(stored), times.calendar, payload, creator];
    transaction.execute(sql, values)?;
    let sql = format!("SELECT {COLUMNS} FROM plugin_timers WHERE id = last_insert_rowid()");
    transaction.query_row(&sql, [], read)
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read(row: &Row<'_>) -> rusqlite::Result<TimerRow> {
    let time = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok(TimerRow {
        id: row.get(0)?,
        plugin: row.get(1)?,
        name: row.get(2)?,
        due: time(row.get(3)?),
        every: row.get::<_, Option<i64>>(4)?.map(time),
        calendar: row.get(5)?,
        payload: row.get(6)?,
        creator: row.get(7)?,
        attempts: u32::try_from(row.get::<_, i64>(8)?).unwrap_or(u32::MAX),
    })
}
