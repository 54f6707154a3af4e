//! Stand-ins for the parts behind the gateway. The client's tests use them too.

mod memory;
mod models;

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use homeagent_agent::{
    ActiveRun, AgentStatus, Ask, Asked, PairingCode, PairingState, PairingStatus, Phase, Policy, Question, ToolListing,
    TurnError, TurnEvent, TurnResult,
};
use homeagent_gateway::{Change, Keeper, Live, LoggedProblem, Monitor, Turns};
use homeagent_types::model::{
    AdapterDescriptor, EmbeddingRequest, Embeddings, Failure, FailureClass, FinishReason, Framing, HttpRequest,
    HttpResponse, KeyPlacement, ModelDelta, ModelInfo, ModelRequest, Rehearsed, StreamEvent, ToolCallDelta, Usage,
};
use homeagent_types::ports::{
    AdapterSession, Adapters, CapabilityStatus, Connection, Frame, Haste, Listeners, OwnAddress, PluginAdmin,
    PluginFolder, PluginFolders, PluginStatus, Removed, ServedPath, ToPeer,
};
use homeagent_types::{
    CallError, Cause, Denial, Effect, Meta, Payload, Peer, Principal, Recording, Role, RouteRequest, RouteResponse,
    Shown, Submission, ToolDefinition, ToolOutput,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

pub use memory::FakeMemory;
pub use models::FakeModels;

/// Keeps an agent that stops and starts at once.
pub struct FakeKeeper {
    live: Arc<Live>,
    stopped: AtomicBool,
    changes: broadcast::Sender<Change>,
}

impl FakeKeeper {
    pub fn with(live: Live) -> Self {
        Self { live: Arc::new(live), stopped: AtomicBool::new(false), changes: broadcast::Sender::new(4) }
    }
}

#[async_trait]
impl Keeper for FakeKeeper {
    fn live(&self) -> Option<Arc<Live>> {
        (!self.stopped.load(Ordering::SeqCst)).then(|| Arc::clone(&self.live))
    }

    fn phase(&self) -> Phase {
        if self.stopped.load(Ordering::SeqCst) { Phase::Stopped } else { Phase::Running }
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    async fn start(&self) -> Result<(), String> {
        self.stopped.store(false, Ordering::SeqCst);
        drop(self.changes.send(Change::Agent(Phase::Running)));
        Ok(())
    }

    async fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(self.changes.send(Change::Agent(Phase::Stopped)));
    }
}

/// An agent that says everything again. `wait` waits until it is stopped; `busy` is not taken.
#[derive(Default)]
pub struct FakeTurns {
    running: Mutex<Vec<(String, oneshot::Sender<()>)>>,
    pub asked: Mutex<Vec<Ask>>,
    pub calls: Mutex<Vec<(String, String, Cause)>>,
    /// The tool `patient` has begun; goes on; has ended.
    pub patient: [Notify; 3],
}

#[async_trait]
impl Turns for FakeTurns {
    async fn ask(&self, ask: Ask) -> Result<Asked, CallError> {
        let text = ask.payload.text().to_owned();
        self.asked.lock().unwrap().push(ask);
        let (events, receiver) = mpsc::channel(64);
        let run = format!("run-{}", self.asked.lock().unwrap().len());
        if text == "busy" {
            return Err(CallError::Busy);
        }
        let stopped = (text == "wait").then(|| {
            let (stop, stopped) = oneshot::channel();
            self.running.lock().unwrap().push((run.clone(), stop));
            stopped
        });
        tokio::spawn(async move {
            let result = TurnResult {
                session: "s".into(),
                run: run.clone(),
                source: Some("fake".into()),
                ..TurnResult::default()
            };
            let mut said = vec![
                TurnEvent::Started { run },
                TurnEvent::Delta(Shown::Reasoning("hm".into())),
                TurnEvent::Delta(Shown::ToolStarted("calc".into())),
                TurnEvent::Delta(Shown::ToolEnded("calc".into())),
            ];
            let (reply, finish) = match stopped {
                Some(_) => (String::new(), "stopped"),
                None => {
                    said.push(TurnEvent::Delta(Shown::Text("you said: ".into())));
                    said.push(TurnEvent::Delta(Shown::Text(text.clone())));
                    (format!("you said: {text}"), "stop")
                }
            };
            for event in said {
                let _ = events.send(event).await;
            }
            if let Some(stopped) = stopped {
                let _ = stopped.await;
            }
            let error =
                (finish == "stopped").then(|| TurnError { code: finish.into(), text: "the owner stopped it".into() });
            let result = TurnResult { reply, finish: finish.into(), error, ..result };
            let _ = events.send(TurnEvent::Finished(result)).await;
        });
        Ok(Asked { input: "input-1".into(), events: receiver })
    }

    fn stop_run(&self, run: Option<&str>) -> Vec<String> {
        let mut running = self.running.lock().unwrap();
        let (stopped, left) = running.drain(..).partition(|(id, _)| run.is_none_or(|run| run == id));
        *running = left;
        let stopped: Vec<(String, oneshot::Sender<()>)> = stopped;
        stopped
            .into_iter()
            .map(|(id, stop)| {
                let _ = stop.send(());
                id
            })
            .collect()
    }

    fn active(&self) -> Vec<ActiveRun> {
        let running = self.running.lock().unwrap();
        let active = running.iter().map(|(run, _)| ActiveRun {
            run: run.clone(),
            conversation: "api:owner".into(),
            principal: "api:owner".into(),
            started_at: 1_700_000_000_000,
        });
        active.collect()
    }

    fn status(&self) -> AgentStatus {
        AgentStatus {
            state: Phase::Running,
            queued: 0,
            running: self.running.lock().unwrap().len(),
            turns: self.asked.lock().unwrap().len() as u64,
            source: None,
            model: None,
            usage: Usage { input: 1200, output: 80, cached: None, cache_written: None },
        }
    }

    fn tools(&self, _: Role) -> Vec<ToolListing> {
        let tool = ToolDefinition {
            name: "calc".into(),
            description: "Reckons, 也会算术\nand more".into(),
            parameters: serde_json::json!({ "type": "object" }),
            effect: Effect::Read,
            min_role: None,
            stateless: true,
            no_memory: false,
            cleaner: None,
            timeout_ms: None,
            meta: Vec::new(),
        };
        vec![ToolListing { owner: "calc".into(), least_role: tool.least_role(), policy: Policy::Allow, tool }]
    }

    async fn call_tool(&self, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError> {
        self.calls.lock().unwrap().push((name.to_owned(), args.clone(), cause));
        let output = |value: String, failed| ToolOutput { value, media: Vec::new(), failed, meta: Vec::new() };
        match name {
            "echo" => Ok(output(args, false)),
            "calc" => Ok(ToolOutput::text("3\u{1b}[2J")),
            "sad" => Ok(output("\"it did not work\"".into(), true)),
            "shy" => Err(CallError::Denied(Denial {
                capability: "http".into(),
                attempt: "GET https://example.org".into(),
                remedy: "waiter plugin grant shy http".into(),
            })),
            "timer_list" => Ok(output(
                r#"{"timers":[{"name":"tea","when":"0 9 * * *","next":"2026-12-01T09:00:00+08:00","paused":false,
                    "urgent":false,"missed":"once","by":"cli:me","message":"drink \u001b[2Jtea"}],
                    "total":1,"next":null,"time_zone":"Asia/Shanghai"}"#
                    .into(),
                false,
            )),
            "timer_pause" if args.contains("tea") => Ok(output(
                r#"{"name":"tea","when":"0 9 * * *","next":null,"paused":true,"urgent":false,"missed":"once",
                    "by":"cli:me","tool":"lamp","arguments":{"on":true},"report":true,"of":"cli:ann"}"#
                    .into(),
                false,
            )),
            "timer_resume" if args.contains("tea") => Ok(output(
                r#"{"name":"tea","when":"0 9 * * *","next":"2026-12-01T09:00:00+08:00","paused":false,"urgent":true,
                    "missed":"all","by":"cli:me","message":"drink tea","to":"qq:1"}"#
                    .into(),
                false,
            )),
            "timer_cancel" if args.contains("tea") => Ok(output(r#"{"cancelled":"tea"}"#.into(), false)),
            "slow" => Err(CallError::Timeout),
            "patient" => {
                let [began, go_on, ended] = &self.patient;
                began.notify_one();
                go_on.notified().await;
                ended.notify_one();
                Ok(ToolOutput::text("done"))
            }
            _ => Err(CallError::NotFound(format!("there is no tool \"{name}\""))),
        }
    }

    fn pair(&self) -> Result<PairingCode, CallError> {
        Ok(PairingCode { id: "pairing-1".into(), code: "AB23CD45".into(), expires_at: 1_700_000_000_000 })
    }

    async fn pairing(&self, _: Duration) -> PairingStatus {
        PairingStatus {
            id: "pairing-1".into(),
            state: PairingState::Paired,
            channel: Some("qq".into()),
            user: Some("10001".into()),
            name: Some("Ada\u{1b}[2J".into()),
            reason: None,
        }
    }

    fn questions(&self) -> Vec<Question> {
        vec![question()]
    }

    fn answer(&self, id: u64, _: bool, _: &Principal) -> Option<Question> {
        (id == question().id).then(question)
    }
}

