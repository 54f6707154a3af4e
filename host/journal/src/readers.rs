//! The connections that read. They see what was committed, and never wait for the writer.

use std::sync::{Arc, Mutex, PoisonError};

use homeagent_settings::Database;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::JournalError;

/// How many reads run at a time.
const CONNECTIONS: usize = 2;

#[derive(Clone)]
pub(crate) struct Readers {
    database: Database,
    permits: Arc<Semaphore>,
    /// Those not at work. One that is lost to a panic is replaced by the next reader.
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(crate) fn new(database: &Database) -> Self {
        Self { database: database.clone(), permits: Arc::new(Semaphore::new(CONNECTIONS)), idle: Arc::default() }
    }

    /// Runs `work` on a thread that may block.
    pub(crate) async fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError>
    where
        T: Send + 'static,
    {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| JournalError::Closed)?;
        let Self { database, idle, .. } = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match kept {
                Some(connection) => connection,
                None => database.reader()?,
            };
            let answer = work(&connection).map_err(|source| database.error(doing, source));
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(answer?)
        });
        match task.await {
            Ok(answer) => answer,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(JournalError::Closed),
        }
    }
}
