//! The runtime's handle: which plugins there are, and the traits that the rest of the host sees.

mod admin;
mod folders;
mod install;
mod routes;
mod trial;
mod unix;
mod watch;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use homeagent_contract::Kind;
use homeagent_network::Network;
use homeagent_settings::{Grants, PluginData, Secrets, Settings, Spending};
use homeagent_types::ports::{
    Adapters, Connection, Haste, Listeners, Mind, Models, OwnAddress, PluginAdmin, PluginMemory, PluginStatus, Plugins,
    ServedPath,
};
use homeagent_types::stage::{Patch, StageContext};
use homeagent_types::{
    CallError, Cause, MediaSource, Meta, Offers, Output, OutputDelta, Principal, Receipt, RouteRequest, RouteResponse,
    ToolOutput,
};
use tokio::sync::{OwnedMutexGuard, broadcast, mpsc, oneshot};
use wasmtime::component::Linker;

use crate::adapters::AdapterShelf;
use crate::bus::Event;
use crate::cache::CodeCache;
use crate::compiler::Compiler;
use crate::engine::ComponentEngine;
use crate::grants::GrantTable;
use crate::host::own_cause;
use crate::instance::{self, InstanceState};
use crate::local::Local;
use crate::manifest::{CAPABILITIES, Code, Manifest, is_capability};
use crate::package::{self, Bundled, Content, Origin, Package, Prepared};
use crate::process;
use crate::script::{Interpreter, InterpreterShelf};
use crate::services::Services;
use crate::slot::core::SlotCore;
use crate::slot::generation::{Seat, describe};
use crate::slot::job::{Job, Work};
use crate::slot::swap::SwapError;
use crate::slot::{Control, Line, Slot, connection, supervisor};
use crate::timers::{Clock, TimerKeeper};
use crate::{PackageError, RuntimeError};

/// How often deadlines are looked at.
const WATCH: Duration = Duration::from_millis(50);
/// How long a final text waits for its pieces to be shown first.
const SHOWN_FIRST: Duration = Duration::from_secs(2);
/// How long a plugin may take over a changed setting, in milliseconds.
const SETTING_MS: u64 = 30_000;

/// The state of a package that can't be loaded.
const REFUSED: &str = "refused";

/// What the runtime is made of.
pub struct Parts {
    /// The settings.
    pub settings: Settings,
    /// What the user granted.
    pub grants: Grants,
    /// The secrets, to be taken out of what goes outward.
    pub secrets: Secrets,
    /// What plugins have spent of their tokens.
    pub spending: Spending,
    /// What is kept for plugins.
    pub data: PluginData,
    /// The way to others, for plugins that may go there.
    pub network: Network,
    /// The packages that came with homed.
    pub bundled: Vec<Bundled>,
    /// The daemon's own folder.
    pub home: PathBuf,
    /// The folder of installed packages, one folder each.
    pub plugins: PathBuf,
    /// The folder for compiled code.
    pub cache: PathBuf,
    /// The program that compiles components, called as [`compile`](crate::compile) says; without one, or where it can't be
    /// started, this process does and keeps the memory that takes.
    pub compiler: Option<PathBuf>,
    /// The time by which timers fall due: [`homeagent_types::now`], except in tests.
    pub clock: Clock,
}

/// All plugins and adapters. Cheap to clone; when the last clone goes, so do the instances.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    engine: ComponentEngine,
    cache: Arc<CodeCache>,
    linker: Linker<InstanceState>,
    services: Arc<Services>,
    adapters: Arc<AdapterShelf>,
    interpreters: InterpreterShelf,
    slots: RwLock<BTreeMap<String, Slot>>,
    /// Packages that do not run: refused ones with the reason, and those that were unloaded.
    idle: Mutex<BTreeMap<String, PluginStatus>>,
    bundled: Vec<Bundled>,
    plugins: PathBuf,
    /// Loads, reloads and unloads of a plugin happen one at a time.
    changing: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Looks for changes of the packages, once it was asked to.
    watch: Mutex<Option<watch::Watch>>,
    /// The runtime ends: what is loaded from now on is not to stay.
    ending: AtomicBool,
    guests: GuestExecutor,
    unix: unix::UnixDoors,
}

