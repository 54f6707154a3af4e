//! One instance in its slot, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use wasmtime::component::Accessor;
use wasmtime::{AsContextMut, Store};

use super::core::{Running, SlotCore, lock};
use super::exports::Exports;
use super::job::{Job, JobTask, describe_trap, guest_connection};
use crate::engine::ComponentEngine;
use crate::instance::{self, InstanceState, Live, Liveness};
use crate::manifest::Manifest;
use crate::package::{Prepared, one_line};
use crate::services::Services;

/// How long `start` and `self-check` may take together.
const START: Duration = Duration::from_secs(10);
/// How long `stop` may take.
const STOP: Duration = Duration::from_secs(1);

/// What every generation of a slot is made with.
#[derive(Clone)]
pub(crate) struct Seat {
    pub(crate) engine: ComponentEngine,
    pub(crate) services: Arc<Services>,
    pub(crate) core: Arc<SlotCore>,
    /// The slot's queue. Whichever generation serves holds the lock; the next waits for it.
    pub(crate) jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    /// The executor that guests run on.
    pub(crate) guests: Handle,
    /// Jobs that one instance may have under way.
    pub(crate) jobs_at_once: usize,
}

/// Why a generation ended.
#[derive(Debug)]
pub(crate) enum Exit {
    /// It was asked to.
    Retired,
    /// It trapped, or it was killed, for this reason.
    Failed(String),
}

/// A running instance. Dropping the handle ends it.
pub(crate) struct Generation {
    pub(crate) number: u64,
    go: Option<oneshot::Sender<()>>,
    retire: CancellationToken,
    exit: oneshot::Receiver<Exit>,
    /// Dropped last: it ends the task.
    _kill: tokio_util::sync::DropGuard,
}

impl Generation {
    /// Starts an instance and waits until it has checked itself. It serves only after [`Generation::go`].
    pub(crate) async fn start(seat: &Seat, prepared: &Arc<Prepared>, number: u64) -> Result<Self, String> {
        let kill = CancellationToken::new();
        let retire = CancellationToken::new();
        let (ready_tx, ready) = oneshot::channel();
        let (go, go_rx) = oneshot::channel();
        let (exit_tx, exit) = oneshot::channel();
        let life = Life {
            seat: seat.clone(),
            prepared: Arc::clone(prepared),
            number,
            retire: retire.clone(),
            live: Liveness::default(),
        };
        seat.core.may_be_killed(number, kill.clone());
        let core = Arc::clone(&seat.core);
        let killed = kill.clone();
        seat.guests.spawn(async move {
            let exit = tokio::select! {
                biased;
                // The store is dropped with the other branch, wherever the guest is: a guest that computes gives way at
                // each tick of the epoch, and this branch is looked at first.
                () = killed.cancelled() => {
                    Exit::Failed(core.kill_reason(number).unwrap_or_else(|| "it was dropped".into()))
                }
                exit = life.run(ready_tx, go_rx) => exit,
            };
            core.is_over(number);
            drop(exit_tx.send(exit));
        });
        let generation = Self { number, go: Some(go), retire, exit, _kill: kill.drop_guard() };
        match tokio::time::timeout(START, ready).await {
            Ok(Ok(Ok(()))) => Ok(generation),
            Ok(Ok(Err(reason))) => Err(reason),
            Ok(Err(_)) => match generation.exit.await {
                Ok(Exit::Failed(reason)) => Err(reason),
                _ => Err("it ended before it had started".into()),
            },
            Err(_) => Err(format!("start took longer than {} s", START.as_secs())),
        }
    }

    /// Lets it serve.
    pub(crate) fn go(&mut self) {
        if let Some(go) = self.go.take() {
            // Should it have failed meanwhile, its exit says so.
            let _ = go.send(());
        }
    }

    /// Takes no more jobs, ends those it has, stops.
    pub(crate) fn retire(&self) {
        self.retire.cancel();
    }

