//! What the daemon keeps for each plugin.

mod keys;
mod timers;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use keys::{Change, KeyError, KeyValues, MOST_KEYS, MOST_LISTED};

pub use timers::{FinishedFiring, TimerError, TimerRow, TimerStore, Times};

use crate::database::{Database, DatabaseError};

/// However long a commit took, the next waits no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What is kept for plugins. Clones share it.
#[derive(Clone)]
pub struct PluginData {
    /// Their own keys and values.
    pub keys: KeyValues,
    /// Their timers.
    pub timers: TimerStore,
    writer: Arc<PacedWriter>,
}

impl PluginData {
    /// Opens what is kept.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        keys::migrate(database)?;
        timers::migrate(database)?;
        let writer = Arc::new(PacedWriter::new(database)?);
        Ok(Self { keys: KeyValues::new(Arc::clone(&writer)), timers: TimerStore::new(Arc::clone(&writer)), writer })
    }

    /// Deletes all that is kept for a plugin, as when it is removed.
    ///
    /// # Errors
    ///
    /// What the database answers, and then all is as it was.
    pub fn forget(&self, plugin: &str) -> Result<(), DatabaseError> {
        let doing = "forgetting what a plugin kept";
        self.writer.write(doing, |transaction| {
            keys::forget(transaction, plugin)
                .and_then(|()| timers::forget(transaction, plugin))
                .map_err(|source| self.writer.database.error(doing, source))
        })
    }
}

/// A connection of its own, which leaves the disk to others for as long as each of its commits took (up to a second): only one connection
/// to the file writes at a time, and however much plugins have to write, the journal is not to wait for them.
struct PacedWriter {
    database: Database,
    paced: Mutex<Paced>,
}

struct Paced {
    connection: Connection,
    /// When the next commit may begin.
    next: Instant,
}

impl PacedWriter {
    fn new(database: &Database) -> Result<Self, DatabaseError> {
        let paced = Paced { connection: database.writer()?, next: Instant::now() };
        Ok(Self { database: database.clone(), paced: Mutex::new(paced) })
    }

    /// Writes in one transaction, which is on the disk when this returns. When `work` fails nothing of it stays.
    fn write<T, E>(&self, doing: &'static str, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E>
    where
        E: From<DatabaseError>,
    {
        // A panic in someone's closure rolled its transaction back, so the connection is still good.
        let mut paced = self.paced.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(paced.next.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        let failed = |source| E::from(self.database.error(doing, source));
        let outcome = (|| {
            let transaction =
                paced.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
            let answer = work(&transaction)?;
            transaction.commit().map_err(failed)?;
            Ok(answer)
        })();
        let ended = Instant::now();
        paced.next = ended + ended.duration_since(begun).min(LONGEST_PAUSE);
        outcome
    }
}
