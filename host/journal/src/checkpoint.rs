//! Moves what the write-ahead log holds into the database file, on a thread of its own: a commit that did it, as SQLite
//! does where nobody says otherwise, would let its callers wait for a second file to be on the disk.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use homeagent_settings::Database;
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::error::JournalError;

/// How long the log grows, in pages (of 4 KiB), before it is moved. It is reread at a start after a crash.
const PAGES: i32 = 4_000;

/// From this length on a commit waits for it all the same, so that the log never takes the disk.
const MOST_PAGES: i32 = 3 * PAGES;

/// How long after one checkpoint the next may begin. A reader that is still at work keeps the log from being emptied, so
/// the next commit asks for it again.
const PAUSE: Duration = Duration::from_millis(500);

/// The thread that does it. It ends when the writer's hook is gone.
pub(crate) struct Checkpointer {
    thread: JoinHandle<()>,
}

impl Checkpointer {
    /// Takes the care of the log over from `writer`.
    pub(crate) fn start(database: &Database, writer: &mut Connection) -> Result<Self, JournalError> {
        let connection = database.writer()?;
        let (asked, requests) = sync_channel(1);
        let moving = Arc::new(Mutex::new(()));
        let by_commit = Arc::clone(&moving);
        writer
            .wal_hook(Some(move |log: &mut Wal, pages| {
                tend(log, pages, &asked, &by_commit);
                // The commit has happened, whatever becomes of the log.
                Ok(())
            }))
            .map_err(|source| database.error("opening the journal", source))?;
        let thread = std::thread::Builder::new()
            .name("journal-log".to_owned())
            .spawn(move || run(&connection, &requests, &moving))
            .map_err(|source| JournalError::Thread { source })?;
        Ok(Self { thread })
    }

    /// Gives the care of the log up and waits for the thread to end.
    pub(crate) fn end(self, writer: &mut Connection) {
        if let Err(error) = writer.wal_hook(None::<fn(&mut Wal, i32) -> rusqlite::Result<()>>) {
            tracing::warn!(%error, "the journal's log is still watched");
            return;
        }
        if self.thread.join().is_err() {
            tracing::error!("the thread that tidies the journal's log panicked");
        }
    }
}

/// Sees after each commit to it that the log does not grow on.
fn tend(log: &mut Wal, pages: i32, asked: &SyncSender<()>, moving: &Mutex<()>) {
    if pages >= PAGES {
        // One request is enough, and without the thread there is the other limit.
        let _ = asked.try_send(());
    }
    if pages >= MOST_PAGES {
        // While the thread is at it SQLite would refuse, and the log would grow on.
        let _alone = moving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = log.checkpoint() {
            tracing::debug!(pages, %error, "the journal's log is long and can't be moved now");
        }
    }
}

fn run(connection: &Connection, requests: &Receiver<()>, moving: &Mutex<()>) {
    while requests.recv().is_ok() {
        // PASSIVE waits for nobody, and nobody for it.
        let moved = {
            let _alone = moving.lock().unwrap_or_else(PoisonError::into_inner);
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
                Ok((row.get::<_, i64>("log")?, row.get::<_, i64>("checkpointed")?))
            })
        };
        match moved {
            Ok((pages, moved)) => tracing::debug!(pages, moved, "the journal's log is moved into the database"),
            Err(error) => {
                tracing::warn!(%error, "the journal's log can't be moved into the database; it is tried again");
            }
        }
        if !rest(requests) {
            return;
        }
    }
}

/// Waits [`PAUSE`], and says whether anybody may still ask. Requests that come meanwhile are repeated by later commits.
fn rest(requests: &Receiver<()>) -> bool {
    let until = Instant::now() + PAUSE;
    loop {
        match requests.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}
