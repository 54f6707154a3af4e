//! Keys and values, each plugin's apart from all others'.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::PacedWriter;
use crate::database::{Database, DatabaseError};

/// The longest key, in bytes.
const LONGEST_KEY: usize = 1 << 10;
/// The largest value, in bytes.
const LARGEST_VALUE: usize = 1 << 20;
/// The most keys of one plugin.
pub const MOST_KEYS: u64 = 10_000;
/// The most keys that one answer lists.
pub const MOST_LISTED: usize = 1_000;
/// The most changes of one batch.
const MOST_CHANGES: usize = 1_000;

const MIGRATIONS: &[&str] = &["CREATE TABLE plugin_values (
    id INTEGER PRIMARY KEY,
    plugin TEXT NOT NULL,
    key TEXT NOT NULL,
    size INTEGER NOT NULL,  -- of key and value, in bytes
    value BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX plugin_values_by_key ON plugin_values (plugin, key);
CREATE INDEX plugin_values_by_size ON plugin_values (plugin, size);"];

pub(super) fn migrate(database: &Database) -> Result<(), DatabaseError> {
    database.migrate("plugin_values", MIGRATIONS)
}

/// One step of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Puts a value there, in the place of what was there.
    Set(String, Vec<u8>),
    /// Takes a key away, where it is there.
    Delete(String),
}

/// Why a value was not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key that can't be.
    #[error("a key has 1 to {LONGEST_KEY} bytes; this one has {0}")]
    Key(usize),
    /// A value that is too large.
    #[error("a value has at most {LARGEST_VALUE} bytes; this one has {0}")]
    Value(usize),
    /// Too many changes at once.
    #[error("a batch has at most {MOST_CHANGES} changes; this one has {0}")]
    Batch(usize),
    /// The plugin has as many keys as it may.
    #[error("a plugin keeps at most {MOST_KEYS} keys; delete some")]
    Keys,
    /// The plugin keeps as much as it may.
    #[error(
        "the plugin would keep {bytes} bytes and may keep {most}; delete some, or have the owner allow more: waiter settings set core.plugin.kv_mib"
    )]
    Full {
        /// As much as it would be, in bytes.
        bytes: u64,
        /// As much as it may be, in bytes.
        most: u64,
    },
    /// The database failed; what was kept is as it was.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Each plugin's own keys and values. All of it waits for the disk. Clones share it.
#[derive(Clone)]
pub struct KeyValues {
    writer: Arc<PacedWriter>,
    /// Opened with the first question.
    reader: Arc<Mutex<Option<Connection>>>,
}

impl KeyValues {
    pub(super) fn new(writer: Arc<PacedWriter>) -> Self {
        Self { writer, reader: Arc::default() }
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// [`KeyError::Key`], and what the database answers.
    pub fn get(&self, plugin: &str, key: &str) -> Result<Option<Vec<u8>>, KeyError> {
        check_key(key)?;
        self.read("reading a plugin's value", |connection| {
            let sql = "SELECT value FROM plugin_values WHERE plugin = ?1 AND key = ?2";
            connection.prepare_cached(sql)?.query_row([plugin, key], |row| row.get(0)).optional()
        })
    }

    /// The keys that begin with `prefix`, in the order of their bytes, at most [`MOST_LISTED`]; those behind `after`, where
    /// that is given.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn list(&self, plugin: &str, prefix: &str, after: Option<&str>) -> Result<Vec<String>, KeyError> {
        // No text lies between another one and the same with a zero behind it.
        let from = after.map_or_else(|| prefix.to_owned(), |after| format!("{after}\0")).max(prefix.to_owned());
        self.read("listing a plugin's keys", |connection| {
            let sql = "SELECT key FROM plugin_values WHERE plugin = ?1 AND key >= ?2 ORDER BY key LIMIT ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let most = i64::try_from(MOST_LISTED).unwrap_or(i64::MAX);
            let mut rows = statement.query(params![plugin, from, most])?;
            let mut keys = Vec::new();
            while let Some(row) = rows.next()? {
                let key: String = row.get(0)?;
                if !key.starts_with(prefix) {
                    break;
                }
                keys.push(key);
            }
            Ok(keys)
        })
    }

    /// Makes all changes, in order, or none; on the disk when this returns. Says for each whether its key was there
    /// before it. The plugin may keep `most` bytes.
    ///
    /// # Errors
    ///
    /// Why nothing was changed.
    pub fn apply(&self, plugin: &str, changes: &[Change], most: u64) -> Result<Vec<bool>, KeyError> {
        if changes.len() > MOST_CHANGES {
            return Err(KeyError::Batch(changes.len()));
        }
        for change in changes {
            match change {
                Change::Delete(key) => check_key(key)?,
                Change::Set(key, value) => {
                    check_key(key)?;
                    if value.len() > LARGEST_VALUE {
                        return Err(KeyError::Value(value.len()));
                    }
                }
            }
        }
        let doing = "keeping a plugin's values";
        let failed = |source| KeyError::Database(self.writer.database.error(doing, source));
        self.writer.write(doing, |transaction| {
            let before = usage(transaction, plugin).map_err(failed)?;
            let known = changes.iter().map(|change| make(transaction, plugin, change)).collect::<Result<_, _>>();
            let known = known.map_err(failed)?;
            let after = usage(transaction, plugin).map_err(failed)?;
            // Whoever has too much already may still make it less.
            if after.bytes > most && after.bytes > before.bytes {
                return Err(KeyError::Full { bytes: after.bytes, most });
            }
            if after.keys > MOST_KEYS && after.keys > before.keys {
                return Err(KeyError::Keys);
            }
            Ok(known)
        })
    }

