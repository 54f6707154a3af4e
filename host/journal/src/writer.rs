//! The writing thread. It owns the only connection that writes the journal, and commits in groups: whatever waits when
//! it comes back from a commit goes into the next one together.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use homeagent_settings::{Database, DatabaseError};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use crate::checkpoint::Checkpointer;
use crate::error::JournalError;
use crate::event::Seq;
use crate::meters::Meters;

/// How many jobs may wait; then callers wait for their turn to queue.
const QUEUE: usize = 1024;

/// How many jobs share a commit at most, so that the first of them does not wait without end.
const LARGEST_GROUP: usize = 512;

const STATEMENTS_KEPT: usize = 64;

/// Why a job failed: by its own judgement, or SQLite's.
#[derive(Debug)]
pub(crate) enum Failure {
    Journal(JournalError),
    Sqlite(rusqlite::Error),
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The sending side of the thread. The thread ends when the last clone is dropped, after what was queued.
#[derive(Clone)]
pub(crate) struct Writer {
    database: Database,
    queue: mpsc::Sender<Command>,
    /// The place of the last event on the disk.
    tip: watch::Receiver<Seq>,
}

enum Command {
    Write(Box<dyn Job>),
    /// Work that can't be done in a transaction. What was queued before it is on the disk.
    Alone(Box<dyn FnOnce(&Connection) + Send>),
    /// Answered when everything queued before is on the disk and the file is tidy.
    Close(oneshot::Sender<()>),
}

/// A piece of work in a group. It may be run a second time, in a transaction of its own.
trait Job: Send {
    /// Does the work inside the open transaction; an error is a storage error that others may care about.
    fn run(&mut self, connection: &Connection) -> Result<(), DatabaseError>;
    /// Tells the caller. Called once, when the group's fate is known.
    fn answer(self: Box<Self>, group: Result<(), DatabaseError>);
}

struct Work<T, F> {
    doing: &'static str,
    database: Database,
    work: F,
    outcome: Option<Result<T, JournalError>>,
    /// The other end is gone when the caller stopped waiting; the work is done all the same.
    caller: oneshot::Sender<Result<T, JournalError>>,
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: Fn(&Connection) -> Result<T, Failure> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), DatabaseError> {
        let (outcome, storage) = match in_savepoint(connection, &self.work) {
            Ok(value) => (Ok(value), Ok(())),
            Err(Failure::Journal(error)) => (Err(error), Ok(())),
            Err(Failure::Sqlite(source)) => {
                let error = self.database.error(self.doing, source);
                (Err(error.clone().into()), Err(error))
            }
        };
        self.outcome = Some(outcome);
        storage
    }

    fn answer(self: Box<Self>, group: Result<(), DatabaseError>) {
        let answer = match (group, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Err(_), Some(Err(own))) => Err(own),
            (Err(error), _) => Err(error.into()),
            (Ok(()), None) => Err(JournalError::Closed),
        };
        let _ = self.caller.send(answer);
    }
}

/// A job that fails takes back what it wrote, and nothing of the others.
fn in_savepoint<T>(connection: &Connection, work: impl Fn(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
    let step = |sql| connection.prepare_cached(sql)?.execute([]);
    step("SAVEPOINT job")?;
    match work(connection) {
        Ok(value) => {
            step("RELEASE job")?;
            Ok(value)
        }
        Err(failure) => {
            // On a full disk SQLite has rolled everything back by itself, and there is no savepoint to go back to.
            if !connection.is_autocommit() {
                step("ROLLBACK TO job")?;
                step("RELEASE job")?;
            }
            Err(failure)
        }
    }
}

impl Writer {
    pub(crate) fn start(database: &Database) -> Result<Self, JournalError> {
        let mut connection = database.writer()?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        let (queue, commands) = mpsc::channel(QUEUE);
        let thread_database = database.clone();
        let last = last_seq(&connection).map_err(|source| database.error("reading the journal", source))?;
        let (told, tip) = watch::channel(last);
        let checkpointer = Checkpointer::start(database, &mut connection)?;
        std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || run(connection, &thread_database, commands, &told, checkpointer))
            .map_err(|source| JournalError::Thread { source })?;
        Ok(Self { database: database.clone(), queue, tip })
    }

    /// Has `work` done in a group, and answers when that is on the disk. Dropping the future does not take it back.
    pub(crate) async fn write<T, F>(&self, doing: &'static str, work: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.write_made(doing, || work).await
    }

    /// The same, with work that is made once there is a place for it: from then on it is done.
    pub(crate) async fn write_made<T, F>(
        &self,
        doing: &'static str,
        make: impl FnOnce() -> F,
    ) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let place = self.queue.reserve().await.map_err(|_| JournalError::Closed)?;
        let (caller, answer) = oneshot::channel();
        let job = Work { doing, database: self.database.clone(), work: make(), outcome: None, caller };
        place.send(Command::Write(Box::new(job)));
        answer.await.map_err(|_| JournalError::Closed)?
    }

    /// Has `work` done outside of transactions, while nothing else is written.
    pub(crate) async fn alone<T, F>(&self, doing: &'static str, work: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let database = self.database.clone();
        let work = move |connection: &Connection| {
            let outcome = work(connection).map_err(|failure| match failure {
                Failure::Journal(error) => error,
                Failure::Sqlite(source) => database.error(doing, source).into(),
            });
            let _ = caller.send(outcome);
        };
        self.queue.send(Command::Alone(Box::new(work))).await.map_err(|_| JournalError::Closed)?;
        answer.await.map_err(|_| JournalError::Closed)?
    }

    pub(crate) fn tip(&self) -> watch::Receiver<Seq> {
        self.tip.clone()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.max_capacity().saturating_sub(self.queue.capacity())
    }

    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        // Both fail only when the thread has ended already.
        if self.queue.send(Command::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }
}

