//! How far each loop is, and what was judged already.

use std::collections::HashSet;

use homeagent_settings::{Database, DatabaseError};
use rusqlite::{OptionalExtension as _, params};
use serde::Serialize;

const MIGRATIONS: &[&str] = &["
CREATE TABLE distill_cursors (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- What a model was asked about: pairs of entities and relations, by their numbers alone.
CREATE TABLE distill_judged (
    what TEXT NOT NULL,
    a INTEGER NOT NULL,
    b INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (what, a, b)
) STRICT, WITHOUT ROWID;
CREATE TABLE distill_counts (
    what TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];

/// What came of distilling so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distilled {
    /// The last event of the journal that was read.
    pub reached: i64,
    /// How many messages and documents were read.
    pub read: i64,
    /// How many statements were new to the graph.
    pub learnt: i64,
    /// How many pairs were judged.
    pub compared: i64,
    /// How many of them were joined.
    pub merged: i64,
    /// How many relations were looked at once more.
    pub reviewed: i64,
    /// How many of them were taken back or put right.
    pub corrected: i64,
}

/// Keeps it. Clones share it.
#[derive(Clone)]
pub(super) struct Progress {
    database: Database,
}

impl Progress {
    pub(super) fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("distill", MIGRATIONS)?;
        Ok(Self { database: database.clone() })
    }

    pub(super) fn cursor(&self, name: &str) -> Result<i64, DatabaseError> {
        self.database.read("reading how far distilling is", |connection| {
            let sql = "SELECT at FROM distill_cursors WHERE name = ?1";
            Ok(connection.query_row(sql, [name], |row| row.get(0)).optional()?.unwrap_or(0))
        })
    }

    /// Notes how far a loop is, with what it counted, in one transaction.
    pub(super) fn advance(&self, name: &str, at: i64, counts: &[(&str, usize)]) -> Result<(), DatabaseError> {
        self.database.write("noting how far distilling is", |transaction| {
            let sql = "INSERT INTO distill_cursors (name, at) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET at = ?2";
            transaction.execute(sql, params![name, at])?;
            for (what, count) in counts {
                add(transaction, what, *count)?;
            }
            Ok(())
        })
    }

    pub(super) fn was_judged(&self, what: &str, a: i64, b: i64) -> Result<bool, DatabaseError> {
        self.database.read("reading what was judged", |connection| {
            let sql = "SELECT 1 FROM distill_judged WHERE what = ?1 AND a = ?2 AND b = ?3";
            Ok(connection.query_row(sql, params![what, a, b], |_| Ok(())).optional()?.is_some())
        })
    }

    /// All pairs that were judged.
    pub(super) fn judged_pairs(&self, what: &str) -> Result<HashSet<(i64, i64)>, DatabaseError> {
        self.database.read("reading what was judged", |connection| {
            let mut statement = connection.prepare_cached("SELECT a, b FROM distill_judged WHERE what = ?1")?;
            let pairs = statement.query_map([what], |row| Ok((row.get(0)?, row.get(1)?)))?;
            pairs.collect()
        })
    }

    /// Notes a verdict, so that nothing is asked twice.
    pub(super) fn judged(
        &self,
        what: &str,
        (a, b): (i64, i64),
        verdict: &str,
        now_ms: i64,
        counts: &[(&str, usize)],
    ) -> Result<(), DatabaseError> {
        self.database.write("noting a verdict", |transaction| {
            let sql = "INSERT OR REPLACE INTO distill_judged (what, a, b, verdict, at) VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(sql, params![what, a, b, verdict, now_ms])?;
            for (what, count) in counts {
                add(transaction, what, *count)?;
            }
            Ok(())
        })
    }

    pub(super) fn status(&self) -> Result<Distilled, DatabaseError> {
        let reached = self.cursor(super::archive::CURSOR)?;
        self.database.read("reading what was distilled", |connection| {
            let count = |what: &str| -> rusqlite::Result<i64> {
                let sql = "SELECT count FROM distill_counts WHERE what = ?1";
                Ok(connection.query_row(sql, [what], |row| row.get(0)).optional()?.unwrap_or(0))
            };
            Ok(Distilled {
                reached,
                read: count("read")?,
                learnt: count("learnt")?,
                compared: count("compared")?,
                merged: count("merged")?,
                reviewed: count("reviewed")?,
                corrected: count("corrected")?,
            })
        })
    }
}

fn add(transaction: &rusqlite::Transaction<'_>, what: &str, count: usize) -> rusqlite::Result<()> {
    let sql = "INSERT INTO distill_counts (what, count) VALUES (?1, ?2)
               ON CONFLICT (what) DO UPDATE SET count = count + ?2";
    transaction.execute(sql, params![what, i64::try_from(count).unwrap_or(i64::MAX)]).map(drop)
}
