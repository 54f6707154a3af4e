//! LLM adapters: a fresh instance for each model call, with nothing to reach but WASI's clocks and random numbers. Of one
//! that is a script, an instance of its interpreter, which reads the script and can reach nothing else either.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use homeagent_types::model::{
    AdapterDescriptor, EmbeddingRequest, Embeddings, Failure, HttpRequest, HttpResponse, ModelDelta, ModelInfo,
    ModelRequest, Rehearsed, StreamEvent,
};
use homeagent_types::ports::{AdapterSession, Adapters, PluginStatus};
use homeagent_types::{CallError, Meta};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::PackageError;
use crate::bindings::adapter::{LlmAdapter, LlmAdapterPre};
use crate::cache::CodeCache;
use crate::convert;
use crate::engine::ComponentEngine;
use crate::grants::GrantTable;
use crate::instance::{self, InstanceState, Liveness};
use crate::package::{self, Content, Origin, Package, PackageInfo, one_line};
use crate::processor::Processor;
use crate::script::Interpreter;
use crate::services::Services;
use crate::slot::core::SlotCore;
use crate::slot::job::describe_trap;

/// How long one step of an adapter may take.
const STEP: Duration = Duration::from_secs(10);

/// How long the code of an adapter that comes with the daemon stays in memory after it was asked.
const AWAKE: Duration = Duration::from_secs(600);

/// The memory of an adapter's instance whose package does not ask for less, in bytes, where the settings give plugins no
/// more: it holds the pictures of a prompt several times over, as bytes, in Base64 and in the request. It is only taken
/// where there are some.
const ROOM_FOR_PICTURES: usize = 256 << 20;

/// The most that an adapter hands over in one step, in bytes: a request with pictures in it.
const HANDED_OVER: usize = 40 << 20;

/// The adapters that are loaded.
pub(crate) struct AdapterShelf {
    engine: ComponentEngine,
    linker: Linker<InstanceState>,
    services: Arc<Services>,
    guests: Handle,
    loaded: RwLock<BTreeMap<String, Arc<Loaded>>>,
}

struct Loaded {
    package: PackageInfo,
    code: Code,
    core: Arc<SlotCore>,
    descriptor: AdapterDescriptor,
}

/// The code of an adapter, compiled and linked: about a MiB of memory.
enum Code {
    /// In memory as long as the adapter is loaded.
    Held(LlmAdapterPre<InstanceState>),
    /// Of an adapter that comes with the daemon. Most homes never ask most of them, so it is in memory only while it is
    /// asked now and then, and is got anew from the code cache when it is asked again.
    Resting { origin: Origin, cache: Arc<CodeCache>, awake: Mutex<Option<Awake>> },
}

struct Awake {
    pre: LlmAdapterPre<InstanceState>,
    used: Instant,
}

impl Loaded {
    /// Lets go of the code where nobody has asked for long. Calls that run keep what they have.
    fn rest(&self) {
        if let Code::Resting { awake, .. } = &self.code
            // Whoever holds it is about to use it.
            && let Ok(mut awake) = awake.try_lock()
            && awake.as_ref().is_some_and(|awake| awake.used.elapsed() > AWAKE)
        {
            *awake = None;
        }
    }

    fn status(&self) -> PluginStatus {
        PluginStatus {
            name: self.package.manifest.name.clone(),
            version: self.package.manifest.version.clone(),
            summary: self.descriptor.summary.clone(),
            origin: if self.package.bundled { "bundled" } else { "installed" }.to_owned(),
            folder: self.package.place(),
            state: "live".to_owned(),
            reason: None,
            digest: self.package.digest.clone(),
            publisher: self.package.publisher.map(|key| key.fingerprint()),
            restarts: 0,
            calls: self.core.calls.load(std::sync::atomic::Ordering::Relaxed),
            waiting: 0,
            last_error: self.core.last_error(),
            uptime_ms: 0,
            granted: Vec::new(),
            missing: Vec::new(),
            capabilities: Vec::new(),
            tools: Vec::new(),
            addresses: Vec::new(),
            sockets: Vec::new(),
        }
    }
}

