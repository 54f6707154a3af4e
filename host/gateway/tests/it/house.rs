//! A gateway that serves a folder of its own, and requests to it.

use std::sync::Arc;

use homeagent_gateway::{Gateway, Live, Parts, StartError};
use homeagent_journal::Journal;
use homeagent_knowledge::Knowledge;
use homeagent_media::Store;
use homeagent_providers::{Costs, Policy, Providers};
use homeagent_settings::{
    Bindings, Call, CallState, CallUsage, Charge, Database, Ledger, Prices, Secrets, Settings, Sources,
};
use homeagent_types::Role;
use homeagent_types::money::Nano;
use homeagent_types::ports::Listeners;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use jiff::civil::date;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::fakes::{
    FakeAdapters, FakeKeeper, FakeListeners, FakeMemory, FakeModels, FakeMonitor, FakePlugins, FakeTurns,
};

pub struct House {
    pub home: TempDir,
    pub gateway: Gateway,
    pub turns: Arc<FakeTurns>,
    pub plugins: Arc<FakePlugins>,
    pub settings: Settings,
    pub secrets: Secrets,
    pub journal: Journal,
    pub media: Store,
    pub ledger: Ledger,
}

impl House {
    pub async fn open() -> Self {
        Self::with(FakeListeners::none()).await
    }

    pub async fn with(listeners: Arc<dyn Listeners>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let built = build(&home, "127.0.0.1:0", listeners);
        let media = built.0.media.clone();
        let gateway = Gateway::start(built.0).await.unwrap();
        let (turns, plugins, settings, secrets, journal, ledger) = built.1;
        Self { home, gateway, turns, plugins, settings, secrets, journal, media, ledger }
    }

    /// Makes three calls of models today and one in the month before, and has the days begin in Shanghai.
    pub fn spend(&self) {
        for (day, model, plugin, currency, nano) in [
            (date(2026, 10, 31), "deepseek-flash", None, "USD", 2_000_000),
            (date(2026, 11, 30), "deepseek-flash", None, "USD", 4_500_000_000),
            (date(2026, 11, 30), "qwen-plus", Some("diary"), "CNY", 30_000),
            (date(2026, 11, 30), "unheard-of", None, "", 0),
        ] {
            let money = (!currency.is_empty()).then(|| (currency.to_owned(), Nano(nano)));
            let usage = CallUsage { input: 1_000, cached: 400, written: 0, output: 50 };
            let charge = Charge { usage, money: money.into_iter().collect() };
            let call = Call {
                at: 1_796_011_200_000,
                day,
                source: "main".to_owned(),
                model: model.to_owned(),
                line: "main",
                run: Some("run-1".to_owned()),
                conversation: Some("cli:owner".to_owned()),
                principal: plugin.map_or_else(|| "cli:owner".to_owned(), |plugin| format!("plugin:{plugin}")),
                role: Role::Owner,
                plugin: plugin.map(str::to_owned),
                local: false,
                charge: charge.clone(),
            };
            let (held, _) = self.ledger.reserve(&call, &[]).unwrap();
            self.ledger.settle(held, CallState::Settled, "", plugin.is_none(), charge);
        }
        self.settings.set("core.agent.time_zone", "Asia/Shanghai").unwrap();
    }

    pub fn token(&self) -> String {
        std::fs::read_to_string(self.home.path().join("api-token")).unwrap().trim().to_owned()
    }

    /// Over TCP, with these headers only.
    pub async fn bare(&self, method: Method, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        let stream = TcpStream::connect(self.gateway.addr()).await.unwrap();
        Answer::of(send(stream, method, path, headers, body.into()).await).await
    }

    /// Over TCP, as a client with the token does.
    pub async fn remote(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Answer {
        self.remote_with(method, path, &[("content-type", media_type(path))], body).await
    }

    /// The same, with these further headers only.
    pub async fn remote_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let host = self.gateway.addr().to_string();
        let token = format!("Bearer {}", self.token());
        let headers = [&[("host", host.as_str()), ("authorization", token.as_str())], headers].concat();
        self.bare(method, path, &headers, body).await
    }

