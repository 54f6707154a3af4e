//! A component of HomeAgent's: queue, deadline, grants and all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_network::Network;
use homeagent_runtime::{Parts, Runtime};
use homeagent_settings::{Database, Grants, PluginData, Secrets, Settings, Spending};
use homeagent_types::ports::{Haste, PluginAdmin as _, Plugins as _};
use homeagent_types::{Audience, Cause, Principal, Role};
use tempfile::TempDir;

use crate::{Contestant, Plugin};

/// As the guest is called, wherever it says so.
const GUEST: &[u8; 4] = b"echo";

/// The runtime, with compiled code in its cache.
pub struct Components {
    executor: Arc<tokio::runtime::Runtime>,
    runtime: Runtime,
    plugins: PathBuf,
    _folder: Option<TempDir>,
}

/// One slot.
pub struct Component {
    executor: Arc<tokio::runtime::Runtime>,
    runtime: Runtime,
    name: String,
}

/// The name of a plugin: as long as [`GUEST`], so that it can stand in its place in the code.
fn name(number: usize) -> String {
    format!("e{number:03}")
}

/// The guest under another name, as another plugin would be: code of its own, compiled by itself.
fn install(plugins: &Path, number: usize) {
    let folder = plugins.join(name(number));
    homeagent_test_artifacts::install(plugins, "echo", &name(number));
    for entry in fs::read_dir(&folder).expect("it was just made") {
        let path = entry.expect("an entry").path();
        let mut bytes = fs::read(&path).expect("a file");
        let manifest = path.extension().is_some_and(|ending| ending == "toml");
        let places: Vec<usize> = (0..bytes.len().saturating_sub(GUEST.len()))
            .filter(|at| bytes[*at..].starts_with(GUEST) && !(manifest && bytes[*at..].starts_with(b"echo.wasm")))
            .collect();
        for at in places {
            bytes[at..at + GUEST.len()].copy_from_slice(name(number).as_bytes());
        }
        fs::write(&path, bytes).expect("the folder takes files");
    }
}

fn runtime(home: &Path, plugins: &Path) -> Runtime {
    let database = Database::open(home.join("homeagent.db")).expect("a database");
    let secrets = Secrets::open(&database, home).expect("secrets");
    let parts = Parts {
        clock: Arc::new(homeagent_types::now),
        settings: Settings::open(&database, &secrets).expect("settings"),
        grants: Grants::open(&database).expect("grants"),
        secrets,
        spending: Spending::open(&database).expect("a table"),
        data: PluginData::open(&database).expect("a table"),
        network: Network::system().expect("the system has certificates"),
        bundled: Vec::new(),
        home: home.to_owned(),
        plugins: plugins.to_owned(),
        cache: home.join("cache"),
        compiler: None,
    };
    Runtime::new(parts).expect("the runtime starts")
}

async fn grant(runtime: &Runtime) {
    for plugin in runtime.list() {
        for capability in &plugin.missing {
            runtime.grant(&plugin.name, capability).await.expect("it asks for it");
        }
    }
}

impl Contestant for Components {
    type Plugin = Component;

    const NAME: &'static str = "component";

    fn prepare(plugins: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        Self::compile(folder.path(), plugins);
        let path = folder.path().to_owned();
        Self { _folder: Some(folder), ..Self::open(&path) }
    }

    fn load(&self, number: usize) -> Component {
        let name = name(number);
        self.executor.block_on(self.runtime.reload(&name, Haste::default())).expect("it loads");
        let mut plugin = Component { executor: Arc::clone(&self.executor), runtime: self.runtime.clone(), name };
        assert_eq!(plugin.call("ready"), "ready");
        plugin
    }

    fn replace(&self, number: usize, plugin: &mut Component) {
        debug_assert!(self.plugins.join(name(number)).is_dir(), "it was installed");
        self.executor.block_on(self.runtime.reload(&plugin.name, Haste::default())).expect("it reloads");
        assert_eq!(plugin.call("ready"), "ready");
    }
}

impl Plugin for Component {
    fn call(&mut self, text: &str) -> String {
        let output = self.runtime.call_tool(&self.name, &self.name, arguments(text), cause());
        let output = self.executor.block_on(output).expect("it answers");
        let returned: String = serde_json::from_str(&output.value).expect("it is a text");
        let returned: serde_json::Value = serde_json::from_str(&returned).expect("it is what was given");
        returned["text"].as_str().expect("it is a text").to_owned()
    }
}

impl Components {
    /// Lays so many packages into a folder and has them compiled, which leaves memory behind in this process.
    pub fn compile(folder: &Path, plugins: usize) {
        let waiting = folder.join("plugins");
        (0..plugins).for_each(|number| install(&waiting, number));
        let executor = tokio::runtime::Runtime::new().expect("an executor");
        executor.block_on(async {
            let runtime = runtime(folder, &waiting);
            runtime.load_all().await;
            grant(&runtime).await;
            runtime.shutdown().await;
        });
    }

    /// Those that were laid there and compiled.
    pub fn open(folder: &Path) -> Self {
        let executor = tokio::runtime::Runtime::new().expect("an executor");
        let plugins = folder.join("plugins");
        let runtime = executor.block_on(async { runtime(folder, &plugins) });
        Self { executor: Arc::new(executor), runtime, plugins, _folder: None }
    }

    /// Loads all at once, as a daemon does that starts.
    pub fn load_all(&self) {
        self.executor.block_on(self.runtime.load_all());
    }

    /// Has one plugin called `calls` times, `at_once` at a time, and returns when all are answered.
    pub fn pipelined(&self, number: usize, calls: usize, at_once: usize, text: &str) {
        let name = name(number);
        self.executor.block_on(async {
            let callers = (0..at_once).map(|_| async {
                for _ in 0..calls / at_once {
                    self.runtime.call_tool(&name, &name, arguments(text), cause()).await.expect("it answers");
                }
            });
            futures::future::join_all(callers).await;
        });
    }
}

/// The arguments of a call.
pub(crate) fn arguments(text: &str) -> String {
    serde_json::json!({ "text": text }).to_string()
}

fn cause() -> Cause {
    Cause {
        run: Some("run-1".to_owned()),
        conversation: None,
        principal: Principal {
            namespace: "cli".to_owned(),
            user: "owner".to_owned(),
            role: Role::Owner,
            display_name: None,
        },
        audience: Audience::Agent,
        deadline_ms: 30_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}
