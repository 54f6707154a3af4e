//! A real `homed` process in a home of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::vendor::Vendor;

/// How long a test waits for what has to come. Generous: it only gives a test that would hang a name.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for what has to come; `what` names it where it does not.
pub(crate) async fn within<T>(what: &str, coming: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(PATIENCE, coming).await;
    came.unwrap_or_else(|_| panic!("waited {} s in vain for {what}", PATIENCE.as_secs()))
}

/// Where a daemon listens that any port will do for.
const ANY_PORT: &str = "127.0.0.1:0";

/// Where nobody listens.
const NOBODY: &str = "127.0.0.1:1";

const HOMED: &str = env!("CARGO_BIN_EXE_homed");

/// The client's program, which `cargo test --workspace` builds beside the daemon's.
pub(crate) fn waiter() -> PathBuf {
    let program = Path::new(HOMED).with_file_name("waiter");
    assert!(program.is_file(), "{} is not there; build it with: cargo build -p homeagent-waiter", program.display());
    program
}

/// The compiled code of the components, shared by all homes of a run: it is checked when it is loaded, so sharing it
/// only saves time.
fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("component-cache")
}

/// Keeps from a daemon what the environment says of the developer's own: keys, models, a data folder, a log level.
fn isolate(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.ends_with("_API_KEY") || name.ends_with("_BASE_URL")) {
            command.env_remove(name);
        }
    }
    // Servers of models that run on this machine are none of a test's: here nobody listens.
    command.env("OLLAMA_HOST", NOBODY).env("LLAMA_ARG_HOST", "127.0.0.1").env("LLAMA_ARG_PORT", "1");
    command.env_remove("HOMEAGENT_HOME").env_remove("HOMEAGENT_LOG").stdin(Stdio::null()).kill_on_drop(true);
}

/// A data folder.
pub(crate) struct Home {
    pub(crate) folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = shared_cache();
        std::fs::create_dir_all(&cache).expect("the target folder takes folders");
        std::os::unix::fs::symlink(cache, folder.path().join("cache")).expect("a link");
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn install(&self, guest: &str, as_folder: &str) -> PathBuf {
        homeagent_test_artifacts::install(&self.path().join("plugins"), guest, as_folder)
    }

    pub(crate) fn homed(&self) -> Command {
        self.command(HOMED, &[], ANY_PORT)
    }

    /// The daemon's command, to listen at this address.
    pub(crate) fn homed_at(&self, address: &str) -> Command {
        self.command(HOMED, &[], address)
    }

    /// The daemon's command, run by another program, whose own arguments go before it.
    pub(crate) fn homed_by(&self, program: &str, arguments: &[&str]) -> Command {
        self.command(program, arguments, ANY_PORT)
    }

    fn command(&self, program: &str, arguments: &[&str], listen: &str) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        if program != HOMED {
            command.arg(HOMED);
        }
        command.args(["run", "--listen", listen, "--home"]).arg(self.path());
        isolate(&mut command);
        command
    }

    /// All that the log files hold.
    pub(crate) fn log(&self) -> String {
        let files = std::fs::read_dir(self.path().join("logs")).expect("there are logs");
        let files = files.map(|file| file.expect("an entry").path()).filter(|path| path.is_file());
        files.map(|file| std::fs::read_to_string(file).expect("it is text")).collect()
    }

    pub(crate) async fn start(self: &Arc<Self>) -> Daemon {
        self.start_with(&[]).await
    }

    /// Starts it with these variables in its environment.
    pub(crate) async fn start_with(self: &Arc<Self>, environment: &[(&str, &str)]) -> Daemon {
        let mut command = self.homed();
        command.envs(environment.iter().copied());
        start(command, Arc::clone(self), |_| self.path().to_owned()).await
    }
}

/// Starts a daemon with this command; `seen` tells from its process where its data folder is from here.
pub(crate) async fn start(mut command: Command, home: Arc<Home>, seen: impl FnOnce(u32) -> PathBuf) -> Daemon {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("homed can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let errors = child.stderr.take().expect("it is piped");
    // Both are read for as long as it runs, so that a full pipe never holds it up.
    let log = watch::Sender::new(String::new());
    let mut logged = log.subscribe();
    tokio::spawn(async move {
        let mut lines = BufReader::new(errors).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            log.send_modify(|log| log.extend([&line, "\n"]));
        }
    });
    let Ok(Some(line)) = lines.next_line().await else {
        // Its end ends the log.
        while logged.changed().await.is_ok() {}
        panic!("homed ended before it was ready:\n{}", *logged.borrow());
    };
    let base = line.strip_prefix("homed ready ").unwrap_or_else(|| panic!("{line}")).to_owned();
    tokio::spawn(async move { while matches!(lines.next_line().await, Ok(Some(_))) {} });
    let folder = seen(child.id().expect("it runs"));
    let token = std::fs::read_to_string(folder.join("api-token")).expect("it is made at the start");
    Daemon { child, base, token: token.trim().to_owned(), folder, home, log: logged }
}

/// A running daemon. Killed when it is dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) base: String,
    pub(crate) token: String,
    /// The data folder, as it is found from here.
    pub(crate) folder: PathBuf,
    pub(crate) home: Arc<Home>,
    log: watch::Receiver<String>,
}

/// What a client printed, and how it ended.
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Said {
    pub(crate) fn ok(self) -> String {
        assert!(self.status.success(), "it failed: {} {}", self.stdout, self.stderr);
        self.stdout.trim_end().to_owned()
    }
}

/// A daemon whose only source is a vendor with an empty script.
pub(crate) async fn with_vendor() -> (Daemon, Vendor) {
    with_vendor_and(&[]).await
}

