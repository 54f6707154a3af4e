//! One instance in its slot, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use wasmtime::component::Accessor;
use wasmtime::{AsContextMut, Store};

use super::core::{Running, SlotCore, lock};
use super::exports::Exports;
use super::job::{Job, Workplace, describe_trap, guest_connection};
use super::orders::{Order, Orders, SaveTask};
use crate::engine::ComponentEngine;
use crate::instance::{self, InstanceState, Live, Liveness};
use crate::manifest::Manifest;
use crate::package::{Prepared, one_line};
use crate::processor::Processor;
use crate::services::Services;

/// How long `stop` may take.
const STOP: Duration = Duration::from_secs(1);
/// Longer than any instance lives.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

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

impl Seat {
    /// How long an instance may take for each of its first steps: `describe`, `start` with `self-check`, `activated`.
    fn patience(&self) -> Duration {
        self.services.milliseconds("core.plugin.start_timeout_ms", 10_000)
    }

    /// The account of an instance of this package.
    fn processor(&self, manifest: &Manifest) -> Processor {
        Processor::new(&self.engine.lane, self.services.budget(manifest))
    }
}

/// Why a generation ended.
#[derive(Clone, Debug)]
pub(crate) enum Exit {
    /// It was asked to.
    Retired,
    /// It trapped, or it was killed, for this reason.
    Failed(String),
}

impl Exit {
    /// Why, in words.
    pub(crate) fn reason(&self) -> String {
        match self {
            Exit::Retired => "it ended by itself".to_owned(),
            Exit::Failed(reason) => reason.clone(),
        }
    }
}

/// A running instance. Dropping the handle ends it.
pub(crate) struct Generation {
    pub(crate) number: u64,
    orders: Orders,
    retire: CancellationToken,
    exit: oneshot::Receiver<Exit>,
    /// Its exit, once that has been seen.
    over: Option<Exit>,
    /// How long its first steps may take.
    patience: Duration,
    /// Ends the task, wherever the guest is.
    kill: CancellationToken,
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.kill.cancel();
    }
}

impl Generation {
    /// Starts an instance and waits until it has checked itself. It serves only when it is told to.
    pub(crate) async fn start(seat: &Seat, prepared: &Arc<Prepared>, number: u64) -> Result<Self, String> {
        let kill = CancellationToken::new();
        let retire = CancellationToken::new();
        let (ready_tx, ready) = oneshot::channel();
        let (orders, orders_rx) = Orders::channel();
        let (exit_tx, exit) = oneshot::channel();
        let patience = seat.patience();
        let processor = seat.processor(&prepared.package.manifest);
        let life = Life {
            seat: seat.clone(),
            prepared: Arc::clone(prepared),
            number,
            memory: seat.services.memory(&prepared.package.manifest),
            processor: processor.clone(),
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
                exit = processor.meter(life.run(ready_tx, orders_rx)) => exit,
            };
            core.is_over(number);
            drop(exit_tx.send(exit));
        });
        let mut generation = Self { number, orders, retire, exit, over: None, patience, kill };
        match tokio::time::timeout(patience, ready).await {
            Ok(Ok(Ok(()))) => Ok(generation),
            Ok(Ok(Err(reason))) => Err(reason),
            Ok(Err(_)) => Err(generation.ended().await.reason()),
            Err(_) => Err(format!("start took longer than {patience:?}")),
        }
    }

    /// Lets it serve; returns when it is active. On failure it is ended, and the reason told.
    pub(crate) async fn serve(&mut self) -> Result<(), String> {
        let orders = self.orders();
        match tokio::time::timeout(self.patience, orders.serve()).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(self.ended().await.reason()),
            Err(_) => {
                self.kill.cancel();
                self.ended().await;
                Err(format!("activated took longer than {:?}", self.patience))
            }
        }
    }

    /// The way to tell it what to do.
    pub(crate) fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Takes no more jobs, ends those it has, stops.
    pub(crate) fn retire(&self) {
        self.retire.cancel();
    }

    /// Waits for its end. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> Exit {
        if let Some(exit) = &self.over {
            return exit.clone();
        }
        let exit = (&mut self.exit).await.unwrap_or_else(|_| Exit::Failed("its task was lost".into()));
        self.over.insert(exit).clone()
    }
}

/// What runs on the guests' executor.
struct Life {
    seat: Seat,
    prepared: Arc<Prepared>,
    number: u64,
    /// What the instance may have, in bytes.
    memory: usize,
    /// What it uses of a processor.
    processor: Processor,
    retire: CancellationToken,
    live: Liveness,
}

