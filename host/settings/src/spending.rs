//! What each plugin has spent of its tokens of one day.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::params;

use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &["CREATE TABLE spending (
    plugin TEXT NOT NULL PRIMARY KEY,
    day INTEGER NOT NULL,     -- days since 1970-01-01, UTC
    tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;"];

/// A plugin's day and what was spent in it.
#[derive(Clone, Copy)]
struct Day {
    day: i64,
    tokens: u64,
}

/// What is spent. Clones share it.
#[derive(Clone)]
pub struct Spending {
    database: Database,
    known: Arc<Mutex<BTreeMap<String, Day>>>,
}

impl Spending {
    /// Reads what was spent. A damaged row counts as nothing spent: see [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("spending", MIGRATIONS)?;
        let rows = database.read_rows(
            "reading what plugins have spent",
            "SELECT plugin, day, tokens FROM spending",
            ("what a plugin has spent today", "nothing has to be done: it counts as nothing"),
            |row| {
                let tokens = u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
                Ok((row.get::<_, String>(0)?, Day { day: row.get(1)?, tokens }))
            },
        )?;
        Ok(Self { database: database.clone(), known: Arc::new(Mutex::new(rows.into_iter().collect())) })
    }

    /// What a plugin has spent on a day, in tokens. Answered from memory.
    #[must_use]
    pub fn of(&self, plugin: &str, day: i64) -> u64 {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(plugin).filter(|known| known.day == day).map_or(0, |known| known.tokens)
    }

    /// Takes tokens from a plugin's budget of a day, unless that leaves too little: then nothing changes, and what is left
    /// is answered.
    ///
    /// # Errors
    ///
    /// What the database answers, and then nothing is taken.
    pub fn take(&self, plugin: &str, day: i64, tokens: u64, budget: u64) -> Result<Result<(), u64>, DatabaseError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = known.get(plugin).filter(|known| known.day == day).map_or(0, |known| known.tokens);
        let left = budget.saturating_sub(spent);
        if tokens > left {
            return Ok(Err(left));
        }
        let now = Day { day, tokens: spent.saturating_add(tokens) };
        self.write(plugin, now)?;
        known.insert(plugin.to_owned(), now);
        Ok(Ok(()))
    }

    /// Puts what was really used in the place of what was taken before. Of a day that is over nothing is kept.
    ///
    /// # Errors
    ///
    /// What the database answers, and then what was taken counts.
    pub fn settle(&self, plugin: &str, day: i64, taken: u64, used: u64) -> Result<(), DatabaseError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = known.get(plugin).copied().filter(|known| known.day == day) else { return Ok(()) };
        let now = Day { day, tokens: before.tokens.saturating_sub(taken).saturating_add(used) };
        self.write(plugin, now)?;
        known.insert(plugin.to_owned(), now);
        Ok(())
    }

    fn write(&self, plugin: &str, Day { day, tokens }: Day) -> Result<(), DatabaseError> {
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        self.database.write("keeping what a plugin has spent", |transaction| {
            transaction.execute(
                "INSERT INTO spending (plugin, day, tokens) VALUES (?1, ?2, ?3)
                 ON CONFLICT (plugin) DO UPDATE SET day = excluded.day, tokens = excluded.tokens",
                params![plugin, day, tokens],
            )
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_of_one_day_and_outlives_the_daemon() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || {
            let database = Database::open(folder.path().join("db")).expect("a database");
            Spending::open(&database).expect("a table")
        };
        let spending = open();
        assert_eq!(spending.take("a", 7, 60, 100).expect("it is written"), Ok(()));
        assert_eq!(spending.take("a", 7, 60, 100).expect("nothing is written"), Err(40));
        spending.settle("a", 7, 60, 10).expect("it is written");
        drop(spending);
        let spending = open();
        assert_eq!((spending.of("a", 7), spending.of("a", 8), spending.of("b", 7)), (10, 0, 0));
        assert_eq!(spending.take("a", 8, 100, 100).expect("it is written"), Ok(()));
        spending.settle("a", 7, 60, 10).expect("that day is over");
        assert_eq!(spending.of("a", 8), 100);
    }
}