/// The executor that guests run on: theirs alone, so that one that computes holds up no socket and no timer.
struct GuestExecutor(Option<tokio::runtime::Runtime>);

impl GuestExecutor {
    fn new(threads: usize) -> Result<Self, RuntimeError> {
        let mut executor = tokio::runtime::Builder::new_multi_thread();
        let runtime = executor.worker_threads(threads).thread_name("guest").enable_all().build();
        runtime.map(|runtime| Self(Some(runtime))).map_err(RuntimeError::Thread)
    }

    fn handle(&self) -> tokio::runtime::Handle {
        self.0.as_ref().map(|runtime| runtime.handle().clone()).expect("the executor lives as long as the runtime")
    }
}

impl Drop for GuestExecutor {
    fn drop(&mut self) {
        // An ordinary drop would wait for guests, which may be in an endless loop, and is not allowed in a task.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Runtime {
    /// Starts the engine. No plugin runs yet.
    ///
    /// # Errors
    /// When the engine, a thread or the cache folder can't be had.
    pub fn new(parts: Parts) -> Result<Self, RuntimeError> {
        let engine = ComponentEngine::new()?;
        let guests = GuestExecutor::new(engine.lane.threads())?;
        let host = tokio::runtime::Handle::current();
        let timers = Arc::new(TimerKeeper::new(parts.data.timers.clone(), host.clone(), parts.clock));
        let local = Local { data: parts.data, timers: Arc::clone(&timers), home: parts.home.clone(), host };
        let Parts { settings, grants, secrets, spending, network, .. } = parts;
        let services = Arc::new(Services::new(settings, grants, secrets, spending, network, local));
        let adapters = AdapterShelf::new(engine.clone(), Arc::clone(&services), guests.handle());
        let inner = Arc::new(Inner {
            cache: Arc::new(CodeCache::open(parts.cache, parts.compiler.map(Compiler::new))?),
            linker: instance::linker(&engine).map_err(RuntimeError::Engine)?,
            adapters: Arc::new(adapters.map_err(RuntimeError::Engine)?),
            interpreters: InterpreterShelf::default(),
            engine,
            services,
            slots: RwLock::default(),
            idle: Mutex::default(),
            bundled: parts.bundled,
            plugins: parts.plugins,
            changing: Mutex::default(),
            watch: Mutex::default(),
            ending: AtomicBool::new(false),
            guests,
            unix: unix::UnixDoors::default(),
        });
        tokio::spawn(unix::keep(Arc::downgrade(&inner), inner.services.registrations.changes()));
        tokio::spawn(watch(Arc::downgrade(&inner)));
        tokio::spawn(tell_of_settings(inner.services.settings.subscribe(), Arc::downgrade(&inner)));
        let told = Arc::downgrade(&inner);
        let knows = Arc::clone(&inner.services);
        let lines = move || told.upgrade().map(|inner| inner.told_of_timers());
        tokio::spawn(timers.keep(lines, move || knows.mind()));
        tokio::task::spawn_blocking(move || process::end_those_of(&parts.home));
        Ok(Self { inner })
    }

    /// Has the timers looked at now, as where the clock was set.
    pub fn look_at_timers(&self) {
        self.inner.services.local.timers.wake();
    }

    /// Gives plugins the agent to talk to.
    pub fn bind(&self, mind: Weak<dyn Mind>) {
        self.inner.services.bind(mind);
    }

    /// Gives plugins the model to ask.
    pub fn bind_models(&self, models: Weak<dyn Models>) {
        self.inner.services.bind_models(models);
    }

    /// Gives plugins what the agent remembers.
    pub fn bind_memory(&self, memory: Weak<dyn PluginMemory>) {
        self.inner.services.bind_memory(memory);
    }

    /// The LLM adapters.
    pub fn adapters(&self) -> Arc<dyn Adapters> {
        Arc::clone(&self.inner.adapters) as _
    }

    /// Loads every package there is. One that can't be loaded is listed as refused, with the reason; the others are not
    /// held up by it.
    pub async fn load_all(&self) {
        install::recover(&self.inner.plugins);
        // What came with homed first: nobody takes its names before it is there. Scripts last: what runs them may be an
        // installed package.
        let is_script = |origin: &Origin| origin.manifest().is_ok_and(|it| matches!(it.code, Code::Script(_)));
        let mut packages: Vec<_> = self.inner.packages().into_iter().collect();
        packages.sort_by_cached_key(|(_, origin)| (is_script(origin), matches!(origin, Origin::Installed(_))));
        for (name, origin) in packages {
            let _turn = self.inner.turn(&name).await;
            if let Err(error) = self.inner.load(&origin, Haste::default()).await {
                self.inner.refuse(&name, &origin, &error);
            }
        }
    }

    /// From now on loads packages whose files change, and those that are laid into the folder, by itself, for as long as
    /// the setting `core.plugin.watch` says so. Until [`Runtime::shutdown`].
    pub fn watch(&self) {
        match watch::Watch::start(&self.inner) {
            Ok(watch) => *self.inner.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch),
            Err(error) => tracing::warn!(
                folder = %self.inner.plugins.display(), %error,
                "changes of packages are not noticed; waiter plugin reload loads them"
            ),
        }
    }