impl Life {
    async fn run(self, ready: oneshot::Sender<Result<(), String>>, mut orders: mpsc::UnboundedReceiver<Order>) -> Exit {
        let Seat { engine, core, services, .. } = &self.seat;
        core.forget_last_words();
        let mut store = instance::store(engine, core, services, self.memory, &self.live, &self.processor);
        let exports = match self.instantiate(&mut store).await {
            Ok(exports) => Arc::new(exports),
            Err(error) => {
                self.seat.core.meters.trapped();
                let reason = describe_trap(&self.seat.core, "instantiation", &error, store.data_mut().take_refusal());
                drop(ready.send(Err(reason.clone())));
                return Exit::Failed(reason);
            }
        };
        let phase = Phase::default();
        let lived = store
            .run_concurrent(async |accessor| {
                if let Some(failed) = self.start(accessor, &exports, ready, &phase).await? {
                    return Ok(failed);
                }
                self.serve(accessor, &exports, &mut orders, &phase).await
            })
            .await;
        match lived {
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

    /// Starts the instance and has it check itself; how it ended, if it did.
    async fn start(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Exports,
        ready: oneshot::Sender<Result<(), String>>,
        phase: &Phase,
    ) -> wasmtime::Result<Option<Exit>> {
        let lifecycle = &exports.lifecycle;
        phase.set("lifecycle.start");
        let mut started = lifecycle.call_start(accessor, self.number > 1).await?.map_err(|error| ("start", error));
        if started.is_ok() {
            phase.set("lifecycle.self-check");
            started = lifecycle.call_self_check(accessor).await?.map_err(|error| ("self-check", error));
        }
        phase.clear();
        let started = started.map_err(|(step, error)| format!("{step}: {}", homeagent_types::CallError::from(error)));
        let failed = started.clone().err();
        drop(ready.send(started));
        Ok(failed.map(Exit::Failed))
    }

    async fn serve(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Arc<Exports>,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        phase: &Phase,
    ) -> wasmtime::Result<Exit> {
        let core = &self.seat.core;
        // None while another instance has the queue.
        let mut jobs = None;
        loop {
            let order = tokio::select! {
                biased;
                () = self.retire.cancelled() => break,
                order = orders.recv() => order,
                Some(job) = next(&mut jobs) => {
                    // As many jobs run as may wait; beyond that the queue fills, and its senders learn it.
                    core.room(self.number, self.seat.jobs_at_once).await;
                    if let Some(task) = self.workplace(exports).admit(job) {
                        accessor.spawn(task)?;
                    }
                    continue;
                }
            };
            self.processor.top_up();
            // An answer that nobody waits for any more is nobody's loss.
            match order {
                Some(Order::Load(state, reply)) => {
                    drop(reply.send(self.load(accessor, exports, state, phase).await?));
                }
                Some(Order::Serve(reply)) => {
                    jobs = Some(self.take_over(accessor, exports, phase).await?);
                    let _ = reply.send(());
                }
                Some(Order::Pause(reply)) => {
                    jobs = None;
                    self.live.set(Live::Draining);
                    let _ = reply.send(());
                }
                Some(Order::Save(reply)) => self.save(accessor, exports, reply)?,
                Some(Order::Resume(reply)) => {
                    jobs = Some(Arc::clone(&self.seat.jobs).lock_owned().await);
                    self.live.set(Live::Serving);
                    phase.set("socket-handler.on-open");
                    self.resume_connections(accessor, exports).await?;
                    phase.clear();
                    let _ = reply.send(());
                }
                None => break,
            }
        }
        self.live.set(Live::Draining);
        drop(jobs);
        core.idle(self.number).await;
        self.processor.top_up();
        phase.set("lifecycle.stop");
        // A guest that does not end by itself is dropped all the same.
        drop(tokio::time::timeout(STOP, exports.lifecycle.call_stop(accessor)).await);
        Ok(Exit::Retired)
    }

    /// The first steps of an instance that serves from now on.
    async fn take_over(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Exports,
        phase: &Phase,
    ) -> wasmtime::Result<Queue> {
        let core = &self.seat.core;
        let jobs = Arc::clone(&self.seat.jobs).lock_owned().await;
        self.live.set(Live::Serving);
        // From here on nobody waits for this instance in particular, so its first steps are watched like a call.
        let _first_steps = core.begin(core.next_job(), self.first_steps());
        phase.set("lifecycle.activated");
        exports.lifecycle.call_activated(accessor).await?;
        phase.set("socket-handler.on-open");
        self.resume_connections(accessor, exports).await?;
        phase.clear();
        Ok(jobs)
    }

    async fn load(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Exports,
        state: Vec<u8>,
        phase: &Phase,
    ) -> wasmtime::Result<Result<(), String>> {
        let Some(snapshot) = &exports.snapshot else { return Ok(Err("it takes over no state".to_owned())) };
        phase.set("snapshot.load");
        let loaded = snapshot.call_load(accessor, state).await?;
        phase.clear();
        Ok(loaded.map_err(|error| homeagent_types::CallError::from(error).to_string()))
    }

    /// Begins to save, beside whatever else the instance does.
    fn save(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Arc<Exports>,
        reply: oneshot::Sender<Vec<u8>>,
    ) -> wasmtime::Result<()> {
        let job = self.seat.core.next_job();
        let guard = self.seat.core.begin(job, self.step("snapshot.save"));
        // The state may fill the instance's memory; whether it is too large is seen when it is there, since an engine that
        // refuses to hand it over ends the instance.
        accessor.with(|mut access| access.as_context_mut().set_hostcall_fuel(self.memory.max(instance::HANDED_OVER)));
        let exports = Arc::clone(exports);
        accessor.spawn(SaveTask { core: Arc::clone(&self.seat.core), job, exports, reply, guard })?;
        Ok(())
    }

    fn first_steps(&self) -> Running {
        let deadline = std::time::Instant::now() + self.seat.patience();
        Running { deadline, kill_at: deadline, ..self.step("lifecycle.activated") }
    }

    /// A step of the instance's own life, for which somebody waits who keeps the time.
    fn step(&self, export: &'static str) -> Running {
        Running {
            generation: self.number,
            export,
            deadline: std::time::Instant::now() + NEVER,
            kill_at: std::time::Instant::now() + NEVER,
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

    fn workplace(&self, exports: &Arc<Exports>) -> Workplace {
        workplace(&self.seat.core, &self.seat.services, exports, self.number, &self.processor)
    }
}

/// The terms on which an instance runs calls, as the settings are now.
pub(crate) fn workplace(
    slot: &Arc<SlotCore>,
    services: &Services,
    exports: &Arc<Exports>,
    generation: u64,
    processor: &Processor,
) -> Workplace {
    let most = services.number("core.plugin.output_bytes", 1 << 20);
    Workplace {
        slot: Arc::clone(slot),
        exports: Arc::clone(exports),
        generation,
        processor: processor.clone(),
        grace: services.milliseconds("core.plugin.grace_ms", 2_000),
        largest_output: usize::try_from(most).unwrap_or(usize::MAX),
    }
}

/// The slot's queue, in the hands of the instance that serves.
type Queue = OwnedMutexGuard<mpsc::Receiver<Job>>;

/// The next job; waits for ever while another instance has the queue. Cancel-safe.
async fn next(jobs: &mut Option<Queue>) -> Option<Job> {
    match jobs {
        Some(jobs) => jobs.recv().await,
        None => std::future::pending().await,
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
    let (memory, patience) = (seat.services.memory(manifest), seat.patience());
    let processor = seat.processor(manifest);
    let account = processor.clone();
    let asked = processor.meter(async move {
        let live = Liveness::default();
        let mut store = instance::store(&seat.engine, &seat.core, &seat.services, memory, &live, &account);
        let instance = pre.instantiate_async(&mut store).await;
        let refusal = store.data_mut().take_refusal();
        let instance = instance.map_err(|trap| describe_trap(&seat.core, "instantiation", &trap, refusal))?;
        let exports = indices.load(&mut store, &instance).map_err(|error| one_line(&error))?;
        let described = exports.lifecycle.call_describe(&mut store).await;
        let refusal = store.data_mut().take_refusal();
        let given = described.map_err(|trap| describe_trap(&seat.core, "lifecycle.describe", &trap, refusal))?;
        let descriptor = crate::convert::checked_descriptor(&seat.core.name, given)?;
        match indices.missing_for(&descriptor) {
            Some(words) => Err(format!("it {words}")),
            None => Ok(descriptor),
        }
    });
    // Dropped with the time-out, and the instance with it.
    let task = tokio_util::task::AbortOnDropHandle::new(guests.spawn(asked));
    match tokio::time::timeout(patience, task).await {
        Ok(Ok(descriptor)) => descriptor,
        Ok(Err(lost)) => Err(format!("describe was lost: {lost}")),
        Err(_) => Err(format!("describe took longer than {patience:?}")),
    }
}
