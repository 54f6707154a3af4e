//! The index as others use it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use homeagent_settings::{Database, DatabaseError};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use tokio::sync::Notify;

use super::rows::{self, Change};
use super::{Columns, Passage, PassageKind, PostingLists};
use crate::vectors::{Kind, TextSource, Vectors};

/// The passages. Clones share them. Its functions block: they belong on a thread that may.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    writer: Mutex<Connection>,
    /// Connections that nobody reads with just now.
    readers: Mutex<Vec<Connection>>,
    /// Read for as long as a question is answered; written only after a commit.
    columns: RwLock<Columns>,
    postings: PostingLists,
    vectors: Vectors,
    changed: Arc<Notify>,
    /// The lowest id of those that lost their vectors because what stood before them changed.
    changed_from: AtomicI64,
}

impl Index {
    /// Opens the index, whose passages' vectors are kept in `vectors`. An index fed by a program that cut text otherwise
    /// is fed anew, which takes some minutes for a million passages.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database, vectors: &Vectors) -> Result<Self, DatabaseError> {
        database.migrate("index", super::schema::MIGRATIONS)?;
        let mut writer = database.writer()?;
        rows::feed_anew(&mut writer).map_err(|error| database.error("feeding the index anew", error))?;
        let reader = database.reader()?;
        let columns = Columns::load(&reader).map_err(|error| database.error("reading the index", error))?;
        let shared = Shared {
            database: database.clone(),
            writer: Mutex::new(writer),
            readers: Mutex::new(vec![reader]),
            columns: RwLock::new(columns),
            postings: PostingLists::new(),
            vectors: vectors.clone(),
            changed: Arc::default(),
            changed_from: AtomicI64::new(i64::MAX),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Adds passages, in one transaction. One whose kind and origin are there already takes that one's place, and one
    /// that is equal to it changes nothing; one whose origin was forgotten is left out. Long texts are kept in pieces:
    /// `part` is given by the index.
    ///
    /// # Errors
    ///
    /// What the database answers; then none was added.
    pub fn put(&self, passages: &[Passage]) -> Result<(), DatabaseError> {
        let prepared = rows::prepare(passages);
        self.change("adding to the index", |transaction| rows::put(transaction, prepared))
    }

    /// Removes all pieces of passages, so that not a byte of them stays in the tables. Returns how many pieces went.
    ///
    /// # Errors
    ///
    /// What the database answers; then none was removed.
    pub fn remove(&self, kind: PassageKind, origins: &[String]) -> Result<usize, DatabaseError> {
        self.change("removing from the index", |transaction| rows::remove(transaction, kind, origins))
    }

    /// Removes passages and sees to it that they are never added again: what rebuilding offers under their origins is
    /// left out. Only a hash of each origin is kept.
    ///
    /// # Errors
    ///
    /// What the database answers; then none was removed.
    pub fn forget(&self, kind: PassageKind, origins: &[String]) -> Result<usize, DatabaseError> {
        self.change("forgetting passages", |transaction| {
            rows::bury(transaction, kind, origins)?;
            let answer = rows::remove(transaction, kind, origins)?;
            rows::remove_unused_names(transaction)?;
            Ok(answer)
        })
    }

    /// The passages under ids, those that are there, in the order asked for.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn passages(&self, ids: &[i64]) -> Result<Vec<(i64, Passage)>, DatabaseError> {
        self.read("reading passages", |_, _, connection| {
            let mut found = Vec::with_capacity(ids.len());
            let mut statement = connection.prepare_cached(rows::WHOLE_PASSAGE)?;
            for id in ids {
                let passage = statement.query_row([id], rows::passage).optional()?;
                found.extend(passage.map(|passage| (*id, passage)));
            }
            Ok(found)
        })
    }

