//! What it costs to leave the host: a tool call and the handlers of a stage, through everything that lies between a turn
//! and a component - the slot's queue, the deadline, the grants, the copy in and out.
//!
//! A tool call is compared, in the same run, with what one would do without components: a program that is kept running
//! and is asked over pipes, a line each way. `cat` is the cheapest there can be: it does not even look at the line.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use homeagent_runtime::{Parts, Runtime};
use homeagent_settings::{Database, Grants, PluginData, Secrets, Settings, Spending};
use homeagent_types::ports::{PluginAdmin, Plugins};
use homeagent_types::stage::{Patch, Stage, StageContext, StageData};
use homeagent_types::{Audience, Cause, Conversation, Principal, Role};
use tempfile::TempDir;

const SIZES: [usize; 3] = [32, 1 << 10, 64 << 10];

/// All of one plugin: how they are asked is the same.
const HANDLERS: usize = 10;

/// As many calls as are under way at once where throughput is measured.
const PIPELINED: usize = 64;

/// A runtime with the guests `echo` and `upper`, with everything granted.
async fn runtime(folder: &TempDir) -> Runtime {
    let database = Database::open(folder.path().join("homeagent.db")).expect("a new database");
    let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
    let parts = Parts {
        clock: std::sync::Arc::new(homeagent_types::now),
        settings: Settings::open(&database, &secrets).expect("new settings"),
        grants: Grants::open(&database).expect("new grants"),
        secrets,
        data: PluginData::open(&database).expect("nothing is kept yet"),
        network: homeagent_network::Network::system().expect("the system has certificates"),
        spending: Spending::open(&database).expect("a new table"),
        bundled: Vec::new(),
        home: folder.path().to_owned(),
        plugins: folder.path().join("plugins"),
        cache: folder.path().join("cache"),
        compiler: None,
    };
    for guest in ["echo", "upper"] {
        homeagent_test_artifacts::install(&parts.plugins, guest, guest);
    }
    let runtime = Runtime::new(parts).expect("the runtime starts");
    runtime.load_all().await;
    for plugin in runtime.list() {
        for capability in &plugin.missing {
            runtime.grant(&plugin.name, capability).await.expect("it asks for it");
        }
    }
    runtime
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
            attested: false,
        },
        audience: Audience::Agent,
        deadline_ms: 30_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

/// JSON of `size` bytes.
fn arguments(size: usize) -> String {
    format!(r#"{{"text":"{}"}}"#, "x".repeat(size - r#"{"text":""}"#.len()))
}

async fn call(runtime: &Runtime, arguments: &str) {
    let output = runtime.call_tool("echo", "echo", arguments.to_owned(), cause()).await.expect("it answers");
    black_box(output);
}

async fn stage(runtime: &Runtime) -> Vec<Patch> {
    let conversation = Conversation::person("cli", "owner");
    let context = StageContext {
        stage: Stage::BeforeOutput,
        data: StageData::Output { text: "the kettle is on".to_owned(), conversation },
        turn_data: Vec::new(),
        cause: cause(),
    };
    runtime.run_stage("upper", context).await.expect("it answers")
}

/// A program that returns each line it is given.
struct Program {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn start() -> Self {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("there is a cat");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, answers }
    }

    fn call(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        // A pipe holds 64 KiB: more than that has to be read while it is written.
        let mut answer = String::with_capacity(line.len());
        for part in line.as_bytes().chunks(32 << 10) {
            stdin.write_all(part).expect("it reads");
            let before = answer.len();
            while answer.len() - before < part.len() && !answer.ends_with('\n') {
                let available = self.answers.fill_buf().expect("it answers");
                let taken = available.len();
                answer.push_str(std::str::from_utf8(available).expect("it is what was written"));
                self.answers.consume(taken);
            }
        }
        black_box(answer);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn calls(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().expect("an executor");
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = executor.block_on(runtime(&folder));

    let mut group = criterion.benchmark_group("tool call");
    for size in SIZES {
        group.throughput(Throughput::Bytes(size as u64));
        let arguments = arguments(size);
        group.bench_with_input(BenchmarkId::new("a component", size), &arguments, |bencher, arguments| {
            bencher.to_async(&executor).iter(|| call(&runtime, arguments));
        });
        let line = format!("{arguments}\n");
        let mut program = Program::start();
        group.bench_with_input(BenchmarkId::new("a program over pipes", size), &line, |bencher, line| {
            bencher.iter(|| program.call(line));
        });
    }
    group.throughput(Throughput::Elements(PIPELINED as u64));
    let arguments = arguments(SIZES[0]);
    group.bench_function(BenchmarkId::new("many at once", PIPELINED), |bencher| {
        bencher
            .to_async(&executor)
            .iter(|| futures::future::join_all((0..PIPELINED).map(|_| call(&runtime, &arguments))));
    });
    group.finish();

    let mut group = criterion.benchmark_group("stage");
    group.bench_function("one handler", |bencher| {
        bencher.to_async(&executor).iter(|| stage(&runtime));
    });
    group.bench_function("ten handlers side by side", |bencher| {
        bencher.to_async(&executor).iter(|| futures::future::join_all((0..HANDLERS).map(|_| stage(&runtime))));
    });
    group.bench_function("ten rewriters one after another", |bencher| {
        bencher.to_async(&executor).iter(async || {
            for _ in 0..HANDLERS {
                black_box(stage(&runtime).await);
            }
        });
    });
    group.finish();
    executor.block_on(runtime.shutdown());
}

criterion_group!(benches, calls);
criterion_main!(benches);