    /// Waits for its end. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> Exit {
        (&mut self.exit).await.unwrap_or_else(|_| Exit::Failed("its task was lost".into()))
    }
}

/// What runs on the guests' executor.
struct Life {
    seat: Seat,
    prepared: Arc<Prepared>,
    number: u64,
    retire: CancellationToken,
    live: Liveness,
}

impl Life {
    async fn run(self, ready: oneshot::Sender<Result<(), String>>, go: oneshot::Receiver<()>) -> Exit {
        let memory = self.seat.services.memory(&self.prepared.package.manifest);
        let mut store = instance::store(&self.seat.engine, &self.seat.core, &self.seat.services, memory, &self.live);
        let exports = match self.instantiate(&mut store).await {
            Ok(exports) => Arc::new(exports),
            Err(error) => {
                self.seat.core.meters.trapped();
                let reason = describe_trap(&self.seat.core, "instantiation", &error, None);
                drop(ready.send(Err(reason.clone())));
                return Exit::Failed(reason);
            }
        };
        let phase = Phase::default();
        let served =
            store.run_concurrent(async |accessor| self.serve(accessor, &exports, ready, go, &phase).await).await;
        match served {
            Ok(Ok(exit)) => exit,
            Ok(Err(trap)) | Err(trap) => Exit::Failed(self.account_for(&trap, &mut store, &phase)),
        }
    }

    /// One sentence about the trap that ended the instance. The call it happened in is told it, too: the calls in flight
    /// are lost with the store, which is still there.
    fn account_for(&self, trap: &wasmtime::Error, store: &mut Store<InstanceState>, phase: &Phase) -> String {
        let core = &self.seat.core;
        core.meters.trapped();
        let refusal = store.data_mut().take_refusal();
        if let Some(export) = phase.get() {
            return describe_trap(core, export, trap, refusal);
        }
        let stack = store.as_context_mut().async_call_stack().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
        core.blame(self.number, &stack, |export| describe_trap(core, export, trap, refusal))
    }

    async fn instantiate(&self, store: &mut Store<InstanceState>) -> wasmtime::Result<Exports> {
        let instance = self.prepared.pre.instantiate_async(&mut *store).await?;
        self.prepared.indices.load(store, &instance)
    }

    async fn serve(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Arc<Exports>,
        ready: oneshot::Sender<Result<(), String>>,
        go: oneshot::Receiver<()>,
        phase: &Phase,
    ) -> wasmtime::Result<Exit> {
        let lifecycle = &exports.lifecycle;
        let core = &self.seat.core;
        phase.set("lifecycle.start");
        let mut started = lifecycle.call_start(accessor, self.number > 1).await?.map_err(|error| ("start", error));
        if started.is_ok() {
            phase.set("lifecycle.self-check");
            started = lifecycle.call_self_check(accessor).await?.map_err(|error| ("self-check", error));
        }
        let started = started.map_err(|(step, error)| format!("{step}: {}", homeagent_types::CallError::from(error)));
        let failed = started.clone().err();
        drop(ready.send(started));
        if let Some(reason) = failed {
            return Ok(Exit::Failed(reason));
        }
        if go.await.is_err() {
            return Ok(Exit::Retired);
        }
        let mut jobs = self.seat.jobs.lock().await;
        self.live.set(Live::Serving);
        // From here on nobody waits for this instance in particular, so its first steps are watched like a call.
        let first_steps = core.begin(core.next_job(), self.first_steps());
        phase.set("lifecycle.activated");
        lifecycle.call_activated(accessor).await?;
        phase.set("socket-handler.on-open");
        self.resume_connections(accessor, exports).await?;
        phase.clear();
        drop(first_steps);
        loop {
            let job = tokio::select! {
                biased;
                () = self.retire.cancelled() => break,
                job = jobs.recv() => job,
            };
            let Some(job) = job else { break };
            // As many jobs run as may wait; beyond that the queue fills, and its senders learn it.
            core.room(self.number, self.seat.jobs_at_once).await;
            accessor.spawn(self.task(job, exports))?;
        }
        self.live.set(Live::Draining);
        drop(jobs);
        core.idle(self.number).await;
        phase.set("lifecycle.stop");
        // A guest that does not end by itself is dropped all the same.
        drop(tokio::time::timeout(STOP, lifecycle.call_stop(accessor)).await);
        Ok(Exit::Retired)
    }