    /// Over the unix socket.
    pub async fn local(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Answer {
        Answer::of(self.stream(method, path, &[], body).await).await
    }

    /// Over the unix socket, with the answer's body still to come.
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response<Incoming> {
        let stream = UnixStream::connect(self.home.path().join("homed.sock")).await.unwrap();
        let headers = [&[("host", "localhost"), ("content-type", media_type(path))], headers].concat();
        send(stream, method, path, &headers, body.into()).await
    }
}

/// What a body sent there is.
fn media_type(path: &str) -> &'static str {
    if path.contains("/settings/import") { "application/toml" } else { "application/json" }
}

type Behind = (Arc<FakeTurns>, Arc<FakePlugins>, Settings, Secrets, Journal, Ledger);

fn build(home: &TempDir, listen: &str, listeners: Arc<dyn Listeners>) -> (Parts, Behind) {
    let database = Database::open(home.path().join("homeagent.db")).unwrap();
    let secrets = Secrets::open(&database, home.path()).unwrap();
    let settings = Settings::open(&database, &secrets).unwrap();
    let sources = Sources::open(&database).unwrap();
    let journal = Journal::open(&database).unwrap();
    let (ledger, prices) = (Ledger::open(&database).unwrap(), Prices::open(&database).unwrap());
    // Noon of 2026-11-30 in Shanghai.
    let costs = Costs::new(ledger.clone(), prices, settings.clone(), Arc::new(|| 1_796_011_200_000));
    let adapters = Arc::new(FakeAdapters);
    let providers =
        Providers::new(settings.clone(), secrets.clone(), sources.clone(), adapters.clone(), Policy::default());
    let (turns, plugins) = (Arc::new(FakeTurns::default()), Arc::new(FakePlugins::default()));
    let parts = Parts {
        home: home.path().to_path_buf(),
        listen: listen.to_owned(),
        settings: settings.clone(),
        secrets: secrets.clone(),
        sources,
        costs,
        bindings: Bindings::open(&database).unwrap(),
        journal: journal.clone(),
        media: media(home, &settings),
        memory: Arc::new(FakeMemory),
        models: Arc::new(FakeModels),
        keeper: Arc::new(FakeKeeper::with(Live {
            turns: turns.clone(),
            providers: Arc::new(providers.unwrap()),
            plugins: plugins.clone(),
            adapters,
            listeners,
            knowledge: Some(knowledge(home, &settings)),
        })),
        monitor: Arc::new(FakeMonitor),
    };
    (parts, (turns, plugins, settings, secrets, journal, ledger))
}

/// With no model: what is found is found by its words.
fn knowledge(home: &TempDir, settings: &Settings) -> Arc<Knowledge> {
    let (home, embedder) = (home.path().to_path_buf(), tokio::sync::watch::channel(None).1);
    Knowledge::open(homeagent_knowledge::Parts { home, settings: settings.clone(), embedder }).unwrap()
}

fn media(home: &TempDir, settings: &Settings) -> Store {
    let (home, clock) = (home.path().to_path_buf(), Arc::new(homeagent_types::now));
    Store::open(homeagent_media::Parts { home, settings: settings.clone(), network: None, clock }).unwrap()
}

/// Tries to start a gateway; where it starts it is stopped.
pub async fn try_start(home: &TempDir, listen: &str) -> Result<(), StartError> {
    let (parts, _) = build(home, listen, FakeListeners::none());
    Gateway::start(parts).await.map(drop)
}

async fn send<S>(stream: S, method: Method, path: &str, headers: &[(&str, &str)], body: Bytes) -> Response<Incoming>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    sender.send_request(request.body(Full::new(body)).unwrap()).await.unwrap()
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: hyper::HeaderMap,
    pub body: String,
}

impl Answer {
    async fn of(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self { status: head.status, headers: head.headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The document of a problem; panics where it is none.
    #[track_caller]
    pub fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for field in ["type", "title", "detail"] {
            assert!(problem[field].is_string(), "no {field}: {problem}");
        }
        problem
    }

    /// The document of an answer that is no problem.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        self.json()
    }
}