fn question() -> Question {
    Question {
        id: 3,
        run: Some("0199a0c7".into()),
        tool: "qq_kick".into(),
        arguments: r#"{"user":"10001"}"#.into(),
        by: "Ada (qq:10002)".into(),
        conversation: "qq:group/7".into(),
        reason: "Your settings want you to be asked about it.".into(),
        asked_in: None,
        asked_at: 1_700_000_000_000,
        expires_at: 1_700_000_300_000,
    }
}

/// Two plugins: `calc`, which is live, and `qq`, which is not.
#[derive(Default)]
pub struct FakePlugins {
    pub done: Mutex<Vec<String>>,
}

fn plugin(name: &str) -> PluginStatus {
    let live = name == "calc";
    PluginStatus {
        name: name.into(),
        version: "0.1.0".into(),
        summary: if live { "Reckons".into() } else { "QQ 频道".into() },
        origin: if live { "bundled" } else { "installed" }.into(),
        folder: (!live).then(|| "/home/plugins/qq".into()),
        state: if live { "live" } else { "failed" }.into(),
        reason: (!live).then(|| "it trapped five times in ten minutes".into()),
        digest: "0".repeat(64),
        publisher: (!live).then(|| "5891-b5b5-22d5-df08-6d0f-f0b1-10fb-d9d2".into()),
        restarts: if live { 0 } else { 5 },
        calls: 12,
        waiting: if live { 3 } else { 0 },
        last_error: None,
        uptime_ms: 1000,
        granted: Vec::new(),
        missing: if live { Vec::new() } else { vec!["http".into(), "listen".into()] },
        capabilities: if live { Vec::new() } else { vec![partly(), capability("listen", "missing")] },
        tools: if live { vec!["calc".into()] } else { Vec::new() },
        addresses: Vec::new(),
        sockets: Vec::new(),
    }
}