/// The same, with these guests installed and granted what they ask for.
pub(crate) async fn with_vendor_and(guests: &[&str]) -> (Daemon, Vendor) {
    let home = Arc::new(Home::new());
    for guest in guests {
        home.install(guest, guest);
    }
    let vendor = Vendor::start().await;
    let daemon = home.start().await;
    daemon.use_vendor(&vendor).await;
    daemon.grant_all().await;
    (daemon, vendor)
}

impl Daemon {
    pub(crate) async fn waiter(&self, args: &[&str]) -> Said {
        self.waiter_with(args, &[]).await
    }

    pub(crate) async fn waiter_with(&self, args: &[&str], environment: &[(&str, &str)]) -> Said {
        let mut command = Command::new(waiter());
        command.arg("--home").arg(&self.folder).args(args).envs(environment.iter().copied());
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.expect("waiter can be started");
        Said {
            stdout: String::from_utf8(output.stdout).expect("it prints UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("it prints UTF-8"),
            status: output.status,
        }
    }

    /// Runs a command with `--json` and reads its one document.
    pub(crate) async fn waiter_json(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        serde_json::from_str(&self.waiter(&all).await.ok()).expect("--json prints one JSON document")
    }

    pub(crate) async fn use_vendor(&self, vendor: &Vendor) {
        let add = [
            "source",
            "add",
            "fake",
            "--adapter",
            "openai",
            "--base-url",
            &vendor.base_url,
            "--model",
            "m",
            "--key-env",
            "FAKE_KEY",
        ];
        self.waiter_with(&add, &[("FAKE_KEY", KEY)]).await.ok();
    }

    pub(crate) async fn grant_all(&self) {
        for plugin in self.plugins().await {
            let name = plugin["name"].as_str().expect("a plugin has a name").to_owned();
            for capability in plugin["missing"].as_array().expect("a list") {
                let capability = capability.as_str().expect("a name");
                self.waiter(&["plugin", "grant", &name, capability]).await.ok();
            }
            if plugin["missing"].as_array().is_some_and(|missing| !missing.is_empty()) {
                self.waiter(&["plugin", "reload", &name]).await.ok();
            }
        }
    }

    pub(crate) async fn plugins(&self) -> Vec<Value> {
        let listed = self.waiter_json(&["plugin", "list"]).await;
        let all = listed.as_array().or_else(|| listed["plugins"].as_array());
        all.unwrap_or_else(|| panic!("no list of plugins in {listed}")).clone()
    }

    /// Waits until the log says this, and returns all of it.
    pub(crate) async fn logged(&self, text: &str) -> String {
        let mut log = self.log.clone();
        within(text, log.wait_for(|log| log.contains(text))).await.expect("homed runs").clone()
    }

    /// Asks over HTTP and returns the turn's result.
    pub(crate) async fn ask(&self, text: &str) -> Value {
        let (status, body) = self.post("/api/v1/chat", &serde_json::json!({ "text": text })).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// The reply of [`Daemon::ask`].
    pub(crate) async fn reply(&self, text: &str) -> String {
        let result = self.ask(text).await;
        result["reply"].as_str().unwrap_or_else(|| panic!("there is no reply in {result}")).to_owned()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.request("POST", path, &[("content-type", "application/json")], body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.request("GET", path, &[], String::new()).await
    }

    /// One request over TCP, with the token unless `headers` says otherwise.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> (u16, Value) {
        let response = self.respond(method, path, headers, body).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a whole body").to_bytes();
        let value = serde_json::from_slice(&body);
        (status, value.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned())))
    }

    /// The same, with the answer's body still to come.
    pub(crate) async fn respond(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> hyper::Response<Incoming> {
        let authority = self.base.strip_prefix("http://").expect("the ready line names an address");
        let stream = tokio::net::TcpStream::connect(authority).await.expect("homed listens");
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.expect("homed speaks HTTP");
        tokio::spawn(connection);
        let mut request = hyper::Request::builder().method(method).uri(path).header("host", authority);
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(http_body_util::Full::new(Bytes::from(body))).expect("a valid request");
        sender.send_request(request).await.expect("homed answers")
    }

    /// The kinds of a run's events, in order.
    pub(crate) async fn events(&self, run: &str) -> Vec<Value> {
        let shown = self.waiter_json(&["runs", "show", run]).await;
        shown["events"].as_array().unwrap_or_else(|| panic!("no events in {shown}")).clone()
    }

    pub(crate) async fn kinds(&self, run: &str) -> Vec<String> {
        let events = self.events(run).await;
        events.iter().map(|event| event["kind"].as_str().expect("an event has a kind").to_owned()).collect()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        rustix::process::kill_process(pid.expect("it runs"), signal).expect("it is ours");
    }
}

#[test]
fn whatever_runs_the_daemon_hides_the_developers_models_from_it() {
    let home = Home::new();
    for command in [home.homed(), home.homed_by("sh", &["-c", "exec \"$@\"", "sh"])] {
        let set: BTreeMap<_, _> = command.as_std().get_envs().collect();
        assert_eq!(set.get(OsStr::new("OLLAMA_HOST")), Some(&Some(OsStr::new(NOBODY))), "{command:?}");
        for name in ["HOMEAGENT_HOME", "HOMEAGENT_LOG"] {
            assert_eq!(set.get(OsStr::new(&name)), Some(&None), "{name}: {command:?}");
        }
        for (name, _) in std::env::vars().filter(|(name, _)| name.ends_with("_API_KEY")) {
            assert_eq!(set.get(OsStr::new(&name)), Some(&None), "{name}: {command:?}");
        }
    }
}

/// The key of the fake vendor's source; no file may hold it.
pub(crate) const KEY: &str = "sk-marked-7f3a9c51e2";