    /// Tells the name of each plugin whose state changes from now on: loaded, reloaded, refused, failed, restarted,
    /// unloaded. A receiver that falls more than 256 behind gets `Lagged` and should look at the list again.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.inner.services.subscribe()
    }

    /// Ends every plugin.
    pub async fn shutdown(&self) {
        // Without waiting for a load that is under way: it may take long, and nothing is left to load for.
        self.inner.ending.store(true, Ordering::Release);
        self.inner.services.local.timers.close();
        drop(self.inner.watch.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.inner.unix.end();
        let slots = std::mem::take(&mut *self.inner.slots.write().unwrap_or_else(PoisonError::into_inner));
        let stops = slots.into_values().map(|slot| tokio::spawn(async move { stop(&slot).await }));
        for stopped in stops.collect::<Vec<_>>() {
            drop(stopped.await);
        }
        // Their plugins are gone, so what is left of them is the disk's time.
        drop(tokio::time::timeout(SHOWN_FIRST, self.inner.services.local.timers.ended()).await);
    }
}

async fn stop(slot: &Slot) {
    let (reply, stopped) = oneshot::channel();
    if slot.control.send(Control::Stop(reply)).await.is_ok() {
        drop(stopped.await);
    }
}

/// Looks at deadlines from outside: inside an instance nothing fires while its guest computes.
async fn watch(inner: Weak<Inner>) {
    let mut tick = tokio::time::interval(WATCH);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(inner) = inner.upgrade() else { return };
        for slot in inner.slots.read().unwrap_or_else(PoisonError::into_inner).values() {
            slot.watch();
        }
    }
}

