//! Timers that the host keeps for plugins: one task for all of them.
//!
//! What is on the disk counts; the board is its copy, in the order in which timers are due. A firing is over on the disk
//! some moments after the plugin has handled it, so whatever is lost in between comes once more; whoever must not do a
//! thing twice keeps its claim where it does it, as `errands.submit` does in the journal.

mod board;
mod creator;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use homeagent_settings::{DatabaseError, FinishedFiring, TimerError, TimerRow, TimerStore, Times};
use homeagent_types::ports::Mind;
use homeagent_types::{CallError, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::board::{Board, Due};
pub(crate) use self::creator::Creator;
use crate::bindings::timer::exports::homeagent::plugin::timer_handler::{self, Again};
use crate::host::own_cause;
use crate::host::timers::check_again;
use crate::slot::Line;
use crate::slot::core::lock;
use crate::slot::job::{Verdict, Work};

/// The clock may jump, so it is looked at as often as this.
const LOOK: Duration = Duration::from_secs(5);
/// A firing that failed so often is given up.
const ATTEMPTS: u32 = 2;
/// When a calendar is due again of which a firing was given up, in milliseconds.
const AFTER_GIVING_UP: u64 = 3_600_000;

/// What the time is, in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The timers of all plugins.
pub(crate) struct TimerKeeper {
    store: TimerStore,
    clock: Clock,
    /// Read when it is first asked for. Never held while the disk works, so that no firing waits for it.
    board: Arc<Mutex<Option<Board>>>,
    /// Held by whoever changes what is on the disk until the board has it, too.
    writing: Arc<tokio::sync::Mutex<()>>,
    /// Firings that are over on the board and not yet on the disk.
    over: Mutex<Vec<FinishedFiring>>,
    changed: Notify,
    closed: AtomicBool,
    /// Nothing is under way any more.
    ended: CancellationToken,
    /// The executor on which the disk is waited for.
    host: Handle,
}

/// What a plugin wants to be reminded of.
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) times: Times,
    pub(crate) payload: String,
    /// For whom, where not for the plugin itself.
    pub(crate) creator: Option<Creator>,
}

impl TimerKeeper {
    pub(crate) fn new(store: TimerStore, host: Handle, clock: Clock) -> Self {
        Self {
            store,
            clock,
            board: Arc::default(),
            writing: Arc::default(),
            over: Mutex::default(),
            changed: Notify::new(),
            closed: AtomicBool::new(false),
            ended: CancellationToken::new(),
            host,
        }
    }

    /// What the time is, in milliseconds since 1970.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Sets a timer for a plugin that may have `most`.
    pub(crate) async fn set(&self, plugin: &str, setting: Setting, most: u64) -> Result<TimerRow, CallError> {
        let plugin = plugin.to_owned();
        let creator = setting.creator.as_ref().map(Creator::written).transpose()?;
        let set = move |store: &TimerStore| {
            let Setting { name, times, payload, .. } = &setting;
            store.set_for(&plugin, name, *times, payload, creator.as_deref(), most).map_err(refusal)
        };
        let timer = self.write(set, |board, timer| board.put(timer.clone())).await?;
        self.wake();
        Ok(timer)
    }

    /// Puts other times and another payload into the place of a timer's; nothing where there is none.
    ///
    /// Whoever it was set for stays. `foreign`: others may have written what it is changed to.
    pub(crate) async fn change(
        &self,
        plugin: &str,
        setting: Setting,
        foreign: bool,
    ) -> Result<Option<TimerRow>, CallError> {
        let plugin = plugin.to_owned();
        let change = move |store: &TimerStore| {
            // What can't be read stays as it is: it gives nobody any rights.
            let whose = |written: String| match foreign {
                true => Creator::made_foreign(&written).unwrap_or(written),
                false => written,
            };
            store.change(&plugin, &setting.name, setting.times, &setting.payload, whose).map_err(not_stored)
        };
        let timer = self.write(change, |board, timer| timer.iter().for_each(|timer| board.put(timer.clone()))).await?;
        self.wake();
        Ok(timer)
    }

    /// Takes a plugin's timer away; says whether it was there.
    pub(crate) async fn cancel(&self, plugin: &str, name: String) -> Result<bool, CallError> {
        let (plugin, of) = (plugin.to_owned(), plugin.to_owned());
        let gone = name.clone();
        let cancel = move |store: &TimerStore| store.cancel(&plugin, &name).map_err(not_stored);
        self.write(cancel, move |board, _| board.remove(&of, &gone)).await
    }

