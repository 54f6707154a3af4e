//! The graph: who and what was spoken of, what relates them, since when, and in which sentence it was said.
//!
//! [`Graph::commit`] takes claims, [`Graph::recall`] finds relations, [`Graph::undo`] takes changes back. Every call
//! reads or writes the disk and so belongs on a thread where that is allowed.

mod candidates;
mod change;
mod closing;
mod commit;
mod delete;
mod entities;
mod error;
mod forget;
mod heard;
mod joining;
mod merged;
mod model;
pub mod predicate;
mod recall;
mod resolve;
mod rows;
mod same;
mod schema;
mod seeds;
mod seen;
mod sentences;
mod show;
mod shown;
mod store;
mod summary;
mod terms;
#[cfg(test)]
mod tests;
mod tombstones;
mod undo;
mod writing;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use homeagent_settings::Database;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::Notify;

pub use candidates::{NameRow, Weakness};
pub use change::{Author, Change, Changed};
pub use delete::Deleted;
pub use entities::NameVectors;
pub use error::GraphError;
pub use forget::Held;
pub use model::{
    Claim, Closing, Committed, Entity, EntityKind, FOREIGN_LABEL, Holding, Node, Refusal, Relation, Sentence, Source,
    Telling,
};

pub(crate) use joining::Joined;
pub use recall::{Found, Question};
pub(crate) use rows::{hex, unhex};
pub use summary::Summary;

use crate::Audiences;
use crate::vectors::{Kind, Vectors};
use error::Stop;
use merged::Merged;
use tombstones::Tombstones;
use writing::Writing;

/// Statements that a connection keeps prepared.
const STATEMENTS: usize = 128;

/// How much of the file the writer and each reader keep at hand, in KiB. What is told, and what is asked for, touches rows of
/// all ages: with SQLite's usual 2,000 the same pages are read again and again.
const WRITER_CACHE: i64 = 16 * 1024;
const READER_CACHE: i64 = 8 * 1024;

/// Readers that are kept for later; more are opened where more read at once.
const IDLE_READERS: usize = 4;

/// The graph. Clones share it.
#[derive(Clone)]
pub struct Graph {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    audiences: Audiences,
    writer: Mutex<Connection>,
    idle: Mutex<Vec<Connection>>,
    /// Audiences' ids by their text form. Like what follows: changed under `writer`, once the disk has it.
    known: RwLock<HashMap<String, i64>>,
    merged: RwLock<Arc<Merged>>,
    tombstones: RwLock<Arc<Tombstones>>,
    /// Grows with each transaction that wrote; what was made of an older one may be out of date.
    generation: AtomicU64,
    /// How many rows were changed, by and by.
    changes: AtomicU64,
    heard: heard::Heard,
    /// How far sentences and entities were cleaned.
    cleaned: Mutex<(i64, i64)>,
    shown: shown::Shown,
    summaries: summary::Kept,
    /// Told when there are new names.
    changed: Arc<Notify>,
    /// The names' vectors, which go with them.
    vectors: OnceLock<Vectors>,
}

