//! A store and what a guest in it can reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use homeagent_types::CallError;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime::{ResourceLimiter, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::bindings::plugin::Plugin;
use crate::engine::{ComponentEngine, LARGEST_MEMORY};
use crate::processor::Processor;
use crate::services::Services;
use crate::slot::core::SlotCore;
use crate::stdio::GuestOutput;
use crate::wants::Want;

/// Bytes a guest may hand over in one host call.
pub(crate) const HANDED_OVER: usize = 8 << 20;
/// Handles a guest may hold.
const HANDLES: usize = 10_000;
/// Elements of all tables of a store.
const TABLE_ELEMENTS: usize = 100_000;

/// Where an instance stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    /// It does not serve yet: its imports that have an effect answer `not-live`.
    Starting,
    /// It serves.
    Serving,
    /// It ends its calls; another one serves.
    Draining,
}

/// [`Live`], as it is shared between whoever runs the instance and its imports.
#[derive(Clone, Default)]
pub(crate) struct Liveness(Arc<AtomicU8>);

impl Liveness {
    pub(crate) fn set(&self, live: Live) {
        self.0.store(live as u8, Ordering::Release);
    }

    fn get(&self) -> Live {
        match self.0.load(Ordering::Acquire) {
            0 => Live::Starting,
            1 => Live::Serving,
            _ => Live::Draining,
        }
    }
}

/// What the host keeps for one instance.
pub(crate) struct InstanceState {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: StoreLimits,
    pub(crate) slot: Arc<SlotCore>,
    pub(crate) services: Arc<Services>,
    live: Liveness,
}

impl InstanceState {
    /// Checks that the instance serves, or did: before that nothing it does has an effect.
    pub(crate) fn has_served(&self) -> Result<(), CallError> {
        if self.live.get() == Live::Starting { Err(CallError::NotLive) } else { Ok(()) }
    }

    /// The same, and that it has a grant.
    pub(crate) fn may(&self, capability: &str, attempt: &str) -> Result<(), CallError> {
        self.has_served()?;
        self.slot.allow(capability, attempt)
    }

    /// The same for a capability with details: what of it the plugin may use.
    pub(crate) fn granted<W: Want>(&self, attempt: &str) -> Result<W, CallError> {
        self.may(W::CAPABILITY, attempt)?;
        // What is granted may have nothing left of what makes it this capability.
        self.slot.grants.granted().ok_or_else(|| self.slot.denial(W::CAPABILITY, attempt))
    }

    /// The same, for what an instance that only ends its calls has no say in any more.
    pub(crate) fn may_while_serving(&self, capability: &str, attempt: &str) -> Result<(), CallError> {
        if self.live.get() != Live::Serving {
            return Err(CallError::NotLive);
        }
        self.slot.allow(capability, attempt)
    }
}

impl WasiView for InstanceState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Marks the state as the data of the host interfaces.
pub(crate) struct HostData;

impl HasData for HostData {
    type Data<'a> = &'a mut InstanceState;
}