    /// A plugin's timer.
    pub(crate) async fn get(&self, plugin: &str, name: &str) -> Result<Option<TimerRow>, CallError> {
        self.look(|board| board.get(plugin, name).cloned()).await
    }

    /// A plugin's timers, by name.
    pub(crate) async fn list(&self, plugin: &str) -> Result<Vec<TimerRow>, CallError> {
        self.look(|board| board.of(plugin)).await
    }

    /// Lets go of a plugin's timers, which are not on the disk any more.
    pub(crate) async fn forget(&self, plugin: &str) -> Result<(), CallError> {
        self.look(|board| board.forget(plugin)).await
    }

    /// Has the timers looked at: a plugin can be told now that could not, or the clock was set.
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
        self.ended.cancelled().await;
    }

    /// Fires what is due, until it is closed or `lines` - which plugins can be told of their timers - has an end. `mind`
    /// knows what those may do for whom timers were set.
    pub(crate) async fn keep(
        self: Arc<Self>,
        lines: impl Fn() -> Option<Vec<Line>>,
        mind: impl Fn() -> Result<Arc<dyn Mind>, CallError>,
    ) {
        let _ended = self.ended.clone().drop_guard();
        let mut firings = JoinSet::new();
        while !self.closed.load(Ordering::Acquire) {
            let Some(ready) = lines() else { return };
            let names: HashSet<String> = ready.iter().map(|line| line.core.grants.keeps_under()).collect();
            let now = self.now();
            let looked = self.look(|board| (board.take_due(now, &names), board.quiet(now, &names))).await;
            let (taken, quiet) = looked.unwrap_or_else(|error| {
                tracing::error!(%error, "the timers can't be read; none fires");
                (Vec::new(), None)
            });
            for due in taken {
                if let Some(line) = ready.iter().find(|line| line.core.grants.keeps_under() == due.timer.plugin) {
                    firings.spawn(Arc::clone(&self).fire(line.clone(), due, mind()));
                }
            }
            // A handle would keep a slot that is being unloaded.
            drop(ready);
            if !lock(&self.over).is_empty() {
                let keeper = Arc::clone(&self);
                firings.spawn(async move { keeper.settle().await });
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(quiet.unwrap_or(LOOK).min(LOOK)) => {}
                Some(_) = firings.join_next() => {}
            }
        }
        // What was handled is noted, so that it does not come again.
        while firings.join_next().await.is_some() {}
        self.settle().await;
    }

    /// Tells a plugin of a firing, and notes what came of it.
    async fn fire(self: Arc<Self>, line: Line, due: Due, mind: Result<Arc<dyn Mind>, CallError>) {
        let deadline = line.usual_deadline();
        let mut cause = own_cause(&line.core, milliseconds_until(deadline));
        if let Some(written) = &due.timer.creator {
            match mind.and_then(|mind| Creator::read(written).map(|creator| creator.lend(&mut cause, &*mind))) {
                Ok(()) => {}
                // The agent is not there yet, or not any more.
                Err(CallError::NotLive) => return self.postpone(&due, due.timer.attempts).await,
                Err(error) => return self.give_up(&line, &due, error).await,
            }
        }
        let firing = Box::new(told(&due));
        let verdict = Verdict::default();
        let call = line.call_judged(deadline, Arc::clone(&verdict), |reply| Work::Timer { firing, cause, reply });
        match call.await {
            Ok(Ok(again)) => self.done(&line, &due, again).await,
            Ok(Err(error)) => match CallError::from(error) {
                // It may be possible a moment later, and nothing is wrong with the plugin.
                error @ (CallError::NotLive | CallError::Busy | CallError::Timeout | CallError::Retryable) => {
                    tracing::debug!(timer = due.timer.name, %error, "a timer is told again");
                    self.postpone(&due, due.timer.attempts).await;
                }
                error => self.failed(&line, &due, error).await,
            },
            Err(error) if verdict.begun.load(Ordering::Acquire) => self.failed(&line, &due, error).await,
            Err(error) => {
                complain(&line, &due, &error);
                self.postpone(&due, due.timer.attempts).await;
            }
        }
    }

    /// A plugin has handled a firing.
    async fn done(&self, line: &Line, due: &Due, again: Option<Again>) {
        match again {
            Some(again) => match check_again(&again) {
                Ok(()) => self.finish(due, Some(again.due), again.payload).await,
                Err(error) => self.failed(line, due, error).await,
            },
            None => self.finish(due, due.next(), None).await,
        }
    }

    /// A plugin failed in a firing.
    async fn failed(&self, line: &Line, due: &Due, error: CallError) {
        let attempts = due.timer.attempts + 1;
        if attempts >= ATTEMPTS {
            let error = CallError::Other(format!("{error}; that was the attempt {attempts}, and it is given up"));
            return self.give_up(line, due, error).await;
        }
        let id = due.timer.id;
        if let Err(error) = self.write(move |store| store.failed(id).map_err(not_stored), |_, ()| ()).await {
            tracing::warn!(%error, "a start before the next attempt gives the plugin one more");
        }
        complain(line, due, &error);
        self.postpone(due, attempts).await;
    }

    async fn give_up(&self, line: &Line, due: &Due, error: CallError) {
        let next = if due.timer.calendar { Some(due.now.saturating_add(AFTER_GIVING_UP)) } else { due.next() };
        lock(&self.over).push(FinishedFiring { id: due.timer.id, next, payload: None });
        self.settle().await;
        complain(line, due, &error);
        let _ = self.look(|board| board.finish(due, next, None)).await;
    }

    /// Ends a firing on the board; the disk has it soon, together with others.
    async fn finish(&self, due: &Due, next: Option<Timestamp>, payload: Option<String>) {
        lock(&self.over).push(FinishedFiring { id: due.timer.id, next, payload: payload.clone() });
        // The board has been read: this timer came from it.
        let _ = self.look(|board| board.finish(due, next, payload)).await;
    }

    async fn postpone(&self, due: &Due, attempts: u32) {
        let _ = self.look(|board| board.postpone(due, attempts)).await;
    }

    /// Writes down which firings are over.
    async fn settle(&self) {
        let _writing = Arc::clone(&self.writing).lock_owned().await;
        let over = std::mem::take(&mut *lock(&self.over));
        if over.is_empty() {
            return;
        }
        let store = self.store.clone();
        let written = self.host.spawn_blocking(move || store.finish(&over)).await;
        if let Ok(Err(error)) = written {
            // The next start has them again.
            tracing::error!(%error, "that timers have fired could not be written down");
        }
    }

    /// Looks at the board, or changes what the disk learns later.
    async fn look<T>(&self, work: impl FnOnce(&mut Board) -> T) -> Result<T, CallError> {
        self.read().await?;
        let mut board = lock(&self.board);
        Ok(work(board.get_or_insert_default()))
    }

    /// Reads what is on the disk, unless that was done.
    async fn read(&self) -> Result<(), CallError> {
        if lock(&self.board).is_some() {
            return Ok(());
        }
        let _writing = self.writing.lock().await;
        if lock(&self.board).is_some() {
            return Ok(());
        }
        let store = self.store.clone();
        let rows = self.host.spawn_blocking(move || store.all().map_err(not_stored)).await.map_err(broken)??;
        *lock(&self.board) = Some(Board::new(rows));
        Ok(())
    }

    /// Changes what is on the disk and then the board, also when the caller goes away.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TimerStore) -> Result<T, CallError> + Send + 'static,
        show: impl FnOnce(&mut Board, &T) + Send + 'static,
    ) -> Result<T, CallError> {
        self.read().await?;
        let writing = Arc::clone(&self.writing).lock_owned().await;
        let (store, board) = (self.store.clone(), Arc::clone(&self.board));
        let done = self.host.spawn_blocking(move || {
            let _writing = writing;
            let written = work(&store)?;
            show(lock(&board).get_or_insert_default(), &written);
            Ok(written)
        });
        done.await.map_err(broken)?
    }
}

/// Tells the owner that a timer was not handled.
fn complain(line: &Line, due: &Due, error: &CallError) {
    let name = &due.timer.name;
    tracing::warn!(plugin = due.timer.plugin, timer = name, %error, "a timer was not handled");
    line.core.note_error(format!("the timer {name} was not handled: {error}"));
}

fn told(due: &Due) -> timer_handler::Firing {
    timer_handler::Firing {
        id: due.id(),
        name: due.timer.name.clone(),
        due: due.timer.due,
        payload: due.timer.payload.clone(),
        missed: due.missed,
        meta: vec![("now".to_owned(), due.now.to_string())],
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

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn broken(lost: tokio::task::JoinError) -> CallError {
    CallError::Other(format!("the work broke off: {lost}"))
}