impl Graph {
    /// Opens the graph in `database`, making its tables where they are missing.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database, audiences: Audiences) -> Result<Self, GraphError> {
        database.migrate("graph", schema::MIGRATIONS)?;
        let writer = database.writer()?;
        writer.set_prepared_statement_cache_capacity(STATEMENTS);
        keep_at_hand(&writer, WRITER_CACHE).map_err(|source| database.error("opening the graph", source))?;
        let shared = Shared {
            database: database.clone(),
            audiences,
            writer: Mutex::new(writer),
            idle: Mutex::default(),
            known: RwLock::default(),
            merged: RwLock::default(),
            tombstones: RwLock::default(),
            generation: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            heard: heard::Heard::default(),
            cleaned: Mutex::default(),
            shown: shown::Shown::default(),
            summaries: summary::Kept::default(),
            changed: Arc::default(),
            vectors: OnceLock::new(),
        };
        let graph = Self { shared: Arc::new(shared) };
        graph.write("preparing the graph", |writing| {
            store::prepare_salt(writing.connection)?;
            terms::renew(writing.connection)?;
            Ok(())
        })?;
        let (known, merged, tombstones) = graph.read("reading the graph", |connection| {
            Ok((seen::load(connection)?, Merged::load(connection)?, Tombstones::load(connection)?))
        })?;
        *graph.shared.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        *graph.shared.merged.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(merged);
        *graph.shared.tombstones.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tombstones);
        Ok(graph)
    }

    /// Says where the vectors of its names are, for all clones: a name that goes takes its vector with it.
    pub fn set_vectors(&self, vectors: Vectors) {
        // Whoever comes second has the same file.
        let _ = self.shared.vectors.set(vectors);
    }

    /// Reads on a connection that sees all that was committed.
    fn read<T>(&self, doing: &'static str, work: impl FnOnce(&Connection) -> Result<T, Stop>) -> Result<T, GraphError> {
        let idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let connection = self.shared.database.reader()?;
                connection.set_prepared_statement_cache_capacity(STATEMENTS);
                keep_at_hand(&connection, READER_CACHE).map_err(|source| self.error(doing, source.into()))?;
                connection
            }
        };
        let answer = self.snapshot(&connection, work).map_err(|stop| self.error(doing, stop));
        let mut readers = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        answer
    }

    /// All that `work` reads is of one moment.
    fn snapshot<T>(
        &self,
        connection: &Connection,
        work: impl FnOnce(&Connection) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
        let answer = work(&transaction)?;
        transaction.finish()?;
        Ok(answer)
    }

    /// Writes in one transaction, which is on the disk when this returns. When `work` fails nothing of it stays.
    fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, Stop>,
    ) -> Result<T, GraphError> {
        let mut connection = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let run = || -> Result<T, Stop> {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let before = transaction.total_changes();
            let mut writing = Writing::new(&self.shared, &transaction);
            let answer = work(&mut writing)?;
            let done = writing.finish()?;
            let changed = transaction.total_changes().saturating_sub(before);
            transaction.commit()?;
            self.shared.changes.fetch_add(changed, Ordering::Release);
            self.learn(done);
            Ok(answer)
        };
        run().map_err(|stop| self.error(doing, stop))
    }

    /// Takes over what a transaction changed of what is kept in memory.
    fn learn(&self, done: writing::Done) {
        let shared = &self.shared;
        if !done.audiences.is_empty() {
            shared.known.write().unwrap_or_else(PoisonError::into_inner).extend(done.audiences);
        }
        if let Some(merged) = done.merged {
            *shared.merged.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(merged);
        }
        if !done.tombstones.is_empty() {
            let mut tombstones = shared.tombstones.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut tombstones).extend(done.tombstones);
        }
        shared.generation.fetch_add(1, Ordering::Release);
        if let Some(vectors) = shared.vectors.get().filter(|_| !done.gone.is_empty())
            && let Err(error) = vectors.remove(Kind::Entity, &done.gone)
        {
            tracing::warn!(%error, "vectors of deleted names were left");
        }
        shared.changed.notify_one();
    }

    fn merged(&self) -> Arc<Merged> {
        self.shared.merged.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn error(&self, doing: &'static str, stop: Stop) -> GraphError {
        match stop {
            Stop::Sqlite(source) => GraphError::Database(self.shared.database.error(doing, source)),
            Stop::Graph(error) => error,
        }
    }
}

/// Lets SQLite hold so many KiB of the file in memory for a connection.
fn keep_at_hand(connection: &Connection, kibibytes: i64) -> rusqlite::Result<()> {
    // A negative number is one of KiB, another one of pages.
    connection.pragma_update(None, "cache_size", -kibibytes)
}
