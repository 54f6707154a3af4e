//! Slots: the host's lasting seats, one for each plugin.
//!
//! A slot has a queue, registrations, connections and grants; an instance comes and goes. A task of the slot's own (its
//! supervisor) owns the instances; callers hold a [`Slot`], which is cheap to clone.

pub(crate) mod connection;
pub(crate) mod core;
pub(crate) mod dialled;
mod disk;
pub(crate) mod exports;
mod fresh;
pub(crate) mod generation;
pub(crate) mod job;
mod orders;
mod probation;
mod relay;
mod show;
pub(crate) mod sockets;
pub(crate) mod supervisor;
pub(crate) mod swap;
pub(crate) mod unix;
mod weight;

use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use homeagent_types::CallError;
use homeagent_types::ports::{CapabilityStatus, Haste, PluginStatus};
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;

pub(crate) use self::core::lock;
use self::core::{Overdue, SlotCore};
use self::fresh::FreshInstances;
use self::job::{Job, Reply, Verdict, Work};
use self::show::ShowQueue;
use self::swap::SwapError;
use self::weight::Weigh;
use crate::package::{PackageInfo, Prepared};
use crate::services::Services;

/// The most that is handed to a guest in one call, in bytes.
const HANDED_IN: usize = 4 << 20;

/// What the supervisor is asked to do.
pub(crate) enum Control {
    /// Put this in the place of what runs.
    Replace(Arc<Prepared>, Haste, oneshot::Sender<Result<(), SwapError>>),
    /// End.
    Stop(oneshot::Sender<()>),
}

/// Where the slot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Live,
    BackingOff,
    Failed,
    Unloaded,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Live => "live",
            Phase::BackingOff => "backing-off",
            Phase::Failed => "failed",
            Phase::Unloaded => "unloaded",
        }
    }
}

/// What the supervisor tells of itself.
pub(crate) struct SlotState {
    pub(crate) phase: Phase,
    pub(crate) reason: Option<String>,
    /// The code that serves, or is to.
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) summary: String,
    pub(crate) since: Instant,
    pub(crate) restarts: u64,
}

/// A handle to a slot. When the last one goes, the slot ends.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) control: mpsc::Sender<Control>,
    line: Line,
}

impl Deref for Slot {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.line
    }
}

/// The way to call what runs in a slot. Does not keep the slot.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) core: Arc<SlotCore>,
    pub(crate) state: Arc<Mutex<SlotState>>,
    services: Arc<Services>,
    jobs: mpsc::Sender<Job>,
    fresh: Arc<FreshInstances>,
    show: Arc<ShowQueue>,
}

/// A [`Line`] that keeps nothing.
#[derive(Clone)]
pub(crate) struct WeakLine {
    state: Arc<Mutex<SlotState>>,
    services: Weak<Services>,
    jobs: mpsc::WeakSender<Job>,
    fresh: Weak<FreshInstances>,
    show: Weak<ShowQueue>,
}

impl WeakLine {
    /// The way to the slot; nothing where it is gone.
    fn upgrade(&self, core: &Arc<SlotCore>) -> Option<Line> {
        Some(Line {
            core: Arc::clone(core),
            state: Arc::clone(&self.state),
            services: self.services.upgrade()?,
            jobs: self.jobs.upgrade()?,
            fresh: self.fresh.upgrade()?,
            show: self.show.upgrade()?,
        })
    }
}

/// The answer of a job; nothing when it is lost with its instance, or with the queue of a slot that has failed.
async fn answered<T>(answer: oneshot::Receiver<T>, verdict: &Verdict) -> Option<T> {
    tokio::select! {
        biased;
        answer = answer => answer.ok(),
        () = verdict.given_up.notified() => None,
    }
}

impl Line {
    fn downgrade(&self) -> WeakLine {
        WeakLine {
            state: Arc::clone(&self.state),
            services: Arc::downgrade(&self.services),
            jobs: self.jobs.downgrade(),
            fresh: Arc::downgrade(&self.fresh),
            show: Arc::downgrade(&self.show),
        }
    }

    /// Runs one job. The caller has its answer at the deadline at the latest.
    pub(crate) async fn call<T>(&self, deadline: Instant, work: impl FnOnce(Reply<T>) -> Work) -> Result<T, CallError> {
        self.call_judged(deadline, Verdict::default(), work).await
    }

    /// The same for a caller who wants to know whether an instance has begun it.
    pub(crate) async fn call_judged<T>(
        &self,
        deadline: Instant,
        verdict: Verdict,
        work: impl FnOnce(Reply<T>) -> Work,
    ) -> Result<T, CallError> {
        let queue = async |job: Job| match tokio::time::timeout_at(deadline.into(), self.jobs.send(job)).await {
            Err(_) => Err(CallError::Busy),
            Ok(Err(_)) => Err(CallError::NotFound(format!("the plugin {} has been unloaded", self.core.name))),
            Ok(Ok(())) => Ok(()),
        };
        self.exchange(deadline, verdict, work, queue).await
    }

    /// The same on an instance of its own, for a tool that needs nothing of what the plugin keeps.
    pub(crate) async fn call_afresh<T>(
        &self,
        deadline: Instant,
        work: impl FnOnce(Reply<T>) -> Work,
    ) -> Result<T, CallError> {
        let prepared = Arc::clone(&lock(&self.state).prepared);
        let hand_over = async |job| self.fresh.begin(prepared, job).await;
        self.exchange(deadline, Verdict::default(), work, hand_over).await
    }