/// A linker with every interface a plugin can import. Each is always there and checks at the call, so that a component
/// loads whatever it was granted.
pub(crate) fn linker(engine: &ComponentEngine) -> wasmtime::Result<Linker<InstanceState>> {
    let mut linker = Linker::new(&engine.engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    Plugin::add_to_linker::<_, HostData>(&mut linker, |state| state)?;
    Ok(linker)
}

/// A store for one instance, with its limits set.
pub(crate) fn store(
    engine: &ComponentEngine,
    slot: &Arc<SlotCore>,
    services: &Arc<Services>,
    memory: usize,
    live: &Liveness,
    processor: &Processor,
) -> Store<InstanceState> {
    let state = InstanceState {
        wasi: confined_wasi(slot),
        table: confined_table(),
        limits: StoreLimits::new(memory),
        slot: Arc::clone(slot),
        services: Arc::clone(services),
        live: live.clone(),
    };
    let mut store = Store::new(&engine.engine, state);
    confine(&mut store, |state| &mut state.limits, processor.clone());
    store
}

/// WASI as a guest's language needs it: output into the log, clocks, random numbers, nothing else.
pub(crate) fn confined_wasi(slot: &Arc<SlotCore>) -> WasiCtx {
    WasiCtxBuilder::new()
        .stdout(GuestOutput::new(Arc::clone(slot), false))
        .stderr(GuestOutput::new(Arc::clone(slot), true))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

pub(crate) fn confined_table() -> ResourceTable {
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES);
    table
}

/// Sets what wasmtime leaves open.
pub(crate) fn confine<T: 'static>(
    store: &mut Store<T>,
    limits: impl Fn(&mut T) -> &mut StoreLimits + Send + Sync + 'static,
    processor: Processor,
) {
    store.limiter(move |state| limits(state));
    store.set_hostcall_fuel(HANDED_OVER);
    store.set_max_component_handles(HANDLES);
    // What the engine keeps for calls that wait, streams and sets of what is waited for.
    if let Some(table) = store.concurrent_resource_table() {
        table.set_max_capacity(HANDLES);
    }
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| processor.tick());
}

/// Total bytes and elements of a store; wasmtime's own limits are for each memory and table.
pub(crate) struct StoreLimits {
    memory: usize,
    memory_used: usize,
    elements_used: usize,
    /// The guest wanted more than it may have; said when it traps afterwards.
    pub(crate) refused: Option<String>,
}

impl StoreLimits {
    pub(crate) fn new(memory: usize) -> Self {
        Self { memory: memory.min(LARGEST_MEMORY), memory_used: 0, elements_used: 0, refused: None }
    }
}

impl InstanceState {
    /// Why the guest was refused memory, when it was.
    pub(crate) fn take_refusal(&mut self) -> Option<String> {
        self.limits.refused.take()
    }
}

impl ResourceLimiter for StoreLimits {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory_used.saturating_sub(current).saturating_add(desired);
        if total > self.memory {
            let (most, whole) = (self.memory >> 20, total.div_ceil(1 << 20));
            self.refused = Some(if current == 0 {
                format!(
                    "it needs {whole} MiB of memory to begin with and may have {most}; core.plugin.memory_mib and \
                     memory_mib in the [limits] of its plugin.toml say so"
                )
            } else {
                format!("it wanted more than the {most} MiB of memory it may have")
            });
            return Ok(false);
        }
        self.memory_used = total;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.elements_used.saturating_sub(current).saturating_add(desired);
        if total > TABLE_ELEMENTS {
            return Ok(false);
        }
        self.elements_used = total;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::component::Component;

    use super::*;

    const LOG: &str = "homeagent:plugin/log@0.1.0";

    /// Whether a component of the contract as it is links with a host whose contract has become another.
    fn links(change: impl FnOnce(&mut Linker<InstanceState>) -> wasmtime::Result<()>) -> wasmtime::Result<()> {
        let engine = ComponentEngine::new().expect("the engine starts");
        let (_, bytes) = homeagent_test_artifacts::guest("probe");
        let component = Component::new(&engine.engine, bytes)?;
        let mut linker = linker(&engine)?;
        linker.allow_shadowing(true);
        change(&mut linker)?;
        linker.instantiate_pre(&component).map(drop)
    }

    #[test]
    fn a_component_links_with_a_host_that_offers_more_and_not_with_one_that_changed_what_it_imports() {
        links(|_| Ok(())).expect("it is of this contract");
        let more = links(|linker| {
            linker.instance(LOG)?.func_wrap("flush", |_, (): ()| Ok(()))?;
            linker.instance("homeagent:plugin/weather@0.1.0")?.func_wrap("now", |_, (): ()| Ok((String::new(),)))
        });
        more.expect("nobody has to import what is there");
        let changed =
            links(|linker| linker.instance(LOG)?.func_wrap("write", |_, (_, _, _): (u32, String, u64)| Ok(())));
        let refused = format!("{:#}", changed.expect_err("the function has a parameter more"));
        assert!(refused.contains("write"), "{refused}");
    }
}