    /// The pieces under origins of a kind: their ids.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn ids(&self, kind: PassageKind, origins: &[String]) -> Result<Vec<i64>, DatabaseError> {
        self.read("finding passages", |_, _, connection| {
            let mut found = Vec::new();
            let mut statement =
                connection.prepare_cached("SELECT id FROM passages WHERE kind = ?1 AND origin = ?2 ORDER BY part")?;
            for origin in origins {
                for id in statement.query_map(params![kind.code(), origin], |row| row.get(0))? {
                    found.push(id?);
                }
            }
            Ok(found)
        })
    }

    /// The kinds and origins of passages whose words are to go. Reads all of them.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn holding(&self, is_to_go: &dyn Fn(&str) -> bool) -> Result<Vec<(PassageKind, String)>, DatabaseError> {
        self.read("looking for words in the index", |_, _, connection| {
            let sql = "SELECT p.kind, p.origin, t.text, n.name FROM passages p JOIN passage_texts t ON t.id = p.id
                       JOIN passage_names n ON n.id = p.speaker";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (text, speaker): (String, String) = (row.get(2)?, row.get(3)?);
                if (is_to_go(&text) || is_to_go(&speaker))
                    && let Some(kind) = PassageKind::from_code(row.get(0)?)
                {
                    found.push((kind, row.get(1)?));
                }
            }
            found.dedup();
            Ok(found)
        })
    }

    /// The hashes of what is not to come back, in order.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn forgotten(&self) -> Result<Vec<Vec<u8>>, DatabaseError> {
        self.read("reading what was forgotten", |_, _, connection| {
            let mut statement = connection.prepare("SELECT hash FROM forgotten_passages ORDER BY hash")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Notes that what has this hash is not to come back.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn bury(&self, hash: &[u8]) -> Result<(), DatabaseError> {
        self.change("noting what was forgotten", |transaction| {
            transaction.execute("INSERT OR IGNORE INTO forgotten_passages (hash) VALUES (?1)", [hash])?;
            Ok((Change::default(), ()))
        })
    }

    /// Takes out of its segments what was deleted.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn settle(&self) -> Result<(), DatabaseError> {
        self.change("tidying the index", |transaction| {
            rows::remove_unused_names(transaction)?;
            transaction.execute("INSERT INTO passage_terms (passage_terms) VALUES ('optimize')", [])?;
            Ok((Change::default(), ()))
        })
    }

    /// How many passages there are.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn count(&self) -> Result<u64, DatabaseError> {
        self.read("counting passages", |_, _, connection| {
            connection.query_row("SELECT count(*) FROM passages", [], |row| row.get(0))
        })
        .map(i64::unsigned_abs)
    }

    /// The vectors of its passages.
    #[must_use]
    pub fn vectors(&self) -> &Vectors {
        &self.shared.vectors
    }

    /// Reads with the columns, the posting lists and a connection that belong together.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Columns, &PostingLists, &Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let idle = self.readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.shared.database.reader()?,
        };
        let answer = work(&self.columns(), &self.shared.postings, &connection);
        self.readers().push(connection);
        answer.map_err(|error| self.shared.database.error(doing, error))
    }

    fn change<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<(Change, T)>,
    ) -> Result<T, DatabaseError> {
        let mut writer = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let run = || {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = work(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        let (change, answer) = run().map_err(|error| self.shared.database.error(doing, error))?;
        // The writer is still held: changes reach the columns in the order of their commits.
        self.take_in(change);
        Ok(answer)
    }

    fn take_in(&self, change: Change) {
        let Change { added, removed, stale, names } = change;
        let mut columns = self.columns_mut();
        for id in &removed {
            columns.remove(*id);
        }
        for (id, name) in names {
            columns.names.learn(id, name);
        }
        for (entry, terms) in added {
            let id = entry.id;
            columns.push(entry);
            if let Some(slot) = columns.slot(id) {
                self.shared.postings.add(slot, &terms);
            }
        }
        drop(columns);
        self.shared.vectors.drop_from_cache(Kind::Passage, &removed);
        self.shared.vectors.drop_from_cache(Kind::Passage, &stale);
        if let Some(first) = stale.iter().min() {
            self.shared.changed_from.fetch_min(*first, Ordering::AcqRel);
        }
        self.shared.changed.notify_waiters();
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn columns(&self) -> RwLockReadGuard<'_, Columns> {
        self.shared.columns.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn columns_mut(&self) -> RwLockWriteGuard<'_, Columns> {
        self.shared.columns.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TextSource for Index {
    fn kind(&self) -> Kind {
        Kind::Passage
    }

    /// Each passage with the end of what stands before it, which is half of what it means: "Yes, last Friday."
    fn texts_after(&self, id: i64, limit: usize) -> Result<Vec<(i64, String)>, DatabaseError> {
        self.read("reading what lacks a vector", |columns, _, connection| {
            rows::texts_after(id, limit, columns, connection)
        })
    }

    fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.shared.changed)
    }

    fn changed_from(&self) -> Option<i64> {
        let first = self.shared.changed_from.swap(i64::MAX, Ordering::AcqRel);
        (first != i64::MAX).then_some(first)
    }
}