impl AdapterShelf {
    pub(crate) fn new(engine: ComponentEngine, services: Arc<Services>, guests: Handle) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine.engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        Ok(Self { engine, linker, services, guests, loaded: RwLock::default() })
    }

    /// Compiles a package - of a script, its interpreter, unless that is compiled already - and puts it in the place of the
    /// adapter of its name. Calls that run go on with the old one. `bundled`: where it can be read again at any moment,
    /// because it comes with the daemon.
    pub(crate) async fn load(
        self: &Arc<Self>,
        cache: &Arc<CodeCache>,
        package: Package,
        interpreter: Option<Arc<Interpreter>>,
        bundled: Option<Origin>,
    ) -> Result<(), PackageError> {
        let plugin = package.manifest.name.clone();
        let failed = |reason: String| PackageError::Load { plugin: plugin.clone(), reason };
        let (shelf, kept) = (Arc::clone(self), Arc::clone(cache));
        let named = plugin.clone();
        let compile = move || {
            let load = |error: wasmtime::Error| PackageError::Load { plugin: named.clone(), reason: one_line(&error) };
            let (package, linked) = match (&package.content, interpreter) {
                (Content::Component(_), _) => return link(&shelf.engine, &shelf.linker, &kept, package),
                (Content::Script(script), Some(interpreter)) => {
                    interpreter.runs_adapters(&named)?;
                    let component = interpreter.compiled(&shelf.engine, &kept)?;
                    let linker = script.link_adapter(&package.manifest, &shelf.linker, component).map_err(load)?;
                    let linked = linker.instantiate_pre(component).map_err(load)?;
                    (package.into_info(), linked)
                }
                (Content::Script(script), None) => return Err(script.no_interpreter(&named)),
            };
            let pre = LlmAdapterPre::new(linked).map_err(load)?;
            Ok((package, pre))
        };
        let (package, pre) = package::in_background(&plugin, compile).await?;
        let name = package.manifest.name.clone();
        let grants = GrantTable::new(name.clone(), self.services.grants.clone());
        let core = Arc::new(SlotCore::new(name.clone(), grants, &self.services));
        let mut session = self.session(&pre, &core, &package).await.map_err(|error| failed(error.to_string()))?;
        let descriptor = session.describe().await.map_err(|error| failed(error.to_string()))?;
        if descriptor.name != name {
            let reason = format!("plugin.toml calls it {name:?}, the component calls itself {:?}", descriptor.name);
            return Err(PackageError::Descriptor { plugin, reason });
        }
        let code = match bundled {
            Some(origin) => Code::Resting { origin, cache: Arc::clone(cache), awake: Mutex::default() },
            None => Code::Held(pre),
        };
        let loaded = Arc::new(Loaded { package, code, core, descriptor });
        self.loaded.write().unwrap_or_else(PoisonError::into_inner).insert(name, loaded);
        Ok(())
    }

    /// Lets go of code that nobody has asked for long.
    fn let_rest(&self) {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).values().for_each(|adapter| adapter.rest());
    }

    /// The code of an adapter, from the code cache where it is not in memory.
    async fn code(&self, loaded: &Loaded) -> Result<LlmAdapterPre<InstanceState>, PackageError> {
        let (origin, cache, awake) = match &loaded.code {
            Code::Held(pre) => return Ok(pre.clone()),
            Code::Resting { origin, cache, awake } => (origin, cache, awake),
        };
        let mut awake = awake.lock().await;
        if let Some(awake) = &mut *awake {
            awake.used = Instant::now();
            return Ok(awake.pre.clone());
        }
        let (engine, linker) = (self.engine.clone(), self.linker.clone());
        let (origin, cache) = (origin.clone(), Arc::clone(cache));
        let link = move || link(&engine, &linker, &cache, origin.read()?);
        let (_, pre) = package::in_background(&loaded.package.manifest.name, link).await?;
        *awake = Some(Awake { pre: pre.clone(), used: Instant::now() });
        Ok(pre)
    }

    /// Takes an adapter away; what its status is from then on, or nothing if there was none.
    pub(crate) fn unload(&self, name: &str) -> Option<PluginStatus> {
        let adapter = self.loaded.write().unwrap_or_else(PoisonError::into_inner).remove(name)?;
        Some(PluginStatus { state: "unloaded".to_owned(), ..adapter.status() })
    }

    /// What is kept of an adapter that is loaded.
    pub(crate) fn core(&self, name: &str) -> Option<Arc<SlotCore>> {
        self.find(name).map(|loaded| Arc::clone(&loaded.core))
    }

    pub(crate) fn status(&self) -> Vec<PluginStatus> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.values().map(|adapter| adapter.status()).collect()
    }

    /// The package of the adapter of this name.
    pub(crate) fn package(&self, name: &str) -> Option<PackageInfo> {
        self.find(name).map(|adapter| adapter.package.clone())
    }

    fn find(&self, name: &str) -> Option<Arc<Loaded>> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    async fn session(
        &self,
        pre: &LlmAdapterPre<InstanceState>,
        core: &Arc<SlotCore>,
        package: &PackageInfo,
    ) -> Result<Session, CallError> {
        let memory = match package.manifest.limits.memory_mib {
            Some(_) => self.services.memory(&package.manifest),
            None => self.services.memory(&package.manifest).max(ROOM_FOR_PICTURES),
        };
        let live = Liveness::default();
        let processor = Processor::new(&self.engine.lane, self.services.budget(&package.manifest));
        let mut store = instance::store(&self.engine, core, &self.services, memory, &live, &processor);
        store.set_hostcall_fuel(HANDED_OVER);
        let (pre, describing) = (pre.clone(), Arc::clone(core));
        let task = self.guests.spawn(processor.meter(async move {
            let adapter = pre.instantiate_async(&mut store).await;
            let refusal = store.data_mut().take_refusal();
            let adapter = adapter.map_err(|trap| {
                describing.meters.trapped();
                describe_trap(&describing, "instantiation", &trap, refusal)
            })?;
            Ok::<_, String>(Box::new(Live { store, adapter }))
        }));
        let live = within(task).await?.map_err(CallError::Other)?;
        Ok(Session { live: Some(live), core: Arc::clone(core), processor, guests: self.guests.clone() })
    }
}

