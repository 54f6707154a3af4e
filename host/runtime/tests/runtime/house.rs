//! A runtime in a folder of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use homeagent_network::Network;
use homeagent_runtime::{Bundled, Clock, Parts, Runtime};
use homeagent_settings::{Database, Grants, PluginData, Secrets, Settings, Spending};
use homeagent_types::ports::{Mind, PluginAdmin, PluginStatus, Plugins};
use homeagent_types::{Accepted, Audience, CallError, Cause, Errand, Principal, Role, Submission, ToolOutput};
use tempfile::TempDir;
use tokio::sync::{Semaphore, watch};

/// Longer than anything takes that is waited for.
const LONG: Duration = Duration::from_secs(120);
/// Longer than a call takes on any machine, in milliseconds.
const LONG_MS: u64 = 600_000;

pub(crate) struct House {
    pub(crate) runtime: Runtime,
    pub(crate) settings: Settings,
    pub(crate) secrets: Secrets,
    pub(crate) data: PluginData,
    pub(crate) mind: Arc<FakeMind>,
    pub(crate) clock: TestClock,
    pub(crate) folder: TempDir,
}

/// The time by which timers fall due: the real one, until a test puts it elsewhere.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn now(&self) -> u64 {
        homeagent_types::now().saturating_add_signed(self.0.load(Ordering::Acquire))
    }

    fn as_clock(&self) -> Clock {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }
}

/// The agent's side of the traits: writes down what reaches it.
pub(crate) struct FakeMind {
    pub(crate) submitted: Mutex<Vec<(String, Option<Principal>, Submission)>>,
    pub(crate) errands: Mutex<Vec<(String, Errand)>>,
    /// When each came, in milliseconds since 1970.
    pub(crate) brought: Mutex<Vec<u64>>,
    /// How many errands are turned away before one is taken.
    pub(crate) busy: AtomicU64,
    /// The least role that the owner has left anybody.
    pub(crate) demoted: AtomicBool,
    pub(crate) called: Mutex<Vec<(String, String, Cause)>>,
    /// How many calls of the tool `gate` have begun, and inputs while they are slow.
    pub(crate) at_gate: watch::Sender<usize>,
    /// Each permit lets one of them through.
    pub(crate) gate: Semaphore,
    /// Inputs wait at the gate, too.
    pub(crate) slow: AtomicBool,
    /// Where the tool `again` is a call of `harm`, the plugin `hostile` doing the same again.
    pub(crate) through: OnceLock<Runtime>,
}

impl Default for FakeMind {
    fn default() -> Self {
        Self {
            submitted: Mutex::default(),
            errands: Mutex::default(),
            brought: Mutex::default(),
            busy: AtomicU64::new(0),
            demoted: AtomicBool::new(false),
            called: Mutex::default(),
            at_gate: watch::Sender::new(0),
            gate: Semaphore::new(0),
            slow: AtomicBool::new(false),
            through: OnceLock::new(),
        }
    }
}

impl FakeMind {
    async fn pass_the_gate(&self) {
        self.at_gate.send_modify(|count| *count += 1);
        self.gate.acquire().await.expect("the gate is never closed").forget();
    }
}

#[async_trait]
impl Mind for FakeMind {
    async fn submit(&self, source: &str, who: Option<Principal>, what: Submission) -> Result<Accepted, CallError> {
        if self.slow.load(Ordering::Acquire) {
            self.pass_the_gate().await;
        }
        let mut submitted = self.submitted.lock().expect("no panic");
        submitted.push((source.to_owned(), who, what));
        Ok(Accepted { input: format!("input-{}", submitted.len()), duplicate: false })
    }

    async fn interrupt(&self, source: &str, who: Option<Principal>, what: Submission) -> Result<Accepted, CallError> {
        self.submit(source, who, what).await
    }