/// Publishes which settings of plugins change, as `setting.<key>`.
async fn tell_of_settings(mut changes: broadcast::Receiver<Arc<str>>, inner: Weak<Inner>) {
    loop {
        let key = match changes.recv().await {
            Ok(key) => key,
            Err(broadcast::error::RecvError::Lagged(_)) => {
                // Which ones is not known any more. A plugin reads all of its settings anew when it is told of one.
                let Some(inner) = inner.upgrade() else { return };
                let slots = inner.slots.read().unwrap_or_else(PoisonError::into_inner);
                let all: Vec<String> = slots.keys().cloned().collect();
                drop(slots);
                for plugin in all {
                    inner.close_what_is_listed_no_more(&plugin);
                    let topic = format!("setting.{}*", homeagent_settings::plugin_prefix(&plugin));
                    inner.tell_of_owner(&plugin, topic, &serde_json::json!({ "key": null }));
                }
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let Some(inner) = inner.upgrade() else { return };
        let Some(plugin) = key.strip_prefix("plugin.").and_then(|rest| rest.split('.').next()) else { continue };
        let own = key.strip_prefix(&homeagent_settings::plugin_prefix(plugin)).unwrap_or_default();
        if inner.slot(plugin).is_some_and(|slot| slot.core.grants.owners_settings().iter().any(|it| it == own)) {
            inner.close_what_is_listed_no_more(plugin);
        }
        inner.tell_of_owner(plugin, format!("setting.{key}"), &serde_json::json!({ "key": *key }));
    }
}

impl Inner {
    /// Publishes what the owner has decided about a plugin that runs.
    fn tell_of_owner(&self, plugin: &str, topic: String, payload: &serde_json::Value) {
        let Some(slot) = self.slot(plugin) else { return };
        self.services.bus.publish(&Event {
            topic,
            payload: payload.to_string(),
            source: "host".to_owned(),
            at: homeagent_types::now(),
            // It comes from the owner, so the plugin is not in its chain yet.
            cause: Cause { chain: Vec::new(), ..own_cause(&slot.core, SETTING_MS) },
        });
    }

    /// Every package by name; an installed one wins over a bundled one. A folder whose manifest can't be read stands
    /// under the folder's name.
    fn packages(&self) -> BTreeMap<String, Origin> {
        let mut packages = BTreeMap::new();
        for bundled in &self.bundled {
            let origin = Origin::Bundled(*bundled);
            match origin.manifest() {
                Ok(manifest) => drop(packages.insert(manifest.name, origin)),
                Err(error) => tracing::error!(%error, "a bundled package has no valid manifest"),
            }
        }
        let folders = package::installed(&self.plugins).unwrap_or_else(|error| {
            tracing::error!(folder = %self.plugins.display(), %error, "no installed package can be looked for");
            Vec::new()
        });
        for folder in folders {
            let origin = Origin::Installed(folder.clone());
            let folder_name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (name, readable) = match origin.manifest() {
                Ok(manifest) => (manifest.name, true),
                Err(_) => (folder_name.clone(), false),
            };
            match packages.get(&name) {
                // A folder that can't be read takes nobody's place; it is listed beside, and refused with its reason.
                Some(_) if !readable => drop(packages.insert(format!("{folder_name} (folder)"), origin)),
                // Whatever is laid beside it, what runs keeps its place, and the grants that go with it.
                Some(Origin::Installed(_)) if self.slot_folder(&name).as_deref() == Some(folder.as_path()) => {
                    packages.insert(name, origin);
                }
                Some(Origin::Installed(first)) => {
                    let (first, second) = (first.display().to_string(), folder.display().to_string());
                    // Where it counts it is told: see `folders`.
                    tracing::debug!(plugin = %name, first, second, "two folders hold this plugin; the first counts");
                }
                Some(Origin::Bundled(_)) => {
                    tracing::info!(plugin = %name, folder = %folder.display(), "an installed package takes the bundled one's place");
                    packages.insert(name, origin);
                }
                None => drop(packages.insert(name, origin)),
            }
        }
        self.forget_refused(&packages);
        packages
    }

    /// The folder that a plugin runs from.
    fn slot_folder(&self, name: &str) -> Option<PathBuf> {
        self.slot(name).and_then(|slot| slot.status().folder).map(PathBuf::from)
    }

    /// Lets go of what was said of packages that are not there any more, or not under that name.
    fn forget_refused(&self, packages: &BTreeMap<String, Origin>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|name, status| {
            let Some(folder) = status.folder.as_deref().filter(|_| status.state == REFUSED) else { return true };
            let now = packages.get(name).and_then(Origin::folder);
            now.is_some_and(|now| now == Path::new(folder))
        });
    }

    fn find(&self, name: &str) -> Result<Origin, CallError> {
        self.packages().remove(name).ok_or_else(|| {
            let folder = self.plugins.display();
            if let Err(error) = package::installed(&self.plugins) {
                return CallError::Other(format!("{folder} can't be read: {error}; check that it belongs to you"));
            }
            CallError::NotFound(format!("there is no plugin {name}, neither bundled nor in {folder}"))
        })
    }

    /// The right to change what runs under a name, when nobody else has it.
    async fn turn(&self, name: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            changing.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(changing.entry(name.to_owned()).or_default())
        };
        turn.lock_owned().await
    }

    fn slot(&self, name: &str) -> Option<Slot> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The plugins that can be told of their timers now.
    fn told_of_timers(&self) -> Vec<Line> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let told = slots.values().filter(|slot| slot.core.grants.allows("timers") && slot.can_be_called());
        told.map(|slot| Line::clone(slot)).collect()
    }

    fn running(&self, name: &str) -> Result<Slot, CallError> {
        self.slot(name).ok_or_else(|| CallError::NotFound(format!("the plugin {name} is not loaded")))
    }

    /// Counts what becomes of new code for what runs under a name already.
    async fn counted<T>(
        &self,
        name: &str,
        change: impl Future<Output = Result<T, PackageError>>,
    ) -> Result<T, PackageError> {
        let replaced = self.slot(name).map(|slot| Arc::clone(&slot.core)).or_else(|| self.adapters.core(name));
        let outcome = change.await;
        if let Some(core) = replaced {
            core.meters.swapped(outcome.is_ok());
        }
        outcome
    }

    /// Reads a package and runs it.
    async fn load(&self, origin: &Origin, haste: Haste) -> Result<(), PackageError> {
        self.run(read(origin).await?, haste).await
    }

    /// Runs a package: in its slot, if it has one, else in a new one.
    async fn run(&self, package: Package, haste: Haste) -> Result<(), PackageError> {
        let name = package.manifest.name.clone();
        let (is_adapter, is_interpreter) =
            (package.manifest.kind == Kind::Adapter, package.manifest.interprets.is_some());
        let others = [
            (!is_adapter && self.adapters.descriptor(&name).is_some(), "an adapter"),
            (!is_interpreter && self.interpreters.holds(&name), "an interpreter"),
            ((is_adapter || is_interpreter) && self.slot(&name).is_some(), "a plugin"),
        ];
        if let Some((_, other)) = others.iter().find(|(taken, _)| *taken) {
            let reason = format!("{other} of this name is loaded; unload it before something else takes its name");
            return Err(PackageError::Load { plugin: name, reason });
        }
        if is_adapter {
            let interpreter = self.interpreter(&package);
            let bundled = if package.bundled { self.find(&name).ok() } else { None };
            self.adapters.load(&self.cache, package, interpreter, bundled).await?;
        } else if is_interpreter {
            // It is read again when the first script needs it.
            let origin = match &package.folder {
                Some(folder) => Origin::Installed(folder.clone()),
                None => self
                    .find(&name)
                    .map_err(|lost| PackageError::Load { plugin: name.clone(), reason: lost.to_string() })?,
            };
            self.interpreters.load(origin, package)?;
        } else {
            self.load_plugin(package, haste).await?;
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        self.services.changed(&name);
        Ok(())
    }

    async fn load_plugin(&self, package: Package, haste: Haste) -> Result<(), PackageError> {
        let name = package.manifest.name.clone();
        let slot = self.slot(&name);
        let (seat, jobs) = self.seat(&name, slot.as_ref());
        let prepared = Arc::new(self.prepare(&seat, package).await?);
        // Not before: what runs has the settings that it was made for until the new code needs its own.
        self.declare_settings(&prepared.package.manifest)?;
        let started = self.start(slot.as_ref(), seat, jobs, prepared, haste).await;
        if started.is_err() {
            match slot.map(|slot| slot.package().manifest) {
                Some(before) => self.declare_settings(&before)?,
                None => self.services.settings.withdraw_plugin(&name),
            }
        }
        started?;
        tracing::info!(plugin = %name, "loaded");
        Ok(())
    }

    /// Has new code serve: in the slot there is, else in a new one.
    async fn start(
        &self,
        slot: Option<&Slot>,
        seat: Seat,
        jobs: mpsc::Sender<Job>,
        prepared: Arc<Prepared>,
        haste: Haste,
    ) -> Result<(), PackageError> {
        let name = prepared.package.manifest.name.clone();
        let start = |reason: String| PackageError::Start { plugin: name.clone(), reason };
        match slot {
            Some(slot) => {
                let (reply, done) = oneshot::channel();
                let sent = slot.control.send(Control::Replace(prepared, haste, reply)).await;
                sent.map_err(|_| start("its slot is being unloaded".into()))?;
                done.await.map_err(|_| start("its slot was unloaded".into()))?.map_err(|error| match error {
                    SwapError::Busy(reason) => PackageError::Busy { reason },
                    SwapError::Refused(reason) => start(reason),
                })?;
            }
            None => {
                let slot = supervisor::start(seat, prepared, jobs).await.map_err(start)?;
                self.slots.write().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), slot.clone());
                if self.ending.load(Ordering::Acquire) {
                    stop(&slot).await;
                    return Err(start("the plugins are being ended".into()));
                }
            }
        }
        Ok(())
    }

    /// What generations are made with: those of the slot's own that have to outlive them, when there is a slot.
    fn seat(&self, name: &str, slot: Option<&Slot>) -> (Seat, mpsc::Sender<Job>) {
        let core = slot.map_or_else(
            || {
                let grants = GrantTable::new(name.to_owned(), self.services.grants.clone());
                Arc::new(SlotCore::new(name.to_owned(), grants, &self.services))
            },
            |slot| Arc::clone(&slot.core),
        );
        self.seat_of(core, Arc::clone(&self.services))
    }

    /// The same for a channel that is tried.
    fn trial_seat(&self, name: &str, services: Arc<Services>) -> (Seat, mpsc::Sender<Job>) {
        let grants = GrantTable::for_trial(name.to_owned(), services.grants.clone(), &crate::trial::CAPABILITIES);
        self.seat_of(Arc::new(SlotCore::new(name.to_owned(), grants, &services)), services)
    }

    fn seat_of(&self, core: Arc<SlotCore>, services: Arc<Services>) -> (Seat, mpsc::Sender<Job>) {
        let queue = usize::try_from(self.services.number("core.plugin.queue", 256)).unwrap_or(256).max(1);
        let (jobs, jobs_rx) = mpsc::channel(queue);
        let seat = Seat {
            engine: self.engine.clone(),
            services,
            core,
            jobs: Arc::new(tokio::sync::Mutex::new(jobs_rx)),
            guests: self.guests.handle(),
            jobs_at_once: queue,
        };
        (seat, jobs)
    }

    fn declare_settings(&self, manifest: &Manifest) -> Result<(), PackageError> {
        self.services
            .settings
            .declare_plugin(&manifest.name, manifest.settings.clone())
            .map_err(|error| PackageError::Manifest { plugin: manifest.name.clone(), reason: error.to_string() })
    }

    async fn prepare(&self, seat: &Seat, package: Package) -> Result<Prepared, PackageError> {
        let plugin = package.manifest.name.clone();
        let (engine, cache, linker) = (self.engine.clone(), Arc::clone(&self.cache), self.linker.clone());
        let interpreter = self.interpreter(&package);
        let compile = move || package::compile_plugin(&engine, &cache, &linker, package, interpreter);
        let (package, pre, indices) = package::in_background(&plugin, compile).await?;
        let descriptor = describe(seat, &package.manifest, &pre, &indices).await;
        let descriptor = descriptor.map_err(|reason| PackageError::Descriptor { plugin, reason })?;
        Ok(Prepared { package, pre, indices, descriptor: Arc::new(descriptor) })
    }

    /// What runs the package's script, when it is one and there is something that does.
    fn interpreter(&self, package: &Package) -> Option<Arc<Interpreter>> {
        match &package.content {
            Content::Script(script) => self.interpreters.find(script),
            Content::Component(_) => None,
        }
    }

    fn refuse(&self, name: &str, origin: &Origin, error: &PackageError) {
        tracing::error!(plugin = %name, %error, "a package was refused");
        let status = PluginStatus {
            name: name.to_owned(),
            version: origin.manifest().map(|manifest| manifest.version).unwrap_or_default(),
            summary: String::new(),
            origin: origin.name().to_owned(),
            folder: origin.folder().map(|folder| folder.display().to_string()),
            state: REFUSED.to_owned(),
            reason: Some(error.to_string()),
            digest: String::new(),
            publisher: None,
            restarts: 0,
            calls: 0,
            waiting: 0,
            last_error: None,
            uptime_ms: 0,
            granted: Vec::new(),
            missing: Vec::new(),
            capabilities: Vec::new(),
            tools: Vec::new(),
            addresses: Vec::new(),
            sockets: Vec::new(),
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), status);
        self.services.changed(name);
    }

    fn status(&self, name: &str) -> Result<PluginStatus, CallError> {
        self.list()
            .into_iter()
            .find(|status| status.name == name)
            .ok_or_else(|| CallError::NotFound(format!("there is no plugin {name}")))
    }

    fn list(&self) -> Vec<PluginStatus> {
        let mut all: Vec<_> =
            self.slots.read().unwrap_or_else(PoisonError::into_inner).values().map(|slot| slot.status()).collect();
        all.extend(self.adapters.status());
        all.extend(self.interpreters.status());
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A package whose folder is gone is none any more.
        idle.retain(|_, status| status.folder.as_ref().is_none_or(|folder| Path::new(folder).exists()));
        for status in idle.values() {
            if !all.iter().any(|running| running.name == status.name) {
                all.push(status.clone());
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn grants(&self, name: &str, capability: &str) -> Result<GrantTable, CallError> {
        if !is_capability(capability) {
            let known = CAPABILITIES.join(", ");
            return Err(CallError::Invalid(format!("{capability} is no capability; there are {known}")));
        }
        Ok(self.running(name)?.core.grants.clone())
    }
}

/// Reads a package where blocking is allowed.
async fn read(origin: &Origin) -> Result<Package, PackageError> {
    let (read, place) = (origin.clone(), origin.name());
    let package = tokio::task::spawn_blocking(move || read.read()).await;
    package.map_err(|lost| PackageError::Load { plugin: place.into(), reason: lost.to_string() })?
}

fn refused(error: &PackageError) -> CallError {
    match error {
        PackageError::Busy { reason } => CallError::Conflict(reason.clone()),
        error @ PackageError::Unwritable { .. } => CallError::NotStored(error.to_string()),
        error => CallError::Invalid(error.to_string()),
    }
}

/// Takes known secrets out of a text; without a copy where there are none.
fn redact(secrets: &Secrets, text: &mut String) {
    if let Cow::Owned(redacted) = secrets.redact(text) {
        *text = redacted;
    }
}

/// The moment until which a call with this cause may take.
fn deadline(cause: &Cause) -> Instant {
    // Far enough for anyone, and no overflow.
    Instant::now() + Duration::from_millis(cause.deadline_ms.min(24 * 3600 * 1000))
}

#[async_trait]
impl Plugins for Runtime {
    fn offers(&self) -> Arc<Offers> {
        self.inner.services.registrations.offers()
    }

    async fn call_tool(&self, plugin: &str, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError> {
        let slot = self.inner.running(plugin)?;
        slot.core.allow("tools", format!("running its tool {name}"))?;
        let registrations = &self.inner.services.registrations;
        let (effect, is_stateless) = (registrations.effect(plugin, name), registrations.is_stateless(plugin, name));
        let (name, deadline) = (name.to_owned(), deadline(&cause));
        let work = |reply| Work::Tool { name, effect, args, cause, reply };
        if is_stateless { slot.call_afresh(deadline, work).await } else { slot.call(deadline, work).await }
    }

    async fn run_stage(&self, plugin: &str, context: StageContext) -> Result<Vec<Patch>, CallError> {
        let slot = self.inner.running(plugin)?;
        let context = Box::new(context);
        slot.call(deadline(&context.cause.clone()), |reply| Work::Stage { context, reply }).await
    }

    async fn deliver(&self, plugin: &str, output: Output, cause: Cause) -> Result<Receipt, CallError> {
        let slot = self.inner.running(plugin)?;
        slot.core.allow("output", "delivering a message")?;
        slot.shown(SHOWN_FIRST).await;
        let mut output = Box::new(output);
        let redact = |text: &mut String| redact(&self.inner.services.secrets, text);
        redact(&mut output.text);
        output.structured.iter_mut().for_each(redact);
        for medium in &mut output.media {
            redact(&mut medium.mime);
            medium.name.iter_mut().for_each(redact);
            if let MediaSource::Url(place) | MediaSource::Stored(place) = &mut medium.source {
                redact(place);
            }
            medium.meta.iter_mut().for_each(|(_, value)| redact(value));
        }
        output.meta.iter_mut().for_each(|(_, value)| redact(value));
        slot.call(deadline(&cause), |reply| Work::Deliver { output, cause, reply }).await
    }

    fn show(&self, plugin: &str, deltas: Vec<OutputDelta>) {
        if let Some(slot) = self.inner.slot(plugin).filter(|slot| slot.core.grants.allows("output")) {
            slot.show(deltas);
        }
    }

    async fn reload_plugin(&self, plugin: &str) -> Result<PluginStatus, CallError> {
        self.reload(plugin, Haste::default()).await
    }

    fn publish(&self, topic: &str, payload: serde_json::Value, cause: Cause) {
        self.inner.services.bus.publish(&Event {
            topic: topic.to_owned(),
            payload: payload.to_string(),
            source: "host".to_owned(),
            at: homeagent_types::now(),
            cause,
        });
    }
}

#[async_trait]
impl Listeners for Runtime {
    fn served(&self, path: &str) -> Option<ServedPath> {
        let it = self.inner.services.registrations.served(path)?;
        let prefix = homeagent_settings::plugin_prefix(&it.plugin);
        let whole = |key: Option<String>| key.map(|key| format!("{prefix}{key}"));
        Some(ServedPath { token: whole(it.token), address: whole(it.address), ..it })
    }

    async fn answer(&self, plugin: &str, request: RouteRequest) -> Result<RouteResponse, CallError> {
        self.inner.answer(plugin, request).await
    }

    fn own_addresses(&self) -> Vec<(String, String)> {
        let all = self.inner.services.registrations.own_addresses().into_iter();
        all.map(|(plugin, key)| (plugin.clone(), format!("{}{key}", homeagent_settings::plugin_prefix(&plugin))))
            .collect()
    }

    fn note_addresses(&self, addresses: BTreeMap<String, Vec<OwnAddress>>) {
        self.inner.services.registrations.note_addresses(addresses);
    }

    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut changes = self.inner.services.registrations.changes();
        Box::pin(async move {
            // Where there are no plugins any more, nothing changes.
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    async fn connect(
        &self,
        listener: &str,
        attested: Option<Principal>,
        meta: Meta,
    ) -> Result<Box<dyn Connection>, CallError> {
        let slot = self.inner.services.registrations.listener(listener).and_then(|slot| self.inner.slot(&slot));
        let slot = slot.ok_or_else(|| {
            CallError::NotFound(format!("no plugin that runs holds the listener {listener}; see waiter plugin list"))
        })?;
        Ok(Box::new(connection::open(Line::clone(&slot), listener, attested, meta)))
    }
}