#[async_trait]
impl Adapters for AdapterShelf {
    fn descriptor(&self, name: &str) -> Option<AdapterDescriptor> {
        self.find(name).map(|loaded| loaded.descriptor.clone())
    }

    fn names(&self) -> Vec<String> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    async fn open(&self, name: &str) -> Result<Box<dyn AdapterSession>, CallError> {
        let Some(loaded) = self.find(name) else {
            let known = self.names().join(", ");
            return Err(CallError::NotFound(format!("there is no adapter {name}; there are {known}")));
        };
        loaded.core.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.let_rest();
        let opened = match self.code(&loaded).await {
            Ok(pre) => self.session(&pre, &loaded.core, &loaded.package).await,
            Err(error) => Err(CallError::Other(error.to_string())),
        };
        loaded.core.meters.called(opened.as_ref().err());
        Ok(Box::new(opened?))
    }
}

/// Compiles and links a component. Slow, unless it is compiled already.
fn link(
    engine: &ComponentEngine,
    linker: &Linker<InstanceState>,
    cache: &CodeCache,
    package: Package,
) -> Result<(PackageInfo, LlmAdapterPre<InstanceState>), PackageError> {
    let (package, component) = package::compile_only(engine, cache, package)?;
    let linked = linker.instantiate_pre(&component).and_then(LlmAdapterPre::new);
    let plugin = package.manifest.name.clone();
    let pre = linked.map_err(|error| PackageError::Load { plugin, reason: one_line(&error) })?;
    Ok((package, pre))
}

/// One instance, serving one model call.
struct Session {
    /// Absent while a step runs, and for good once one has failed.
    live: Option<Box<Live>>,
    core: Arc<SlotCore>,
    /// What its instance uses of a processor; each step has the whole budget.
    processor: Processor,
    guests: Handle,
}

struct Live {
    store: Store<InstanceState>,
    adapter: LlmAdapter,
}

/// Runs one step on the guests' executor. A step that traps or takes too long costs the instance.
macro_rules! step {
    ($session:ident, $export:literal, |$guest:ident, $store:ident| $call:expr) => {{
        let Some(mut live) = $session.live.take() else {
            let name = &$session.core.name;
            return Err(CallError::Other(format!("the adapter {name} has failed before in this call")));
        };
        let core = Arc::clone(&$session.core);
        $session.processor.top_up();
        let task = $session.guests.spawn($session.processor.meter(async move {
            let called = {
                let $guest = live.adapter.homeagent_adapter_adapter();
                let $store = &mut live.store;
                $call.await
            };
            match called {
                Ok(value) => Ok((value, live)),
                Err(trap) => {
                    core.meters.trapped();
                    let refusal = live.store.data_mut().take_refusal();
                    Err(describe_trap(&core, concat!("adapter.", $export), &trap, refusal))
                }
            }
        }));
        let (value, live) = match within(task).await {
            Ok(Ok(done)) => done,
            Ok(Err(reason)) => {
                $session.core.note_error(reason.clone());
                return Err(CallError::Other(reason));
            }
            Err(error) => return Err(error),
        };
        $session.live = Some(live);
        value
    }};
}

