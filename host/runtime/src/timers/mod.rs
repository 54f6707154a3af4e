//! Timers that the host keeps for plugins: one task for all of them.
//!
//! What is on the disk counts; the board is its copy, in the order in which timers are due. A firing is noted on the disk
//! before the plugin is told of it and when the plugin has handled it, so whatever is lost in between comes once more.

mod board;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use homeagent_settings::{DatabaseError, TimerError, TimerRow, TimerStore};
use homeagent_types::{CallError, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::board::{Board, Due};
use crate::bindings::timer::exports::homeagent::plugin::timer_handler;
use crate::host::own_cause;
use crate::slot::Line;
use crate::slot::job::{Verdict, Work};

/// The clock may jump, so it is looked at as often as this.
const LOOK: Duration = Duration::from_secs(5);
/// A firing that was begun so often is not begun again.
const ATTEMPTS: u32 = 2;

/// The timers of all plugins.
pub(crate) struct TimerKeeper {
    store: TimerStore,
    /// Read when it is first asked for. Held while the disk works, by whoever changes it; they take turns.
    board: Arc<Mutex<Option<Board>>>,
    changed: Notify,
    closed: AtomicBool,
    /// Nothing is under way any more.
    over: CancellationToken,
    /// The executor on which the disk is waited for.
    host: Handle,
}

impl TimerKeeper {
    pub(crate) fn new(store: TimerStore, host: Handle) -> Self {
        Self {
            store,
            board: Arc::default(),
            changed: Notify::new(),
            closed: AtomicBool::new(false),
            over: CancellationToken::new(),
            host,
        }
    }

    /// Sets a timer for a plugin that may have `most`.
    pub(crate) async fn set(
        &self,
        plugin: &str,
        name: String,
        when: (Timestamp, Option<u64>),
        payload: String,
        most: u64,
    ) -> Result<TimerRow, CallError> {
        let plugin = plugin.to_owned();
        let set = self.with(move |board, store| {
            let timer = store.set(&plugin, &name, when, &payload, most).map_err(refusal)?;
            board.put(timer.clone());
            Ok(timer)
        });
        let timer = set.await?;
        self.wake();
        Ok(timer)
    }

    /// Takes a plugin's timer away; says whether it was there.
    pub(crate) async fn cancel(&self, plugin: &str, name: String) -> Result<bool, CallError> {
        let plugin = plugin.to_owned();
        let cancel = self.with(move |board, store| {
            let known = store.cancel(&plugin, &name).map_err(not_stored)?;
            board.remove(&plugin, &name);
            Ok(known)
        });
        cancel.await
    }

    /// A plugin's timers, by name.
    pub(crate) async fn list(&self, plugin: &str) -> Result<Vec<TimerRow>, CallError> {
        let plugin = plugin.to_owned();
        self.with(move |board, _| Ok(board.of(&plugin))).await
    }

    /// Lets go of a plugin's timers, which are not on the disk any more.
    pub(crate) async fn forget(&self, plugin: &str) -> Result<(), CallError> {
        let plugin = plugin.to_owned();
        let forget = self.with(move |board, _| {
            board.forget(&plugin);
            Ok(())
        });
        forget.await
    }

    /// Has the timers looked at: a plugin can be told now that could not.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Fires nothing more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake();
    }

    /// Waits, after it was closed, until what was under way is noted.
    pub(crate) async fn ended(&self) {
        self.over.cancelled().await;
    }

    /// Fires what is due, until it is closed or `lines` - which plugins can be told of their timers - has an end.
    pub(crate) async fn keep(self: Arc<Self>, lines: impl Fn() -> Option<Vec<Line>>) {
        let _over = self.over.clone().drop_guard();
        let mut firings = JoinSet::new();
        while !self.closed.load(Ordering::Acquire) {
            let Some(ready) = lines() else { return };
            let names: HashSet<String> = ready.iter().map(|line| line.core.grants.keeps_under()).collect();
            let now = homeagent_types::now();
            let looked = self.with(move |board, _| Ok((board.take_due(now, &names), board.quiet(now)))).await;
            let (taken, quiet) = looked.unwrap_or_else(|error| {
                tracing::error!(%error, "the timers can't be read; none fires");
                (Vec::new(), None)
            });
            for due in taken {
                if let Some(line) = ready.iter().find(|line| line.core.grants.keeps_under() == due.timer.plugin) {
                    firings.spawn(Arc::clone(&self).fire(line.clone(), due));
                }
            }
            // A handle would keep a slot that is being unloaded.
            drop(ready);
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(quiet.unwrap_or(LOOK).min(LOOK)) => {}
                Some(_) = firings.join_next() => {}
            }
        }
        // What was handled is noted, so that it does not come again.
        while firings.join_next().await.is_some() {}
    }

    /// Tells a plugin of a firing, and notes what came of it.
    async fn fire(self: Arc<Self>, line: Line, due: Due) {
        let (plugin, name) = (due.timer.plugin.clone(), due.timer.name.clone());
        let Err(error) = self.attempt(&line, &due).await else { return };
        tracing::warn!(plugin, timer = name, %error, "a timer was not handled");
        line.core.note_error(format!("the timer {name} was not handled: {error}"));
    }

    async fn attempt(&self, line: &Line, due: &Due) -> Result<(), CallError> {
        if due.timer.attempts >= ATTEMPTS {
            self.finish(due).await?;
            return Err(CallError::Other(format!("it was begun {ATTEMPTS} times and is given up")));
        }
        let id = due.timer.id;
        let begun = self.with(move |_, store| store.begin(id).map_err(not_stored)).await;
        match begun {
            Ok(true) => {}
            // Cancelled, or set anew, in the meantime.
            Ok(false) => return self.finish(due).await,
            Err(error) => {
                self.postpone(due, due.timer.attempts).await?;
                return Err(error);
            }
        }
        let deadline = line.usual_deadline();
        let cause = own_cause(&line.core, milliseconds_until(deadline));
        let firing = Box::new(told(due));
        let verdict = Verdict::default();
        let call = line.call_judged(deadline, Arc::clone(&verdict), |reply| Work::Timer { firing, cause, reply });
        let Err(error) = call.await else { return self.finish(due).await };
        let attempts = due.timer.attempts + 1;
        if !verdict.begun.load(Ordering::Acquire) {
            let taken_back = self.with(move |_, store| store.take_back(id).map_err(not_stored)).await;
            self.postpone(due, due.timer.attempts).await?;
            taken_back?;
        } else if attempts >= ATTEMPTS {
            self.finish(due).await?;
            return Err(CallError::Other(format!("{error}; that was the attempt {attempts}, and it is given up")));
        } else {
            self.postpone(due, attempts).await?;
        }
        Err(error)
    }

    async fn finish(&self, due: &Due) -> Result<(), CallError> {
        let due = due.clone();
        let finish = self.with(move |board, store| {
            let finished = store.finish(due.timer.id, due.next()).map_err(not_stored);
            // Where the disk did not take it, the next start does it again.
            board.finish(&due);
            finished
        });
        finish.await
    }

    async fn postpone(&self, due: &Due, attempts: u32) -> Result<(), CallError> {
        let due = due.clone();
        let postpone = self.with(move |board, _| {
            board.postpone(&due, attempts);
            Ok(())
        });
        postpone.await
    }

    /// Works with the board and the disk, where that may wait.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Board, &TimerStore) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let mut board = Arc::clone(&self.board).lock_owned().await;
        let store = self.store.clone();
        let done = self.host.spawn_blocking(move || {
            let board = match &mut *board {
                Some(board) => board,
                none => none.insert(Board::new(store.all().map_err(not_stored)?)),
            };
            work(board, &store)
        });
        done.await.unwrap_or_else(|lost| Err(CallError::Other(format!("the work broke off: {lost}"))))
    }
}

fn told(due: &Due) -> timer_handler::Firing {
    timer_handler::Firing {
        id: due.id(),
        name: due.timer.name.clone(),
        due: due.timer.due,
        payload: due.timer.payload.clone(),
        missed: due.missed,
        meta: Vec::new(),
    }
}

fn milliseconds_until(deadline: std::time::Instant) -> u64 {
    let left = deadline.saturating_duration_since(std::time::Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}

fn refusal(error: TimerError) -> CallError {
    match error {
        TimerError::Database(error) => not_stored(error),
        error => CallError::Conflict(error.to_string()),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn not_stored(error: DatabaseError) -> CallError {
    CallError::NotStored(error.to_string())
}
