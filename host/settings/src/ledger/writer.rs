//! The thread that writes the ledger. Whatever waits goes into one commit.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::{Call, CallState, Charge};
use crate::database::{Database, DatabaseError};

/// How many jobs share a commit at most.
const GROUP: usize = 256;
/// How many jobs wait at most for a disk that takes nothing.
const KEPT: usize = 10_000;

/// The most tokens, or billionths, of one call.
const MOST: i64 = 1 << 52;

/// What is to be written.
pub(super) enum Job {
    Reserve { id: i64, call: Box<Call>, tell: Option<oneshot::Sender<Result<(), DatabaseError>>> },
    Settle { id: i64, state: CallState, failure: String, counted: bool, charge: Charge },
    Fold { before: String },
    Flush(Sender<()>),
}

/// The thread's other end. Dropping it waits until everything is written.
pub(super) struct Writer {
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(database: &Database) -> Result<Self, DatabaseError> {
        let connection = database.writer()?;
        let doing = "opening the ledger";
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(|error| database.error(doing, error))?;
        let (queue, jobs) = channel();
        let database = database.clone();
        let work = move || write(&database, connection, &jobs);
        let started = std::thread::Builder::new().name("ledger".to_owned()).spawn(work);
        let thread = match started {
            Ok(thread) => thread,
            Err(error) => {
                // A system without room for one more thread: sums and limits still hold, in memory.
                tracing::error!(%error, "nothing is written to the ledger: its thread can't be started");
                return Ok(Self { queue: None, thread: None });
            }
        };
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) fn send(&self, job: Job) {
        if let Some(queue) = &self.queue {
            // The thread ends after the queue only.
            let _ = queue.send(job);
        }
    }

    /// Waits until all that was sent is written.
    pub(super) fn flush(&self) {
        let (tell, told) = channel();
        self.send(Job::Flush(tell));
        // An error says that nobody writes.
        let _ = told.recv();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been logged.
            let _ = thread.join();
        }
    }
}

fn write(database: &Database, mut connection: Connection, jobs: &Receiver<Job>) {
    connection.set_prepared_statement_cache_capacity(16);
    // What could not be written yet.
    let mut kept: Vec<Job> = Vec::new();
    loop {
        let first = jobs.recv();
        let ends = first.is_err();
        let mut group = std::mem::take(&mut kept);
        group.extend(first);
        group.extend(jobs.try_iter().take(GROUP - 1));
        let outcome = commit(&mut connection, &group).map_err(|source| database.error("writing the ledger", source));
        if let Err(error) = &outcome {
            tracing::error!(%error, "calls of models are not written to the ledger yet; limits hold until the daemon ends");
        }
        // By itself: where it fails, calls are written all the same.
        for job in &group {
            if let Job::Fold { before } = job
                && let Err(error) = fold(&mut connection, before)
            {
                tracing::error!(%error, "old calls of models are not added up");
            }
        }
        for job in group {
            // Whoever does not wait any more need not know.
            match job {
                Job::Reserve { id, call, tell } => {
                    if let Some(tell) = tell {
                        drop(tell.send(outcome.clone()));
                    }
                    kept.push(Job::Reserve { id, call, tell: None });
                }
                Job::Flush(tell) => drop(tell.send(())),
                settle @ Job::Settle { .. } => kept.push(settle),
                Job::Fold { .. } => {}
            }
        }
        if outcome.is_ok() {
            kept.clear();
        } else if kept.len() > KEPT {
            tracing::error!(lost = kept.len() - KEPT, "calls of models will be missing in the ledger");
            kept.truncate(KEPT);
        }
        if ends {
            return;
        }
    }
}

fn commit(connection: &mut Connection, group: &[Job]) -> rusqlite::Result<()> {
    if group.iter().all(|job| matches!(job, Job::Flush(_) | Job::Fold { .. })) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in group {
        match job {
            Job::Reserve { id, call, .. } => reserve(&transaction, *id, call)?,
            Job::Settle { id, state, failure, counted, charge } => {
                settle(&transaction, *id, state.as_str(), failure, *counted, charge)?;
            }
            Job::Flush(_) | Job::Fold { .. } => {}
        }
    }
    transaction.commit()
}

fn reserve(transaction: &Transaction<'_>, id: i64, call: &Call) -> rusqlite::Result<()> {
    let (currency, cost) = money(&call.charge);
    let none_is_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    let usage = call.charge.usage;
    transaction
        .prepare_cached(
            "INSERT INTO model_calls (id, at, day, source, model, line, run, conversation, principal, role, plugin, state,
                failure, local, counted, input, cached, written, output, currency, cost)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'reserved', '', ?12, 0, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            id,
            number(call.at),
            call.day.to_string(),
            call.source,
            call.model,
            call.line,
            none_is_empty(&call.run),
            none_is_empty(&call.conversation),
            call.principal,
            call.role.as_str(),
            none_is_empty(&call.plugin),
            call.local,
            number(usage.input),
            number(usage.cached),
            number(usage.written),
            number(usage.output),
            currency,
            cost,
        ])
        .map(drop)
}

fn settle(
    transaction: &Transaction<'_>,
    id: i64,
    state: &str,
    failure: &str,
    counted: bool,
    charge: &Charge,
) -> rusqlite::Result<()> {
    let (currency, cost) = money(charge);
    let usage = charge.usage;
    transaction
        .prepare_cached(
            "UPDATE model_calls SET state = ?2, failure = ?3, counted = ?4, input = ?5, cached = ?6, written = ?7,
                output = ?8, currency = ?9, cost = ?10 WHERE id = ?1",
        )?
        .execute(params![
            id,
            state,
            failure,
            counted,
            number(usage.input),
            number(usage.cached),
            number(usage.written),
            number(usage.output),
            currency,
            cost,
        ])
        .map(drop)
}

/// Calls of these days become sums.
fn fold(connection: &mut Connection, before: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute(
        "INSERT INTO model_days (day, source, model, line, conversation, principal, role, plugin, local, currency,
            calls, estimated, input, cached, written, output, cost)
         SELECT day, source, model, line, conversation, principal, role, plugin, local, currency,
            COUNT(*), SUM(1 - counted), SUM(input), SUM(cached), SUM(written), SUM(output), SUM(cost)
         FROM model_calls WHERE day < ?1 AND state <> 'reserved'
         GROUP BY day, source, model, line, conversation, principal, role, plugin, local, currency
         ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, estimated = estimated + excluded.estimated,
            input = input + excluded.input, cached = cached + excluded.cached, written = written + excluded.written,
            output = output + excluded.output, cost = cost + excluded.cost",
        [before],
    )?;
    transaction.execute("DELETE FROM model_calls WHERE day < ?1 AND state <> 'reserved'", [before])?;
    transaction.commit()
}

/// A call has one price, in one currency.
fn money(charge: &Charge) -> (&str, i64) {
    charge.money.first_key_value().map_or(("", 0), |(currency, nano)| (currency.as_str(), number(nano.0)))
}

/// As much as leaves room for sums of many such.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(MOST).min(MOST)
}