    fn first_steps(&self) -> Running {
        Running {
            generation: self.number,
            export: "lifecycle.activated",
            kill_at: std::time::Instant::now() + START,
            cause: None,
            task: None,
            verdict: super::job::Verdict::default(),
        }
    }

    /// Tells the instance of the connections that were open before it.
    async fn resume_connections(&self, accessor: &Accessor<InstanceState>, exports: &Exports) -> wasmtime::Result<()> {
        let Some(handler) = &exports.sockets else { return Ok(()) };
        for id in self.seat.core.sockets.ids() {
            if let Some(about) = self.seat.core.sockets.tell(id, self.number) {
                handler.call_on_open(accessor, guest_connection(about)).await?;
            }
        }
        Ok(())
    }

    fn task(&self, job: Job, exports: &Arc<Exports>) -> JobTask {
        let services = &self.seat.services;
        let most = services.number("core.plugin.output_bytes", 1 << 20);
        JobTask {
            job,
            slot: Arc::clone(&self.seat.core),
            exports: Arc::clone(exports),
            generation: self.number,
            grace: services.milliseconds("core.plugin.grace_ms", 2_000),
            largest_output: usize::try_from(most).unwrap_or(usize::MAX),
        }
    }
}

/// The export of the lifecycle that runs, while one does; afterwards the jobs say for themselves what runs.
#[derive(Default)]
struct Phase(std::sync::Mutex<Option<&'static str>>);

impl Phase {
    fn set(&self, export: &'static str) {
        *lock(&self.0) = Some(export);
    }

    fn clear(&self) {
        *lock(&self.0) = None;
    }

    fn get(&self) -> Option<&'static str> {
        *lock(&self.0)
    }
}

/// Asks a component for its descriptor, on an instance of its own that is dropped afterwards.
pub(crate) async fn describe(
    seat: &Seat,
    manifest: &Manifest,
    pre: &wasmtime::component::InstancePre<InstanceState>,
    indices: &super::exports::ExportIndices,
) -> Result<homeagent_types::Descriptor, String> {
    let seat = seat.clone();
    let (pre, indices) = (pre.clone(), indices.clone());
    let guests = seat.guests.clone();
    let memory = seat.services.memory(manifest);
    let asked = async move {
        let live = Liveness::default();
        let mut store = instance::store(&seat.engine, &seat.core, &seat.services, memory, &live);
        let instance = pre.instantiate_async(&mut store).await.map_err(|error| one_line(&error))?;
        let exports = indices.load(&mut store, &instance).map_err(|error| one_line(&error))?;
        let described = exports.lifecycle.call_describe(&mut store).await;
        let given = described.map_err(|trap| describe_trap(&seat.core, "lifecycle.describe", &trap, None))?;
        let descriptor = crate::convert::checked_descriptor(&seat.core.name, given)?;
        match indices.missing_for(&descriptor) {
            Some(words) => Err(format!("it {words}")),
            None => Ok(descriptor),
        }
    };
    // Dropped with the time-out, and the instance with it.
    let task = tokio_util::task::AbortOnDropHandle::new(guests.spawn(asked));
    match tokio::time::timeout(START, task).await {
        Ok(Ok(descriptor)) => descriptor,
        Ok(Err(lost)) => Err(format!("describe was lost: {lost}")),
        Err(_) => Err(format!("describe took longer than {} s", START.as_secs())),
    }
}
