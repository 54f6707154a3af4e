//! The handle everyone holds.

use homeagent_settings::Database;

use crate::error::JournalError;
use crate::event::{self, NewEvent, Seq};
use crate::readers::Readers;
use crate::schema::MIGRATIONS;
use crate::writer::Writer;

/// The journal. Clones share it; its thread ends, after what was queued, when the last one is dropped.
#[derive(Clone)]
pub struct Journal {
    pub(crate) writer: Writer,
    pub(crate) readers: Readers,
}

impl Journal {
    /// Opens the journal in `database` and starts its writing thread. Call [`Journal::recover`] before the first run.
    ///
    /// # Errors
    ///
    /// A database that is damaged, or of a newer program; a thread that can't be started.
    pub fn open(database: &Database) -> Result<Self, JournalError> {
        database.migrate("journal", MIGRATIONS)?;
        Ok(Self { writer: Writer::start(database)?, readers: Readers::new(database) })
    }

    /// Appends an event; it is on the disk when this answers. Dropping the future does not take it back.
    ///
    /// An [`EventKind::InputFlushed`](crate::EventKind::InputFlushed) or
    /// [`EventKind::InputRefused`](crate::EventKind::InputRefused) also ends the waiting of the input it names.
    ///
    /// # Errors
    ///
    /// Kinds that have an operation of their own, a session or run that is not there, and what the database answers.
    pub async fn append(&self, event: NewEvent) -> Result<Seq, JournalError> {
        self.writer.write("appending an event", move |connection| event::append(connection, &event)).await
    }

    /// Appends events in their order, all or none.
    ///
    /// # Errors
    ///
    /// As for [`Journal::append`].
    pub async fn append_all(&self, events: Vec<NewEvent>) -> Result<Vec<Seq>, JournalError> {
        self.append_gathered(|| events).await
    }

    /// As [`Journal::append_all`], with events that are asked for when there is a place for them: what `gather` hands out
    /// is written even if the future is dropped.
    ///
    /// # Errors
    ///
    /// As for [`Journal::append`].
    pub async fn append_gathered(&self, gather: impl FnOnce() -> Vec<NewEvent>) -> Result<Vec<Seq>, JournalError> {
        let work = || {
            let events = gather();
            move |connection: &_| events.iter().map(|event| event::append(connection, event)).collect()
        };
        self.writer.write_made("appending events", work).await
    }

    /// How many pieces of work wait for the writing thread.
    pub fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    /// Ends the journal: what was queued is written, later writes get [`JournalError::Closed`], and the write-ahead log
    /// is folded into the database. Reading goes on.
    pub async fn close(&self) {
        self.writer.close().await;
    }
}