    /// Hands a job over and waits for its answer, keeping what the handing over returned for as long.
    async fn exchange<T, K>(
        &self,
        deadline: Instant,
        verdict: Verdict,
        work: impl FnOnce(Reply<T>) -> Work,
        hand_over: impl AsyncFnOnce(Job) -> Result<K, CallError>,
    ) -> Result<T, CallError> {
        self.check()?;
        self.core.calls.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let work = work(reply);
        let (export, repeatable) = (work.export(), work.may_be_repeated());
        // Many at one time would fill the plugin's memory, and a guest that lacks memory traps.
        let weight = work.weight();
        if weight > HANDED_IN {
            let reason = format!("a call hands over at most {HANDED_IN} bytes; this one of {export} has {weight}");
            return Err(CallError::Invalid(reason));
        }
        let span = tracing::debug_span!("call", plugin = self.core.name, export);
        let job = Job { id: self.core.next_job(), deadline, work, verdict: Arc::clone(&verdict) };
        let exchange = async {
            let _kept = hand_over(job).await?;
            match tokio::time::timeout_at(deadline.into(), answered(answer, &verdict)).await {
                Err(_) => Err(CallError::Timeout),
                Ok(None) => match verdict.reason.get() {
                    Some(reason) => Err(CallError::Other(reason.clone())),
                    None if !repeatable && verdict.begun.load(Ordering::Acquire) => Err(CallError::Other(format!(
                        "the plugin {} was lost or replaced in {export}; it is not known whether it was done",
                        self.core.name
                    ))),
                    None => self.check().and(Err(CallError::Retryable)),
                },
                Ok(Some(outcome)) => outcome,
            }
        };
        let outcome = exchange.instrument(span).await;
        self.core.meters.called(outcome.as_ref().err());
        if let Err(error @ (CallError::Timeout | CallError::Other(_))) = &outcome {
            self.core.note_error(format!("{export}: {error}"));
        }
        outcome
    }

    /// How long a call may take that says nothing of its own.
    pub(crate) fn usual_deadline(&self) -> Instant {
        Instant::now() + self.services.milliseconds("core.plugin.call_timeout_ms", 30_000)
    }

    /// Queues pieces of an answer. Never waits.
    pub(crate) fn show(&self, deltas: Vec<homeagent_types::OutputDelta>) {
        self.show.push(deltas);
    }

    /// Waits until what was to be shown has been, so that a final text does not overtake its pieces.
    pub(crate) async fn shown(&self, longest: Duration) {
        self.show.empty(longest).await;
    }

    fn check(&self) -> Result<(), CallError> {
        let state = lock(&self.state);
        match state.phase {
            Phase::Failed => {
                let reason = state.reason.as_deref().unwrap_or("it could not be started again");
                Err(CallError::Other(format!("the plugin {} does not run: {reason}", self.core.name)))
            }
            Phase::Unloaded => Err(CallError::NotFound(format!("the plugin {} is not loaded", self.core.name))),
            Phase::Live | Phase::BackingOff => Ok(()),
        }
    }

    /// Ends a generation that has a job beyond its deadline and grace.
    pub(crate) fn watch(&self) {
        if let Some(Overdue { generation, export }) = self.core.overdue() {
            let reason = format!("the plugin {} did not return from {export} in time", self.core.name);
            self.core.kill(generation, reason);
        }
    }

    /// What runs in it.
    pub(crate) fn package(&self) -> PackageInfo {
        lock(&self.state).prepared.package.clone()
    }

    /// Whether it takes calls, if perhaps a little later.
    pub(crate) fn can_be_called(&self) -> bool {
        self.check().is_ok()
    }

    pub(crate) fn status(&self) -> PluginStatus {
        let capabilities = self.core.grants.status();
        let names = |fits: fn(&CapabilityStatus) -> bool| {
            capabilities.iter().filter(|it| fits(it)).map(|it| it.name.clone()).collect()
        };
        let (granted, missing) = (names(|it| it.granted.is_some()), names(CapabilityStatus::is_missing));
        let state = lock(&self.state);
        let package = &state.prepared.package;
        let serving = state.phase == Phase::Live;
        PluginStatus {
            name: self.core.name.clone(),
            version: package.manifest.version.clone(),
            summary: state.summary.clone(),
            origin: if package.bundled { "bundled" } else { "installed" }.to_owned(),
            folder: package.place(),
            state: state.phase.name().to_owned(),
            reason: state.reason.clone(),
            digest: package.digest.clone(),
            publisher: package.publisher.map(|key| key.fingerprint()),
            restarts: state.restarts,
            calls: self.core.calls.load(Ordering::Relaxed),
            waiting: self.jobs.max_capacity().saturating_sub(self.jobs.capacity()),
            last_error: self.core.last_error(),
            uptime_ms: if serving { u64::try_from(state.since.elapsed().as_millis()).unwrap_or(u64::MAX) } else { 0 },
            granted,
            missing,
            capabilities,
            tools: self.services.registrations.tools_of(&self.core.name),
            addresses: self.services.registrations.addresses_of(&self.core.name),
            sockets: self.services.registrations.sockets_of(&self.core.name),
        }
    }
}
