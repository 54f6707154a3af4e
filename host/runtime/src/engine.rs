//! The engine: one for the daemon, and the thread that advances its epoch.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::RuntimeError;
use crate::processor::Lane;

/// How often it is looked at a guest that computes: whether it gives way to others, and whether it may go on.
const TICK: Duration = Duration::from_millis(5);

/// The most memory a single instance can ever have, whatever its limits say, in bytes.
pub(crate) const LARGEST_MEMORY: usize = 1 << 30;

/// Instances that may live at one time, over all plugins.
const INSTANCES: u32 = 512;

/// The engine and the contract-wide facts about it.
#[derive(Clone)]
pub(crate) struct ComponentEngine {
    pub(crate) engine: Engine,
    /// Changes whenever compiled code of another engine would not run on this one.
    pub(crate) compatibility: Arc<str>,
    /// Where guests compute that do so for long.
    pub(crate) lane: Lane,
}

impl ComponentEngine {
    pub(crate) fn new() -> Result<Self, RuntimeError> {
        let engine = Engine::new(&configuration()).map_err(RuntimeError::Engine)?;
        let mut hash = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hash);
        let compatibility = format!("{:016x}", hash.finish()).into();
        start_ticker(engine.weak())?;
        Ok(Self { engine, compatibility, lane: Lane::new() })
    }
}

/// An engine that only compiles, for [`ComponentEngine`]: what has a say in the code is configured alike, and no room is
/// reserved for instances.
pub(crate) fn compiling() -> wasmtime::Result<Engine> {
    Engine::new(&code_configuration())
}

fn configuration() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.max_memory_size(LARGEST_MEMORY)
        .total_component_instances(INSTANCES)
        .total_core_instances(INSTANCES * 4)
        .total_memories(INSTANCES)
        .total_tables(INSTANCES * 4)
        .total_stacks(INSTANCES * 4)
        .max_core_instances_per_component(64)
        .max_memories_per_component(8)
        .max_tables_per_component(64)
        .table_elements(100_000)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .max_unused_warm_slots(8);
    let mut config = code_configuration();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// What compiled code depends on.
fn code_configuration() -> Config {
    let mut config = Config::new();
    config
        .memory_init_cow(true)
        .epoch_interruption(true)
        .max_wasm_stack(1 << 20)
        .async_stack_size(2 << 20)
        .wasm_component_model_async(true)
        .wasm_threads(false)
        .wasm_shared_everything_threads(false)
        .wasm_memory64(false)
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .gc_support(false);
    config
}

/// Advances the epoch for as long as the engine lives. A plain thread, so that no busy executor can hold it up; a weak
/// reference, so that it does not keep the engine alive.
fn start_ticker(engine: EngineWeak) -> Result<(), RuntimeError> {
    thread::Builder::new()
        .name("epoch".into())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })
        .map(drop)
        .map_err(RuntimeError::Thread)
}