    /// The values, whosever they are, of which `is_meant` says so by key and value: plugin and key of each, in their order.
    /// Reads all that is kept.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn holding(&self, is_meant: &dyn Fn(&str, &[u8]) -> bool) -> Result<Vec<(String, String)>, KeyError> {
        self.read("looking through what plugins keep", |connection| {
            let mut statement =
                connection.prepare_cached("SELECT plugin, key, value FROM plugin_values ORDER BY plugin, key")?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let key = row.get_ref(1)?.as_str()?;
                if is_meant(key, row.get_ref(2)?.as_blob()?) {
                    found.push((row.get(0)?, key.to_owned()));
                }
            }
            Ok(found)
        })
    }

    /// Deletes the values of which `is_meant` says so, whosever they are; all of them or none. On the disk when this returns;
    /// the bytes are in the file until it is rewritten.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn forget_holding(&self, is_meant: &dyn Fn(&str, &[u8]) -> bool) -> Result<Vec<(String, String)>, KeyError> {
        let found = self.holding(is_meant)?;
        let doing = "forgetting what plugins keep";
        self.writer.write(doing, |transaction| {
            let gone =
                found.iter().filter_map(|(plugin, key)| match remove_meant(transaction, plugin, key, is_meant) {
                    Ok(is_gone) => is_gone.then(|| Ok((plugin.clone(), key.clone()))),
                    Err(error) => Some(Err(error)),
                });
            gone.collect::<rusqlite::Result<_>>()
                .map_err(|source| KeyError::Database(self.writer.database.error(doing, source)))
        })
    }

    fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, KeyError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *reader {
            Some(connection) => connection,
            none => none.insert(self.writer.database.reader()?),
        };
        Ok(work(connection).map_err(|source| self.writer.database.error(doing, source))?)
    }
}

/// Deletes all of a plugin's keys.
pub(super) fn forget(transaction: &Transaction<'_>, plugin: &str) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM plugin_values WHERE plugin = ?1 OR plugin GLOB ?1 || '@*'", [plugin]).map(drop)
}

/// Deletes a value unless it has become another that is not meant.
fn remove_meant(
    transaction: &Transaction<'_>,
    plugin: &str,
    key: &str,
    is_meant: &dyn Fn(&str, &[u8]) -> bool,
) -> rusqlite::Result<bool> {
    let sql = "SELECT value FROM plugin_values WHERE plugin = ?1 AND key = ?2";
    let value: Option<Vec<u8>> =
        transaction.prepare_cached(sql)?.query_row([plugin, key], |row| row.get(0)).optional()?;
    if !value.is_some_and(|value| is_meant(key, &value)) {
        return Ok(false);
    }
    let sql = "DELETE FROM plugin_values WHERE plugin = ?1 AND key = ?2";
    Ok(transaction.prepare_cached(sql)?.execute([plugin, key])? > 0)
}

fn check_key(key: &str) -> Result<(), KeyError> {
    if key.is_empty() || key.len() > LONGEST_KEY { Err(KeyError::Key(key.len())) } else { Ok(()) }
}

/// What a plugin keeps.
struct Usage {
    keys: u64,
    bytes: u64,
}

fn usage(transaction: &Transaction<'_>, plugin: &str) -> rusqlite::Result<Usage> {
    let sql = "SELECT count(*), coalesce(sum(size), 0) FROM plugin_values WHERE plugin = ?1";
    let mut statement = transaction.prepare_cached(sql)?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    statement.query_row([plugin], |row| Ok(Usage { keys: count(row.get(0)?), bytes: count(row.get(1)?) }))
}

fn make(transaction: &Transaction<'_>, plugin: &str, change: &Change) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM plugin_values WHERE plugin = ?1 AND key = ?2";
    let (Change::Set(key, _) | Change::Delete(key)) = change;
    let known = transaction.prepare_cached(sql)?.execute([plugin, key])? > 0;
    if let Change::Set(key, value) = change {
        let size = i64::try_from(key.len() + value.len()).unwrap_or(i64::MAX);
        let sql = "INSERT INTO plugin_values (plugin, key, size, value) VALUES (?1, ?2, ?3, ?4)";
        transaction.prepare_cached(sql)?.execute(params![plugin, key, size, value])?;
    }
    Ok(known)
}
