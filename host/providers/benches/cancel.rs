//! How long it takes from giving a call up to the vendor's seeing its connection close.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use homeagent_providers::{Policy, Providers};
use homeagent_settings::{Database, Secrets, Settings, SourceLine, SourceRecord, Sources};
use homeagent_test_adapters::Native;
use homeagent_types::model::{Message, ModelDelta, Prompt};
use homeagent_types::ports::{LineRequest, Models as _, Progress};
use homeagent_types::{Audience, Cause, Principal, Role};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};

const BEGINNING: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
    37\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\r\n2\r\n\n\n\r\n";

/// Tells of the first piece.
struct First(Notify);

impl Progress for First {
    fn piece(&self, _: &ModelDelta) {
        self.0.notify_one();
    }

    fn restart(&self) {}
}

fn providers(folder: &std::path::Path, url: String) -> Providers {
    let database = Database::open(folder.join("homeagent.db")).expect("the database opens");
    let secrets = Secrets::open(&database, folder).expect("the secrets open");
    let settings = Settings::open(&database, &secrets).expect("the settings open");
    let sources = Sources::open(&database).expect("the sources open");
    let record = SourceRecord {
        name: "a".to_owned(),
        line: SourceLine::Main,
        adapter: "openai".to_owned(),
        base_url: url,
        model: "m".to_owned(),
        secret: None,
        options: BTreeMap::new(),
        position: 0,
        enabled: true,
    };
    sources.add(&record).expect("added");
    Providers::new(settings, secrets, sources, Arc::new(Native), Policy::default()).expect("set up")
}

/// One call that is given up in the midst of its answer.
async fn given_up(providers: &Providers, listener: &TcpListener) -> Duration {
    let (tell, closed) = oneshot::channel();
    let vendor = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut bytes = [0; 1 << 16];
        let _ = stream.read(&mut bytes).await;
        stream.write_all(BEGINNING).await.expect("sent");
        tokio::spawn(async move {
            while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
            let _ = tell.send(Instant::now());
        });
    };
    let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
    let principal = Principal {
        namespace: "cli".to_owned(),
        user: "owner".to_owned(),
        role: Role::Owner,
        display_name: None,
        attested: true,
    };
    let audience = Audience::Person(principal.to_string());
    let cause =
        Cause { run: None, conversation: None, audience, principal, deadline_ms: 60_000, chain: vec![], meta: vec![] };
    let first = First(Notify::new());
    let call = async {
        let request = LineRequest { line: SourceLine::Main, prompt: &prompt, cause: &cause };
        tokio::select! {
            _ = providers.complete(request, &first) => panic!("it never ends"),
            // Before the call is dropped.
            moment = async { first.0.notified().await; Instant::now() } => moment,
        }
    };
    let ((), given_up) = tokio::join!(vendor, call);
    closed.await.expect("the vendor sees it").saturating_duration_since(given_up)
}

fn cancel(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let providers = runtime.block_on(async { providers(folder.path(), url) });
    criterion.bench_function("give up to closed socket", |bencher| {
        bencher.iter_custom(|times| {
            runtime.block_on(async {
                let mut sum = Duration::ZERO;
                for _ in 0..times {
                    sum += Box::pin(given_up(&providers, &listener)).await;
                }
                sum
            })
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(5));
    targets = cancel
}
criterion_main!(benches);