impl Session {
    async fn describe(&mut self) -> Result<AdapterDescriptor, CallError> {
        Ok(step!(self, "describe", |guest, store| guest.call_describe(store)).into())
    }
}

#[async_trait]
impl AdapterSession for Session {
    async fn build_request(&mut self, request: &ModelRequest) -> Result<HttpRequest, CallError> {
        let request = convert::adapter::request(request);
        let built = step!(self, "build-request", |guest, store| guest.call_build_request(store, &request));
        built.map(Into::into).map_err(CallError::Invalid)
    }

    async fn parse_response(&mut self, response: HttpResponse) -> Result<Vec<ModelDelta>, CallError> {
        let response = response.into();
        let deltas = step!(self, "parse-response", |guest, store| guest.call_parse_response(store, &response));
        Ok(deltas.into_iter().map(Into::into).collect())
    }

    async fn classify_error(&mut self, response: HttpResponse) -> Result<Failure, CallError> {
        let response = response.into();
        Ok(step!(self, "classify-error", |guest, store| guest.call_classify_error(store, &response)).into())
    }

    async fn step(&mut self, events: Vec<StreamEvent>) -> Result<Vec<ModelDelta>, CallError> {
        let events: Vec<_> = events.into_iter().map(Into::into).collect();
        let deltas = step!(self, "step", |guest, store| guest.call_step(store, &events));
        Ok(deltas.into_iter().map(Into::into).collect())
    }

    async fn end(&mut self) -> Result<Vec<ModelDelta>, CallError> {
        let deltas = step!(self, "end", |guest, store| guest.call_end(store));
        Ok(deltas.into_iter().map(Into::into).collect())
    }

    async fn build_models_request(&mut self, options: &Meta) -> Result<HttpRequest, CallError> {
        let options = options.clone();
        let built =
            step!(self, "build-models-request", |guest, store| guest.call_build_models_request(store, &options));
        built.map(Into::into).map_err(CallError::Invalid)
    }

    async fn parse_models(&mut self, response: HttpResponse) -> Result<Result<Vec<ModelInfo>, Failure>, CallError> {
        let response = response.into();
        let models = step!(self, "parse-models", |guest, store| guest.call_parse_models(store, &response));
        Ok(models.map(|models| models.into_iter().map(Into::into).collect()).map_err(Into::into))
    }

    async fn build_embedding_request(&mut self, request: &EmbeddingRequest) -> Result<HttpRequest, CallError> {
        let request = convert::adapter::embedding_request(request);
        let built =
            step!(self, "build-embedding-request", |guest, store| guest.call_build_embedding_request(store, &request));
        built.map(Into::into).map_err(CallError::Invalid)
    }

    async fn parse_embeddings(&mut self, response: HttpResponse) -> Result<Result<Embeddings, Failure>, CallError> {
        let response = response.into();
        let vectors = step!(self, "parse-embeddings", |guest, store| guest.call_parse_embeddings(store, &response));
        Ok(vectors.map(Into::into).map_err(Into::into))
    }

    async fn rehearse(&mut self, request: &ModelRequest) -> Result<Vec<Rehearsed>, CallError> {
        let request = convert::adapter::request(request);
        let pieces = step!(self, "rehearse", |guest, store| guest.call_rehearse(store, &request));
        Ok(pieces.into_iter().map(|it| Rehearsed { pause_ms: it.pause_ms, delta: it.delta.into() }).collect())
    }
}

/// Waits for a task of the guests' executor; after [`STEP`] it is dropped, and the guest in it.
async fn within<T>(task: tokio::task::JoinHandle<T>) -> Result<T, CallError> {
    match tokio::time::timeout(STEP, AbortOnDropHandle::new(task)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(lost)) => Err(CallError::Other(format!("a step of an adapter was lost: {lost}"))),
        Err(_) => Err(CallError::Timeout),
    }
}
