//! Processor time: how much of it a guest may use in one go, and in whose turn it uses it.
//!
//! What counts is the time that the thread truly spent on an instance, the host's work for it included, so a guest pays
//! nothing for what others use of the machine. It is measured around each poll of the task that owns the store
//! ([`Processor::meter`]), and settled at each tick of the epoch while the guest computes ([`Processor::tick`]).
//!
//! A guest that computes beyond a tick goes into the *lane*, in which fewer guests compute at one time than the executor
//! has threads. So whoever computes for long holds up others of its kind, and never a short call.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::UpdateDeadline;

use crate::slot::lock;

/// Who has computed for less than this in one poll need not give way yet.
const SHORT: Duration = Duration::from_micros(2_500);

/// What a guest may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// In one go: until it takes in or ends a call that comes from somebody else.
    pub(crate) burst: Duration,
    /// The share of one processor, in percent, that comes back while it rests.
    pub(crate) refill: u32,
}

/// The places of those who compute for long, the same for all guests of an engine.
#[derive(Clone)]
pub(crate) struct Lane {
    places: Arc<Semaphore>,
    threads: usize,
}

impl Lane {
    /// A lane that leaves a processor free, on a machine that has more than one.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let places = processors.saturating_sub(1).max(1);
        Self { places: Arc::new(Semaphore::new(places)), threads: places + 2 }
    }

    /// How many threads guests need, so that there are always two outside the lane.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }
}

/// The account of one instance. Shared by whoever polls it, its store, and whoever hands it calls.
#[derive(Clone)]
pub(crate) struct Processor {
    lane: Lane,
    account: Arc<Mutex<Account>>,
}

struct Account {
    budget: Budget,
    /// Not yet paid back.
    used: Duration,
    /// When the last poll ended.
    rested: Instant,
    /// The poll that runs.
    poll: Option<Running>,
    /// The guest would compute if it had its turn.
    waits: bool,
    /// Its place in the lane. Never kept between polls.
    place: Option<OwnedSemaphorePermit>,
}

struct Running {
    /// The thread's clock, as far as it has been charged.
    charged: Duration,
    computed: Duration,
}

impl Processor {
    pub(crate) fn new(lane: &Lane, budget: Budget) -> Self {
        let account =
            Account { budget, used: Duration::ZERO, rested: Instant::now(), poll: None, waits: false, place: None };
        Self { lane: lane.clone(), account: Arc::new(Mutex::new(account)) }
    }

    /// Gives the guest its whole budget: something new is asked of it, or it has answered.
    pub(crate) fn top_up(&self) {
        let mut account = lock(&self.account);
        account.charge();
        account.used = Duration::ZERO;
    }

    /// The same work, with its polls on the account.
    pub(crate) fn meter<F: Future>(&self, work: F) -> Metered<F> {
        Metered { work: Box::pin(work), processor: self.clone() }
    }

    /// What becomes of the guest at a tick of the epoch: it goes on, gives way, or has used what it may.
    pub(crate) fn tick(&self) -> wasmtime::Result<UpdateDeadline> {
        let mut account = lock(&self.account);
        account.charge();
        let Account { budget: Budget { burst, .. }, used, .. } = *account;
        if used > burst {
            return Err(wasmtime::Error::msg(format!(
                "it used more than {} ms of processor time in one go; cpu_ms in the [limits] of its plugin.toml can ask \
                 for more, up to core.plugin.cpu_most_ms",
                burst.as_millis()
            )));
        }
        // One that computes again and again, a little less than a tick each time, belongs into the lane as well.
        let is_busy = account.place.is_none() && used > burst / 2;
        if !is_busy && account.poll.as_ref().is_some_and(|poll| poll.computed < SHORT) {
            return Ok(UpdateDeadline::Continue(1));
        }
        account.waits = true;
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(self.clone().turn())))
    }

    /// Waits for a place in the lane, behind everyone who waits already.
    async fn turn(self) {
        // Whoever drives the instance looks here whether it is to end.
        tokio::task::yield_now().await;
        let place = Arc::clone(&self.lane.places).acquire_owned().await;
        let mut account = lock(&self.account);
        account.place = place.ok();
        account.waits = false;
    }

    fn resume(&self) {
        let mut account = lock(&self.account);
        if !account.waits {
            let back = account.rested.elapsed() * account.budget.refill / 100;
            account.used = account.used.saturating_sub(back);
        }
        account.poll = Some(Running { charged: thread_time(), computed: Duration::ZERO });
    }

    fn rest(&self) {
        let mut account = lock(&self.account);
        account.charge();
        account.poll = None;
        account.place = None;
        account.rested = Instant::now();
    }
}

impl Account {
    fn charge(&mut self) {
        let Some(poll) = &mut self.poll else { return };
        let now = thread_time();
        let spent = now.saturating_sub(poll.charged);
        poll.charged = now;
        poll.computed += spent;
        self.used += spent;
    }
}

/// Work that an instance does, on its account.
pub(crate) struct Metered<F> {
    work: Pin<Box<F>>,
    processor: Processor,
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.processor.resume();
        let polled = self.work.as_mut().poll(context);
        self.processor.rest();
        polled
    }
}

/// What this thread has used of a processor.
fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    // The clock never goes below zero, and its nanoseconds stay below a second.
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), u32::try_from(now.tv_nsec).unwrap_or_default())
}
