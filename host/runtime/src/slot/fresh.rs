//! Tools that need no state: each call has an instance of its own, which is dropped afterwards.
//!
//! So a long computation holds up no other call of the plugin, and a trap costs nothing but the call it happened in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use homeagent_types::CallError;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};
use wasmtime::component::Accessor;
use wasmtime::{AsContextMut, Store};

use super::core::SlotCore;
use super::exports::Exports;
use super::generation::{Seat, workplace};
use super::job::{Job, Verdict, describe_trap};
use crate::engine::ComponentEngine;
use crate::instance::{self, InstanceState, Live, Liveness};
use crate::package::Prepared;
use crate::processor::Processor;
use crate::services::Services;

/// Marks the number of an instance that serves one call; generations are counted from 1 and never come so far.
const OF_ONE_CALL: u64 = 1 << 63;

/// Where such calls of a slot run.
#[derive(Clone)]
pub(crate) struct FreshInstances {
    engine: ComponentEngine,
    services: Arc<Services>,
    core: Arc<SlotCore>,
    guests: Handle,
    /// A place for each instance there may be at one time.
    places: Arc<Semaphore>,
}

impl FreshInstances {
    pub(crate) fn new(seat: &Seat) -> Self {
        let most = usize::try_from(seat.services.number("core.plugin.stateless_calls", 4)).unwrap_or(1);
        Self {
            engine: seat.engine.clone(),
            services: Arc::clone(&seat.services),
            core: Arc::clone(&seat.core),
            guests: seat.guests.clone(),
            places: Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))),
        }
    }

    /// Begins a call when there is a place for it. The instance goes with what is returned: whoever called and waits no
    /// longer leaves nothing behind.
    pub(crate) async fn begin(&self, prepared: Arc<Prepared>, job: Job) -> Result<DropGuard, CallError> {
        let place = tokio::time::timeout_at(job.deadline.into(), Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(CallError::Busy) };
        let number = OF_ONE_CALL | job.id;
        let kill = CancellationToken::new();
        self.core.may_be_killed(number, kill.clone());
        let processor = Processor::new(&self.engine.lane, self.services.budget(&prepared.package.manifest));
        let life = OneCall { place: self.clone(), prepared, number, processor: processor.clone() };
        let (core, killed) = (Arc::clone(&self.core), kill.clone());
        self.guests.spawn(async move {
            tokio::select! {
                biased;
                () = killed.cancelled() => {}
                () = processor.meter(life.run(job, place)) => {}
            }
            core.is_over(number);
        });
        Ok(kill.drop_guard())
    }
}

/// An instance from its beginning to its end.
struct OneCall {
    place: FreshInstances,
    prepared: Arc<Prepared>,
    number: u64,
    processor: Processor,
}

impl OneCall {
    async fn run(self, job: Job, _place: OwnedSemaphorePermit) {
        let FreshInstances { engine, services, core, .. } = &self.place;
        let memory = services.memory(&self.prepared.package.manifest);
        let (live, verdict) = (Liveness::default(), Arc::clone(&job.verdict));
        let mut store = instance::store(engine, core, services, memory, &live, &self.processor);
        let exports = match self.instantiate(&mut store).await {
            Ok(exports) => Arc::new(exports),
            Err(trap) => return self.blame_step("instantiation", &trap, &mut store, &verdict),
        };
        let starts = AtomicBool::new(true);
        let lived =
            store.run_concurrent(async |accessor| self.call(accessor, &exports, job, &live, &starts).await).await;
        let Err(trap) = lived.flatten() else { return };
        if starts.load(Ordering::Relaxed) {
            return self.blame_step("lifecycle.start", &trap, &mut store, &verdict);
        }
        core.meters.trapped();
        let refusal = store.data_mut().take_refusal();
        let stack = store.as_context_mut().async_call_stack().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
        core.blame(self.number, &stack, |export| describe_trap(core, export, &trap, refusal));
    }

    async fn instantiate(&self, store: &mut Store<InstanceState>) -> wasmtime::Result<Exports> {
        let instance = self.prepared.pre.instantiate_async(&mut *store).await?;
        self.prepared.indices.load(store, &instance)
    }

    async fn call(
        &self,
        accessor: &Accessor<InstanceState>,
        exports: &Arc<Exports>,
        job: Job,
        live: &Liveness,
        starts: &AtomicBool,
    ) -> wasmtime::Result<()> {
        if let Err(error) = exports.lifecycle.call_start(accessor, true).await? {
            let error = CallError::from(error);
            job.work.refuse(CallError::Other(format!("{} did not start: {error}", self.place.core.name)));
            return Ok(());
        }
        starts.store(false, Ordering::Relaxed);
        // It has a say in its own call and none in what the plugin offers, like an instance that ends its calls.
        live.set(Live::Draining);
        let workplace = workplace(&self.place.core, &self.place.services, exports, self.number, &self.processor);
        if let Some(task) = workplace.admit(job) {
            // As a task of the store's own: should the guest trap, it is still there when the call is looked for.
            accessor.spawn(task)?;
            self.place.core.idle(self.number).await;
        }
        Ok(())
    }

    /// The instance came to its end before the call.
    fn blame_step(&self, export: &str, trap: &wasmtime::Error, store: &mut Store<InstanceState>, verdict: &Verdict) {
        let core = &self.place.core;
        core.meters.trapped();
        let refusal = store.data_mut().take_refusal();
        verdict.reason.get_or_init(|| describe_trap(core, export, trap, refusal));
    }
}