fn capability(name: &str, state: &str) -> CapabilityStatus {
    CapabilityStatus {
        name: name.into(),
        state: state.into(),
        asked: serde_json::Map::new(),
        granted: None,
        reason: None,
    }
}

fn partly() -> CapabilityStatus {
    let hosts = |hosts: &[&str]| serde_json::Map::from_iter([("hosts".to_owned(), hosts.into())]);
    CapabilityStatus {
        asked: hosts(&["api.example.com", "evil.example"]),
        granted: Some(hosts(&["api.example.com"])),
        ..capability("http", "partly")
    }
}

impl FakePlugins {
    fn note(&self, what: String, name: &str) -> Result<PluginStatus, CallError> {
        self.done.lock().unwrap().push(what);
        plugin_named(name)
    }
}

fn plugin_named(name: &str) -> Result<PluginStatus, CallError> {
    match name {
        "calc" | "qq" => Ok(plugin(name)),
        _ => Err(CallError::NotFound(format!("there is no plugin \"{name}\""))),
    }
}

#[async_trait]
impl PluginAdmin for FakePlugins {
    fn list(&self) -> Vec<PluginStatus> {
        vec![plugin("calc"), plugin("qq")]
    }

    async fn reload(&self, name: &str, haste: Haste) -> Result<PluginStatus, CallError> {
        if haste.wait == Some(Duration::ZERO) {
            return Err(CallError::Conflict(format!("{name} is busy")));
        }
        self.note(format!("reload {name}{}", if haste.force { " by force" } else { "" }), name)
    }

    fn folders(&self) -> PluginFolders {
        let entry = |name: &str, plugin: Option<&str>, state: &str, reason: Option<&str>| PluginFolder {
            path: format!("/home/plugins/{name}"),
            plugin: plugin.map(str::to_owned),
            state: state.into(),
            reason: reason.map(str::to_owned),
        };
        let entries = vec![
            entry("broken", None, "refused", Some("plugin.toml of /home/plugins/broken is not valid: a typo")),
            entry("qq", Some("qq"), "failed", Some("it trapped five times in ten minutes")),
        ];
        PluginFolders { folder: "/home/plugins".into(), problem: None, entries }
    }

    async fn install(&self, folder: &Path) -> Result<PluginStatus, CallError> {
        match folder.file_name().and_then(|name| name.to_str()) {
            Some("broken") => Err(CallError::Invalid("plugin.toml of broken is not valid: a typo".into())),
            name => self.note(format!("install {}", folder.display()), name.unwrap_or_default()),
        }
    }