fn last_seq(connection: &Connection) -> rusqlite::Result<Seq> {
    connection.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM events")?.query_row([], |row| row.get(0))
}

fn run(
    mut connection: Connection,
    database: &Database,
    mut commands: mpsc::Receiver<Command>,
    tip: &watch::Sender<Seq>,
    checkpointer: Checkpointer,
) {
    let meters = Meters::new();
    let mut closers = Vec::new();
    while let Some(first) = commands.blocking_recv() {
        let mut next = Some(first);
        let mut group: Vec<Box<dyn Job>> = Vec::new();
        let mut alone = None;
        while let Some(command) = next {
            match command {
                Command::Write(job) => group.push(job),
                Command::Alone(work) => {
                    alone = Some(work);
                    break;
                }
                // Nothing can be queued from here on; what has been is still received, then the loop ends.
                Command::Close(done) => {
                    commands.close();
                    closers.push(done);
                }
            }
            next = if group.len() < LARGEST_GROUP { commands.try_recv().ok() } else { None };
        }
        commit(&connection, database, tip, &meters, group);
        if let Some(work) = alone {
            work(&connection);
        }
    }
    checkpointer.end(&mut connection);
    // Best effort: a reader that is still at work keeps the log, which is then read at the next start.
    let tidied = connection
        .busy_timeout(std::time::Duration::ZERO)
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    if let Err(error) = tidied {
        tracing::debug!(%error, "the write-ahead log stays");
    }
    for done in closers {
        let _ = done.send(());
    }
}

/// Tells those who follow the journal how far it goes now.
fn announce(connection: &Connection, tip: &watch::Sender<Seq>, meters: &Meters) {
    match last_seq(connection) {
        Ok(last) => {
            // Places only grow, by one for each event.
            meters.events(last - *tip.borrow());
            tip.send_if_modified(|known| std::mem::replace(known, last) != last);
        }
        // They are told by the next commit.
        Err(error) => tracing::warn!(%error, "the journal's end can't be read"),
    }
}

fn commit(
    connection: &Connection,
    database: &Database,
    tip: &watch::Sender<Seq>,
    meters: &Meters,
    mut group: Vec<Box<dyn Job>>,
) {
    if group.is_empty() {
        return;
    }
    let begun = Instant::now();
    let outcome = transaction(connection, database, &mut group);
    meters.commit(outcome.is_ok(), begun.elapsed());
    if let Err(error) = &outcome {
        tracing::warn!(jobs = group.len(), %error, "journal commit failed");
        if !connection.is_autocommit() {
            // What can't be rolled back now is when the connection begins the next transaction and fails.
            let _ = connection.execute_batch("ROLLBACK");
        }
        // One job too big for what is left of the disk must not take the small ones with it.
        if matches!(error, DatabaseError::DiskFull { .. } | DatabaseError::Disk { .. }) && group.len() > 1 {
            for job in group {
                commit(connection, database, tip, meters, vec![job]);
            }
            return;
        }
    }
    // First of all: whoever knows that an event is on the disk finds it behind the tip.
    announce(connection, tip, meters);
    for job in group {
        job.answer(outcome.clone());
    }
}

fn transaction(connection: &Connection, database: &Database, group: &mut [Box<dyn Job>]) -> Result<(), DatabaseError> {
    let step = |sql| {
        let done = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|source| database.error("writing the journal", source))
    };
    step("BEGIN IMMEDIATE")?;
    for job in group.iter_mut() {
        let stored = job.run(connection);
        // SQLite rolls a whole transaction back on a full disk and the like: then all of the group have failed.
        if connection.is_autocommit() {
            return stored.and_then(|()| step("COMMIT"));
        }
    }
    step("COMMIT")
}

#[cfg(test)]
mod tests;
