//! Whatever happens, history reads in order, and recovering twice is recovering once.

use homeagent_journal::{Acceptance, Event, EventKind, Journal, NewEvent, RunStatus};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::home::{Home, accept, start};

const CONVERSATIONS: [&str; 2] = ["qq:private:小明", "cli"];

#[derive(Debug, Clone)]
enum Step {
    Accept { conversation: usize, platform_id: u8 },
    Start { conversation: usize, inputs: usize, acts: bool },
    Append { conversation: usize, kind: usize, text: String },
    Queue { conversation: usize, output: u8 },
    Sent { conversation: usize, output: u8 },
    Finish { status: RunStatus },
    NewSession { conversation: usize },
    Crash,
}

const APPENDED: [EventKind; 5] = [
    EventKind::UserMessageAdded,
    EventKind::AssistantMessageAdded,
    EventKind::ToolResultRecorded,
    EventKind::ModelCalled,
    EventKind::SystemPromptSnapshotted,
];

fn step() -> impl Strategy<Value = Step> {
    let conversation = || 0..CONVERSATIONS.len();
    let status = prop_oneof![Just(RunStatus::Completed), Just(RunStatus::Failed), Just(RunStatus::Cancelled)];
    prop_oneof![
        3 => (conversation(), 0..6_u8).prop_map(|(conversation, platform_id)| Step::Accept { conversation, platform_id }),
        2 => (conversation(), 0..3_usize, any::<bool>())
            .prop_map(|(conversation, inputs, acts)| Step::Start { conversation, inputs, acts }),
        4 => (conversation(), 0..APPENDED.len(), "[a-z你好\"\\\\]{0,4}")
            .prop_map(|(conversation, kind, text)| Step::Append { conversation, kind, text }),
        1 => (conversation(), 0..4_u8).prop_map(|(conversation, output)| Step::Queue { conversation, output }),
        1 => (conversation(), 0..4_u8).prop_map(|(conversation, output)| Step::Sent { conversation, output }),
        1 => status.prop_map(|status| Step::Finish { status }),
        1 => conversation().prop_map(|conversation| Step::NewSession { conversation }),
        1 => Just(Step::Crash),
    ]
}

/// What the journal should hold, kept in the plainest way.
#[derive(Default)]
struct Model {
    waiting: Vec<(usize, String)>,
    /// With the inputs that wait again should the run be cut: all, as long as it has started no tool that acts.
    open_runs: Vec<(String, Vec<(usize, String)>)>,
    open_outputs: Vec<String>,
    platform_ids: Vec<(u8, String)>,
    messages: [Vec<String>; CONVERSATIONS.len()],
    accepted: usize,
}

async fn append(journal: &Journal, conversation: usize, kind: EventKind, payload: Value) {
    append_in(journal, conversation, None, kind, payload).await;
}

async fn append_in(journal: &Journal, conversation: usize, run: Option<&str>, kind: EventKind, payload: Value) {
    let name = CONVERSATIONS[conversation];
    let session = journal.current_session(name).await.expect("a session");
    let run = run.map(str::to_owned);
    let event = NewEvent { session, run, conversation: name.to_owned(), kind, audience: name.to_owned(), payload };
    journal.append(event).await.expect("appends");
}