    async fn remove(&self, name: &str) -> Result<Removed, CallError> {
        self.note(format!("remove {name}"), name)?;
        Ok(Removed { removed: name.into(), bundled: None })
    }

    async fn load(&self, name: &str) -> Result<PluginStatus, CallError> {
        self.note(format!("load {name}"), name)
    }

    async fn unload(&self, name: &str) -> Result<(), CallError> {
        self.note(format!("unload {name}"), name).map(drop)
    }

    async fn grant(&self, name: &str, capability: &str) -> Result<(), CallError> {
        self.note(format!("grant {name} {capability}"), name).map(drop)
    }

    async fn try_channel(
        &self,
        name: &str,
        _: Option<&Path>,
        recordings: Vec<Recording>,
    ) -> Result<Vec<Result<Vec<Submission>, CallError>>, CallError> {
        plugin_named(name)?;
        let input = |frame: &Frame| Submission {
            platform_id: None,
            peer: Peer::Person("1".into()),
            user: "1".into(),
            display_name: None,
            connection: None,
            kind: "message".into(),
            payload: Payload::Text(format!("{frame:?}")),
            media: Vec::new(),
            reply_route: None,
            received_at: None,
            meta: Vec::new(),
        };
        Ok(recordings.into_iter().map(|it| Ok(it.frames.iter().map(input).collect())).collect())
    }

    async fn revoke(&self, name: &str, capability: &str) -> Result<(), CallError> {
        self.note(format!("revoke {name} {capability}"), name).map(drop)
    }
}

/// One adapter, `parrot`, that answers by itself and reads every event of a stream as a piece of text.
pub struct FakeAdapters;

#[async_trait]
impl Adapters for FakeAdapters {
    fn descriptor(&self, name: &str) -> Option<AdapterDescriptor> {
        let offline = match name {
            "parrot" => true,
            "vendor" => false,
            _ => return None,
        };
        Some(AdapterDescriptor {
            name: name.into(),
            version: "0.1.0".into(),
            summary: "says it again".into(),
            default_base_url: (!offline).then(|| "https://api.vendor.example/v1".into()),
            default_model: offline.then(|| "parrot-1".into()),
            key: KeyPlacement::None,
            framing: Framing::Sse,
            features: Vec::new(),
            offline,
            meta: Vec::new(),
        })
    }

    fn names(&self) -> Vec<String> {
        vec!["parrot".into(), "vendor".into()]
    }

    async fn open(&self, _: &str) -> Result<Box<dyn AdapterSession>, CallError> {
        Ok(Box::new(Parrot))
    }
}

struct Parrot;

#[async_trait]
impl AdapterSession for Parrot {
    async fn build_request(&mut self, _: &ModelRequest) -> Result<HttpRequest, CallError> {
        Err(CallError::Other("a parrot asks nobody".into()))
    }

    async fn parse_response(&mut self, _: HttpResponse) -> Result<Vec<ModelDelta>, CallError> {
        Ok(Vec::new())
    }

    async fn classify_error(&mut self, answer: HttpResponse) -> Result<Failure, CallError> {
        let message = String::from_utf8_lossy(&answer.body).into_owned();
        Ok(Failure { class: FailureClass::Auth, message, retry_after_ms: None })
    }

    async fn step(&mut self, events: Vec<StreamEvent>) -> Result<Vec<ModelDelta>, CallError> {
        Ok(events.into_iter().map(|event| ModelDelta::Text(event.data)).collect())
    }

    async fn end(&mut self) -> Result<Vec<ModelDelta>, CallError> {
        let call = ToolCallDelta {
            index: None,
            id: Some("1".into()),
            name: Some("add".into()),
            arguments: "{\"a\":1.000000000000000000001}".into(),
        };
        Ok(vec![ModelDelta::ToolCall(call), ModelDelta::Finish(FinishReason::ToolCalls)])
    }

    async fn build_models_request(&mut self, _: &Meta) -> Result<HttpRequest, CallError> {
        let get =
            |path: &str| HttpRequest { method: "GET".into(), path: path.into(), headers: Vec::new(), body: Vec::new() };
        Ok(get("/models"))
    }

    async fn parse_models(&mut self, answer: HttpResponse) -> Result<Result<Vec<ModelInfo>, Failure>, CallError> {
        let models = serde_json::from_slice(&answer.body).map_err(|error| CallError::Other(error.to_string()))?;
        Ok(Ok(models))
    }

    async fn build_embedding_request(&mut self, _: &EmbeddingRequest) -> Result<HttpRequest, CallError> {
        Err(CallError::Invalid("a parrot has no vectors".into()))
    }

