//! What a turn costs beside its model: everything from the question to the result, with a model that answers at once.
//!
//! Most of it are the commits of the journal, so one append is measured in the same run, on the same disk: that of the
//! temporary folder (`TMPDIR`).

use std::sync::Arc;

use async_trait::async_trait;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use homeagent_agent::{Agent, Ask, Parts, TurnEvent, prompt};
use homeagent_journal::{EventKind, Journal, NewEvent};
use homeagent_media::Store;
use homeagent_memory::context::RelevanceContext;
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::model::{AssistantAnswer, Completion, ContentPart, FinishReason, Message, ToolSpec};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, PluginStatus, Plugins, Progress};
use homeagent_types::stage::{Patch, StageContext};
use homeagent_types::{
    CallError, Cause, Conversation, Offers, Output, OutputDelta, Principal, Receipt, Role, ToolOutput, tokens,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Turns that fill a window of `core.agent.window_events` messages: each adds a question and an answer.
const FILLING: usize = 100;

/// As many tools as a model is shown at most.
const TOOLS: usize = 24;

/// As many as the agent runs at once.
const CONVERSATIONS: usize = 4;

struct InstantModel;

#[async_trait]
impl Models for InstantModel {
    async fn complete(&self, _: LineRequest<'_>, _: &dyn Progress) -> Result<Completion, ModelsFailure> {
        let text = "今天晚上吃面条。".to_owned();
        let answer = AssistantAnswer { text, finish: Some(FinishReason::Stop), ..AssistantAnswer::default() };
        Ok(Completion { source: "main".to_owned(), adapter: "instant".to_owned(), model: "instant".to_owned(), answer })
    }
}

/// A home without plugins. The agent calls only what is offered.
#[derive(Default)]
struct NoPlugins(Arc<Offers>);

#[async_trait]
impl Plugins for NoPlugins {
    fn offers(&self) -> Arc<Offers> {
        Arc::clone(&self.0)
    }

    async fn call_tool(&self, _: &str, _: &str, _: String, _: Cause) -> Result<ToolOutput, CallError> {
        Err(CallError::NotLive)
    }

    async fn run_stage(&self, _: &str, _: StageContext) -> Result<Vec<Patch>, CallError> {
        Err(CallError::NotLive)
    }

    async fn deliver(&self, _: &str, _: Output, _: Cause) -> Result<Receipt, CallError> {
        Err(CallError::NotLive)
    }

    fn show(&self, _: &str, _: Vec<OutputDelta>) {}

    async fn reload_plugin(&self, plugin: &str) -> Result<PluginStatus, CallError> {
        Err(CallError::NotFound(plugin.to_owned()))
    }

    fn publish(&self, _: &str, _: serde_json::Value, _: Cause) {}
}

struct Home {
    runtime: Runtime,
    agent: Arc<Agent>,
    journal: Journal,
    _folder: TempDir,
}

fn home() -> Home {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("homeagent.db")).expect("a new database");
    let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
    let journal = Journal::open(&database).expect("a new journal");
    let settings = Settings::open(&database, &secrets).expect("new settings");
    let media = Store::open(homeagent_media::Parts {
        home: folder.path().to_path_buf(),
        settings: settings.clone(),
        network: None,
        clock: Arc::new(homeagent_types::now),
    });
    let context = RelevanceContext::of_home(folder.path(), &journal, &settings).expect("the contexts open");
    let parts = Parts {
        journal: journal.clone(),
        settings,
        bindings: Bindings::open(&database).expect("new bindings"),
        plugins: Arc::new(NoPlugins::default()),
        models: Arc::new(InstantModel),
        media: media.expect("a new store"),
        memory: None,
        context,
        toolboxes: Vec::new(),
        home: folder.path().to_path_buf(),
    };
    let agent = runtime.block_on(Agent::start(parts)).expect("the agent starts");
    Home { runtime, agent, journal, _folder: folder }
}

/// A turn from the question to its result, which has to be the model's answer.
async fn turn(agent: &Agent, conversation: &str) {
    let owner = Principal {
        namespace: "local".to_owned(),
        user: "me".to_owned(),
        role: Role::Owner,
        display_name: None,
        attested: false,
    };
    let question = Ask::text("今天晚上想吃什么？", Conversation::person("api", conversation), owner);
    let mut asked = agent.ask(question).await.expect("the question is taken");
    while let Some(event) = asked.events.recv().await {
        if let TurnEvent::Finished(result) = event {
            assert_eq!(result.finish, "stop", "{result:?}");
            return;
        }
    }
    panic!("a turn ended without a result");
}

fn append(session: &str) -> NewEvent {
    NewEvent {
        session: session.to_owned(),
        run: None,
        conversation: "api:private:floor".to_owned(),
        kind: EventKind::UserMessageAdded,
        audience: "api:private:floor".to_owned(),
        payload: json!({ "text": "今天晚上想吃什么？" }),
    }
}

/// A question and its answer, as often as it takes to fill a window.
fn window() -> Vec<Message> {
    let said = |number: usize| {
        let question = ContentPart::Text(format!("{number}: 今天晚上想吃什么？{}", "冰箱里还有很多东西。".repeat(10)));
        let text = "今天晚上吃面条。".repeat(20);
        let answer = Message::Assistant { text, reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() };
        [Message::User(vec![question]), answer]
    };
    (0..FILLING).flat_map(said).collect()
}

fn tools() -> Vec<ToolSpec> {
    let tool = |number: usize| ToolSpec {
        name: format!("tool_{number:02}"),
        description: "Does what its name says, and says what came of it.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "what": { "type": "string" } } }),
    };
    (0..TOOLS).map(tool).collect()
}

/// What each model call needs before the adapter is asked.
fn prompts(criterion: &mut Criterion) {
    let (window, tools) = (window(), tools());
    let head = prompt::head("You are 小满, the voice of this home.");
    let added = ["It rains.".to_owned()];
    criterion.bench_function("prompt assembly, full window, 24 tools", |bencher| {
        bencher.iter(|| prompt::assemble(&head, window.clone(), tools.clone(), &added));
    });
    let prompt = prompt::assemble(&head, window, tools, &added);
    criterion.bench_function("its tokens, estimated", |bencher| bencher.iter(|| tokens::of_prompt(&prompt)));
}

fn turns(criterion: &mut Criterion) {
    let Home { runtime, agent, journal, _folder } = home();
    let names: Vec<String> = (0..CONVERSATIONS).map(|number| format!("full-{number}")).collect();
    runtime.block_on(async {
        for name in &names {
            for _ in 0..FILLING {
                turn(&agent, name).await;
            }
        }
    });
    let session = runtime.block_on(journal.current_session("api:private:floor")).expect("a session");

    let mut group = criterion.benchmark_group("turn");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one append to the journal, to compare", |bencher| {
        bencher.to_async(&runtime).iter(|| journal.append(append(&session)));
    });
    group.bench_function("one conversation, full window", |bencher| {
        bencher.to_async(&runtime).iter(|| turn(&agent, &names[0]));
    });
    group.throughput(Throughput::Elements(CONVERSATIONS as u64));
    group.bench_function("four conversations, full windows", |bencher| {
        bencher.to_async(&runtime).iter(|| futures::future::join_all(names.iter().map(|name| turn(&agent, name))));
    });
    group.finish();
}

criterion_group!(benches, turns, prompts);
criterion_main!(benches);