    async fn errand(&self, source: &str, errand: Errand) -> Result<Accepted, CallError> {
        let less = |busy: u64| busy.checked_sub(1);
        if self.busy.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok() {
            return Err(CallError::Busy);
        }
        let mut errands = self.errands.lock().expect("no panic");
        let claim = &errand.submission.platform_id;
        let duplicate = errands.iter().any(|(_, known)| known.submission.platform_id == *claim);
        if !duplicate {
            errands.push((source.to_owned(), errand));
            self.brought.lock().expect("no panic").push(homeagent_types::now());
        }
        Ok(Accepted { input: format!("errand-{}", errands.len()), duplicate })
    }

    fn standing(&self, who: &Principal) -> Role {
        if self.demoted.load(Ordering::Acquire) { who.role.min(Role::Guest) } else { who.role }
    }

    async fn stop(&self, _: &str, _: Option<Principal>, _: Submission) -> Result<bool, CallError> {
        Ok(true)
    }

    async fn call_tool(&self, caller: &str, name: &str, _: String, cause: Cause) -> Result<ToolOutput, CallError> {
        self.called.lock().expect("no panic").push((caller.to_owned(), name.to_owned(), cause));
        if name == "gate" {
            self.pass_the_gate().await;
        }
        if name == "again"
            && let Some(runtime) = self.through.get()
        {
            let cause = self.called.lock().expect("no panic").last().expect("just noted").2.clone();
            return runtime.call_tool("hostile", "harm", r#"{"fault":"again"}"#.to_owned(), cause).await;
        }
        Ok(ToolOutput::text("done"))
    }
}

/// What comes of it; a test that waits in vain fails.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it happens in time")
}

/// Waits until it is so.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A runtime without packages.
pub(crate) fn empty() -> House {
    with_bundled(Vec::new())
}

pub(crate) fn with_bundled(bundled: Vec<Bundled>) -> House {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    with_cache(folder, cache, bundled, system(), TestClock::default())
}

/// The network that the system has.
fn system() -> Network {
    Network::system().expect("the system has certificates")
}

/// A runtime with these guests installed, loaded and granted, and another network around it.
pub(crate) async fn with_network(network: Network, guests: &[&str]) -> House {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let house = with_cache(folder, cache, Vec::new(), network, TestClock::default());
    for guest in guests {
        house.install(guest, guest);
    }
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

/// A runtime with these packages, whose compiled code all tests share: an interpreter, or a large guest, takes seconds to
/// compile.
pub(crate) fn with_shared_cache(bundled: Vec<Bundled>) -> House {
    with_shared_cache_on(system(), bundled)
}

/// The same with another network around it.
pub(crate) fn with_shared_cache_on(network: Network, bundled: Vec<Bundled>) -> House {
    static CACHE: OnceLock<TempDir> = OnceLock::new();
    let cache = CACHE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        // One key for all runtimes, before two of them make one each.
        std::fs::write(folder.path().join("key"), [7; 32]).expect("the folder takes files");
        folder
    });
    with_cache(tempfile::tempdir().expect("a folder"), cache.path().to_owned(), bundled, network, TestClock::default())
}

fn with_cache(folder: TempDir, cache: PathBuf, bundled: Vec<Bundled>, network: Network, clock: TestClock) -> House {
    let database = Database::open(folder.path().join("homeagent.db")).expect("a new database");
    let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
    let settings = Settings::open(&database, &secrets).expect("new settings");
    let data = PluginData::open(&database).expect("nothing is kept yet");
    let parts = Parts {
        settings: settings.clone(),
        grants: Grants::open(&database).expect("new grants"),
        secrets: secrets.clone(),
        spending: Spending::open(&database).expect("a new table"),
        data: data.clone(),
        network,
        bundled,
        home: folder.path().to_owned(),
        plugins: folder.path().join("plugins"),
        cache,
        compiler: None,
        clock: clock.as_clock(),
    };
    let runtime = Runtime::new(parts).expect("the runtime starts");
    let mind = Arc::new(FakeMind::default());
    let weak = Arc::downgrade(&mind);
    runtime.bind(weak);
    House { runtime, settings, secrets, data, mind, clock, folder }
}