    async fn parse_embeddings(&mut self, _: HttpResponse) -> Result<Result<Embeddings, Failure>, CallError> {
        Ok(Ok(Embeddings { vectors: Vec::new(), usage: None }))
    }

    async fn rehearse(&mut self, _: &ModelRequest) -> Result<Vec<Rehearsed>, CallError> {
        let said = |delta| Rehearsed { pause_ms: 0, delta };
        Ok(vec![said(ModelDelta::Text("OK".into())), said(ModelDelta::Finish(FinishReason::Stop))])
    }
}

/// A vendor on a port of this machine that gives these answers, one after another; the address of its API.
pub async fn vendor(answers: Vec<(u16, &'static str)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") && stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {}
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n");
            let answer = format!("{head}content-type: application/json\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.expect("the client reads");
        }
    });
    url
}

/// The slot's end of a connection.
pub struct ChatEnd {
    pub attested: Option<Principal>,
    pub meta: Meta,
    pub frames: mpsc::Receiver<Result<Frame, String>>,
    pub to_peer: mpsc::UnboundedSender<ToPeer>,
}

impl ChatEnd {
    /// The next frame, or why the connection was closed.
    pub async fn next(&mut self) -> Result<Frame, String> {
        self.frames.recv().await.unwrap_or_else(|| Err("less-relevant".into()))
    }

    pub fn say(&self, text: &str) {
        self.to_peer.send(ToPeer::Frame(Frame::Text(text.into()))).unwrap();
    }
}

/// Holds the listener `chat`, unless told otherwise; each connection's other end goes to the test.
pub struct FakeListeners {
    ends: Option<mpsc::UnboundedSender<ChatEnd>>,
    /// How many frames wait before the slot's queue is full.
    room: usize,
}

impl FakeListeners {
    pub fn new(room: usize) -> (Arc<Self>, mpsc::UnboundedReceiver<ChatEnd>) {
        let (ends, accepted) = mpsc::unbounded_channel();
        (Arc::new(Self { ends: Some(ends), room }), accepted)
    }

    /// Nobody holds a listener.
    pub fn none() -> Arc<Self> {
        Arc::new(Self { ends: None, room: 1 })
    }
}

#[async_trait]
impl Listeners for FakeListeners {
    fn served(&self, _path: &str) -> Option<ServedPath> {
        None
    }

    async fn answer(&self, plugin: &str, _: RouteRequest) -> Result<RouteResponse, CallError> {
        Err(CallError::NotFound(format!("there is no plugin \"{plugin}\"")))
    }

    fn own_addresses(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn note_addresses(&self, _: BTreeMap<String, Vec<OwnAddress>>) {}

    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    async fn connect(
        &self,
        listener: &str,
        attested: Option<Principal>,
        meta: Meta,
    ) -> Result<Box<dyn Connection>, CallError> {
        let Some(ends) = self.ends.as_ref().filter(|_| listener == "chat") else {
            return Err(CallError::NotFound(format!("no plugin holds the listener \"{listener}\"")));
        };
        let (to_slot, frames) = mpsc::channel(self.room);
        let (to_peer, from_slot) = mpsc::unbounded_channel();
        let _ = ends.send(ChatEnd { attested, meta, frames, to_peer });
        Ok(Box::new(FakeConnection { to_slot, from_slot: tokio::sync::Mutex::new(from_slot) }))
    }
}

struct FakeConnection {
    to_slot: mpsc::Sender<Result<Frame, String>>,
    from_slot: tokio::sync::Mutex<mpsc::UnboundedReceiver<ToPeer>>,
}

#[async_trait]
impl Connection for FakeConnection {
    async fn receive(&self, frame: Frame) -> Result<(), CallError> {
        self.to_slot.send(Ok(frame)).await.map_err(|_| CallError::NotLive)
    }

    async fn next(&self) -> Option<ToPeer> {
        self.from_slot.lock().await.recv().await
    }

    async fn closed(self: Box<Self>, reason: String) {
        let _ = self.to_slot.send(Err(reason)).await;
    }
}

/// A daemon that logged one warning.
pub struct FakeMonitor;

impl Monitor for FakeMonitor {
    fn problems(&self) -> Vec<LoggedProblem> {
        vec![LoggedProblem {
            at: 1_700_000_000_000,
            level: "warn".into(),
            origin: "plugin".into(),
            text: "the plugin failed; starting it again".into(),
            run: Some("0199a0c7".into()),
        }]
    }

    fn counted(&self) -> String {
        "# HELP counted_total What is counted\n# TYPE counted_total counter\ncounted_total 3\n\n".into()
    }
}