async fn apply(home: &Home, journal: &mut Journal, model: &mut Model, step: Step) {
    match step {
        Step::Accept { conversation, platform_id } => {
            let id = format!("input {}", model.accepted);
            model.accepted += 1;
            let (name, key) = (CONVERSATIONS[conversation], platform_id.to_string());
            let answer = journal.accept_input(name, &id, Some(("qq", &key)), json!({}), name).await.expect("answers");
            match (answer, model.platform_ids.iter().find(|(known, _)| *known == platform_id)) {
                (Acceptance::Accepted { .. }, None) => {
                    model.platform_ids.push((platform_id, id.clone()));
                    model.waiting.push((conversation, id));
                }
                (Acceptance::Duplicate { input_id }, Some((_, earlier))) => {
                    assert_eq!(&input_id, earlier);
                }
                (answer, known) => panic!("{answer:?}, but known was {known:?}"),
            }
        }
        Step::Start { conversation, inputs, acts } => {
            let mine = model.waiting.iter().filter(|(of, _)| *of == conversation);
            let taken: Vec<String> = mine.take(inputs).map(|(_, id)| id.clone()).collect();
            let run = journal.start_run(CONVERSATIONS[conversation], "me", &taken).await.expect("starts").run;
            model.waiting.retain(|(_, id)| !taken.contains(id));
            if acts {
                let started = json!({ "effect": "world" });
                append_in(journal, conversation, Some(&run), EventKind::ToolStarted, started).await;
            }
            let untouched = if acts { Vec::new() } else { taken };
            model.open_runs.push((run, untouched.into_iter().map(|id| (conversation, id)).collect()));
        }
        Step::Append { conversation, kind, text } => {
            append(journal, conversation, APPENDED[kind], json!({ "text": text })).await;
            if kind < 3 {
                model.messages[conversation].push(text);
            }
        }
        Step::Queue { conversation, output } => {
            append(journal, conversation, EventKind::OutputQueued, json!({ "output_id": output.to_string() })).await;
            model.open_outputs.retain(|id| *id != output.to_string());
            model.open_outputs.push(output.to_string());
        }
        Step::Sent { conversation, output } => {
            append(journal, conversation, EventKind::OutputSent, json!({ "output_id": output.to_string() })).await;
            model.open_outputs.retain(|id| *id != output.to_string());
        }
        Step::Finish { status } => {
            if let Some((run, _)) = model.open_runs.pop() {
                journal.finish_run(&run, Vec::new(), status, None, None, Value::Null).await.expect("finishes");
            }
        }
        Step::NewSession { conversation } => {
            journal.new_session(CONVERSATIONS[conversation]).await.expect("begins");
            model.messages[conversation].clear();
        }
        Step::Crash => {
            *journal = home.journal();
            recover(journal, model).await;
        }
    }
}

async fn everything(journal: &Journal) -> Vec<Event> {
    let mut all = Vec::new();
    for session in journal.sessions().await.expect("reads") {
        all.extend(journal.session_events(&session.id, false, 0, 100_000).await.expect("reads"));
    }
    all
}

async fn recover(journal: &Journal, model: &mut Model) {
    let recovery = journal.recover().await.expect("recovers");
    let failed: Vec<_> = recovery.failed_runs.iter().map(|run| run.id.clone()).collect();
    assert_eq!(failed, model.open_runs.iter().map(|(run, _)| run.clone()).collect::<Vec<_>>());
    model.waiting.extend(model.open_runs.drain(..).flat_map(|(_, inputs)| inputs));
    model.waiting.sort_by_key(|(_, id)| id.trim_start_matches("input ").parse::<usize>().expect("a number"));
    let unknown: Vec<_> = recovery.unknown_outputs.iter().map(|output| output.output_id.clone()).collect();
    assert_eq!(unknown, model.open_outputs);
    let pending: Vec<_> = recovery.pending_inputs.iter().map(|input| &input.input_id).collect();
    assert_eq!(pending, model.waiting.iter().map(|(_, id)| id).collect::<Vec<_>>());
    model.open_outputs.clear();

    let before = everything(journal).await;
    let again = journal.recover().await.expect("recovers");
    assert!(again.failed_runs.is_empty() && again.unknown_outputs.is_empty());
    assert_eq!(again.pending_inputs, recovery.pending_inputs);
    assert_eq!(everything(journal).await, before);
}

async fn check_history(journal: &Journal, model: &Model) {
    for (conversation, messages) in CONVERSATIONS.iter().zip(&model.messages) {
        let history = journal.conversation_history(conversation, 100_000).await.expect("reads");
        assert!(history.is_sorted_by(|earlier, later| earlier.seq < later.seq));
        assert_ne!(history.first().map(|event| event.kind), Some(EventKind::ToolResultRecorded));
        let texts: Vec<_> = history.iter().map(|event| event.payload["text"].as_str().expect("a text")).collect();
        // Only results before the first other message are missing, and they are at the beginning.
        assert!(messages.ends_with(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()));
        let short = journal.conversation_history(conversation, 3).await.expect("reads");
        assert!(history.ends_with(&short));
    }
    let all = everything(journal).await;
    let mut seqs: Vec<_> = all.iter().map(|event| event.seq).collect();
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), all.len(), "no event is in two sessions");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn history_is_in_order_and_recovery_is_idempotent(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (home, mut journal) = Home::new_journal();
            let mut model = Model::default();
            for step in steps {
                apply(&home, &mut journal, &mut model, step).await;
            }
            check_history(&journal, &model).await;
            recover(&journal, &mut model).await;
            check_history(&journal, &model).await;
        });
    }
}

#[tokio::test]
async fn recovering_a_fresh_journal_finds_nothing() {
    let (_home, journal) = Home::new_journal();
    recover(&journal, &mut Model::default()).await;
    accept(&journal, "a").await;
    start(&journal, &["a"]).await;
    assert_eq!(journal.recover().await.expect("recovers").failed_runs.len(), 1);
}
