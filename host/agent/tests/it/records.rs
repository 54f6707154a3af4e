//! What is not in the journal did not happen: what a turn may do before its record is on the disk, and what not.

use std::sync::{Arc, Mutex};

use homeagent_agent::TurnResult;
use homeagent_journal::{EventKind, RunStatus};
use homeagent_types::stage::{HandlerMode, Stage};
use homeagent_types::{Effect, OutputKind, ToolOutput};

use crate::fake::{answer, call, calls, stage, tool};
use crate::home::{Home, finished, soon};

fn assert_journal_failed(result: &TurnResult) {
    assert_eq!((result.finish.as_str(), result.reply.as_str()), ("failed", ""), "{result:?}");
    let error = result.error.as_ref().expect("it says why");
    assert_eq!(error.code, "journal");
    assert!(error.text.contains("I can't write my journal"), "{}", error.text);
}

#[tokio::test]
async fn an_answer_that_can_not_be_recorded_is_not_given() {
    let home = Home::new().await;
    home.turn("one", vec![answer("1")]).await;
    let mut asked = home.ask("two").await;
    let model = soon(home.models.next()).await;
    home.break_table("events");
    model.end(answer("2"));
    assert_journal_failed(&finished(&mut asked).await);
    home.mend();

    let mut asked = home.ask("three").await;
    let model = soon(home.models.next()).await;
    assert!(!format!("{:?}", model.prompt.messages).contains("\"2\""), "what was not said is not remembered");
    model.end(answer("3"));
    assert_eq!(finished(&mut asked).await.reply, "3");
}

#[tokio::test]
async fn a_channel_is_told_once_that_the_journal_fails() {
    let home = Home::new().await;
    home.say("me", "hello").await;
    let model = soon(home.models.next()).await;
    home.break_table("events");
    model.end(answer("hi"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("failed".to_owned()));
    assert!(output.text.contains("I can't write my journal"), "{}", output.text);
    home.mend();
    home.works().await;
    assert!(home.plugins.rest().await.is_empty());
}

#[tokio::test]
async fn a_model_is_not_waited_for_when_what_it_was_asked_can_not_be_recorded() {
    let home = Arc::new(Home::new().await);
    let breaking = Arc::downgrade(&home);
    home.plugins.offer_stage("breaks", stage(Stage::PreAction, HandlerMode::Observe, 0), move |_| {
        breaking.upgrade().expect("the test goes on").break_table("events");
        Ok(Vec::new())
    });
    let mut asked = home.ask("go").await;
    // The model never answers.
    assert_journal_failed(&finished(&mut asked).await);
}

/// The events of its run that a handler of a stage finds in the journal.
type Found = Vec<(Stage, Vec<EventKind>)>;

/// Notes them for each handler that is asked.
fn watch(home: &Home) -> Arc<Mutex<Found>> {
    let seen: Arc<Mutex<Found>> = Arc::default();
    for at in [Stage::PreAction, Stage::PostAction, Stage::BeforeToolcall, Stage::BeforeOutput] {
        let (journal, noted) = (home.journal.clone(), Arc::clone(&seen));
        home.plugins.offer_slow_stage("watch", stage(at, HandlerMode::Observe, 0), move |context| {
            let (journal, noted) = (journal.clone(), Arc::clone(&noted));
            Box::pin(async move {
                let events = journal.run_events(&context.cause.run.unwrap()).await.unwrap();
                noted.lock().unwrap().push((context.stage, events.into_iter().map(|event| event.kind).collect()));
                Ok(Vec::new())
            })
        });
    }
    seen
}

#[tokio::test]
async fn what_was_said_is_on_the_disk_before_a_handler_is_asked() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    let seen = watch(&home);
    home.turn("go", vec![calls(&[("look", "{}")]), answer("done")]).await;
    let seen = seen.lock().unwrap();
    let last = |at: Stage| -> Vec<EventKind> {
        let events = seen.iter().filter(|(stage, _)| *stage == at);
        events.map(|(_, events)| *events.last().unwrap()).collect()
    };
    assert_eq!(last(Stage::PreAction), [EventKind::UserMessageAdded]);
    assert_eq!(last(Stage::PostAction), [EventKind::ModelCalled, EventKind::ModelCalled]);
    assert_eq!(last(Stage::BeforeToolcall), [EventKind::AssistantMessageAdded]);
    assert_eq!(last(Stage::BeforeOutput), [EventKind::AssistantMessageAdded]);
}

#[tokio::test]
async fn a_tool_runs_after_its_call_and_all_before_it_is_on_the_disk() {
    let home = Home::new().await;
    let (journal, seen) = (home.journal.clone(), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&seen);
    home.plugins.offer_tool("hand", tool("act", Effect::Own), move |_, cause| {
        let (journal, noted) = (journal.clone(), Arc::clone(&noted));
        Box::pin(async move {
            let events = journal.run_events(&cause.run.unwrap()).await.unwrap();
            noted.lock().unwrap().push(events.into_iter().map(|event| event.kind).rev().take(2).collect::<Vec<_>>());
            Ok(ToolOutput::text("done"))
        })
    });
    home.turn("go", vec![calls(&[("act", "{}"), ("act", "{}")]), call("act", "{}"), answer("done")]).await;
    let seen = seen.lock().unwrap();
    let wanted = [
        [EventKind::ToolStarted, EventKind::AssistantMessageAdded],
        [EventKind::ToolStarted, EventKind::ToolResultRecorded],
        [EventKind::ToolStarted, EventKind::AssistantMessageAdded],
    ];
    assert_eq!(*seen, wanted);
}

#[tokio::test]
async fn a_turn_that_panics_leaves_what_it_had_said() {
    let home = Home::new().await;
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.panic();
    let result = finished(&mut asked).await;
    assert_eq!(home.journal.run(&result.run).await.unwrap().unwrap().status, RunStatus::Failed);
    assert!(home.kinds(&result.run).await.contains(&EventKind::UserMessageAdded));
}