/// A runtime with these guests installed and loaded, each with everything granted that it asks for.
pub(crate) async fn with(guests: &[&str]) -> House {
    let house = empty();
    for guest in guests {
        house.install(guest, guest);
    }
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

/// The same, where each has so many MiB of memory.
pub(crate) async fn with_memory(mib: i64, guests: &[&str]) -> House {
    let house = empty();
    house.settings.set("core.plugin.memory_mib", mib).expect("it is allowed");
    for guest in guests {
        house.install(guest, guest);
    }
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

impl House {
    /// Puts the clock ahead, or back.
    pub(crate) fn jump(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::AcqRel);
        self.runtime.look_at_timers();
    }

    /// The same after a restart of the daemon, with what is installed loaded.
    pub(crate) async fn again(self) -> House {
        self.runtime.shutdown().await;
        let cache = self.folder.path().join("cache");
        let house = with_cache(self.folder, cache, Vec::new(), system(), self.clock);
        house.runtime.load_all().await;
        house
    }

    pub(crate) fn plugins(&self) -> PathBuf {
        self.folder.path().join("plugins")
    }

    pub(crate) fn install(&self, guest: &str, as_folder: &str) -> PathBuf {
        homeagent_test_artifacts::install(&self.plugins(), guest, as_folder)
    }

    /// The same for one that asks for more than its `plugin.toml` says.
    pub(crate) fn install_asking(&self, guest: &str, more: &str) -> PathBuf {
        let folder = self.install(guest, guest);
        let manifest = folder.join("plugin.toml");
        let text = std::fs::read_to_string(&manifest).expect("it was written");
        std::fs::write(&manifest, format!("{text}\n{more}")).expect("the folder takes files");
        folder
    }

    pub(crate) async fn grant_all(&self) {
        for plugin in self.runtime.list() {
            for capability in &plugin.missing {
                self.runtime.grant(&plugin.name, capability).await.expect("it asks for it");
            }
        }
    }

    pub(crate) async fn call(&self, plugin: &str, tool: &str, args: &str) -> Result<String, CallError> {
        self.call_within(plugin, tool, args, LONG_MS).await
    }

    pub(crate) async fn call_within(
        &self,
        plugin: &str,
        tool: &str,
        args: &str,
        milliseconds: u64,
    ) -> Result<String, CallError> {
        let output = self.runtime.call_tool(plugin, tool, args.to_owned(), cause(milliseconds)).await?;
        Ok(output.for_model())
    }

    /// Calls until the answer is not `retryable`: what a caller does that knows an instance may be lost under it.
    pub(crate) async fn call_again(&self, plugin: &str, tool: &str) -> Result<String, CallError> {
        soon(async {
            loop {
                match self.call(plugin, tool, "{}").await {
                    Err(CallError::Retryable) => tokio::task::yield_now().await,
                    outcome => return outcome,
                }
            }
        })
        .await
    }

    /// Waits until so many have come to the gate.
    pub(crate) async fn at_gate(&self, calls: usize) {
        let mut at_gate = self.mind.at_gate.subscribe();
        soon(at_gate.wait_for(|count| *count >= calls)).await.expect("the mind lives as long as the house");
    }

    pub(crate) fn status(&self, plugin: &str) -> PluginStatus {
        let all = self.runtime.list();
        all.into_iter().find(|status| status.name == plugin).expect("it is listed")
    }

    pub(crate) fn state(&self, plugin: &str) -> String {
        let all = self.runtime.list();
        all.iter().find(|status| status.name == plugin).map(|status| status.state.clone()).unwrap_or_default()
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        self.runtime.offers().tools.iter().map(|tool| tool.item.name.clone()).collect()
    }
}

pub(crate) fn cause(deadline_ms: u64) -> Cause {
    Cause {
        run: Some("run-1".into()),
        conversation: None,
        principal: owner(),
        audience: Audience::Agent,
        deadline_ms,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

pub(crate) fn owner() -> Principal {
    Principal { namespace: "cli".into(), user: "owner".into(), role: Role::Owner, display_name: None, attested: false }
}
