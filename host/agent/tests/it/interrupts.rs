use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use homeagent_journal::{EventKind, RunStatus};
use homeagent_types::model::Message;
use homeagent_types::ports::Mind;
use homeagent_types::stage::{HandlerMode, Stage, StageData};
use homeagent_types::{CallError, Effect, OutputKind, Payload, Peer, Role, ToolOutput};
use tokio::sync::{Notify, mpsc};

use crate::errands::errand;
use crate::fake::{answer, call, stage, tool};
use crate::home::{Home, finished, owner, said, soon};

#[tokio::test]
async fn an_interrupt_cancels_the_call_in_flight_and_joins_the_turn() {
    let home = Home::new().await;
    home.say("me", "write a novel").await;
    let model = soon(home.models.next()).await;
    model.piece("Once upon");
    home.interrupt("me", "a short one").await;
    soon(model.cancelled()).await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["write a novel", "[打断消息] a short one"]);
    let unfinished = model.prompt.messages.iter().any(|message| {
        matches!(message, Message::Assistant { text, .. } if text.starts_with("Once upon") && text.contains("unfinished"))
    });
    assert!(unfinished, "what was shown stays");
    model.end(answer("The end."));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.text, "The end.");
    soon(home.agent.shutdown()).await;
    assert!(home.kinds(&output.run.unwrap()).await.contains(&EventKind::Interrupted));
    assert!(home.plugins.rest().await.is_empty(), "one turn, one answer");
}

#[tokio::test]
async fn while_tools_run_an_interrupt_waits_for_the_next_model_call() {
    let home = Home::new().await;
    let (started, mut running) = mpsc::unbounded_channel();
    let release = Arc::new(Notify::new());
    let inner = Arc::clone(&release);
    home.plugins.offer_tool("slow", tool("dig", Effect::Read), move |_, _| {
        let (started, release) = (started.clone(), Arc::clone(&inner));
        Box::pin(async move {
            let _ = started.send(());
            release.notified().await;
            Ok(ToolOutput::text("dug"))
        })
    });
    home.say("me", "dig").await;
    soon(home.models.next()).await.end(call("dig", "{}"));
    soon(running.recv()).await.unwrap();
    home.interrupt("me", "deeper").await;
    release.notify_one();
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("dug"), "the tool was not cut");
    assert_eq!(model.said(), ["dig", "[打断消息] deeper"]);
    model.end(answer("done"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "done");
}

#[tokio::test]
async fn an_interrupt_starts_a_turn_when_nothing_runs() {
    let home = Home::new().await;
    home.interrupt("me", "wake up").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["wake up"], "it interrupts nothing, so it is not marked");
    model.end(answer("yes?"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "yes?");
}

#[tokio::test]
async fn the_third_interrupt_does_not_cancel_and_becomes_the_next_input() {
    let home = Home::new().await;
    home.say("me", "go").await;
    for text in ["one", "two"] {
        let model = soon(home.models.next()).await;
        home.interrupt("me", text).await;
        soon(model.cancelled()).await;
    }
    let model = soon(home.models.next()).await;
    home.interrupt("me", "three").await;
    model.end(answer("first"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "first");
    let model = soon(home.models.next()).await;
    assert_eq!(model.said().last().unwrap(), "three");
    model.end(answer("second"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "second");
}

#[tokio::test]
async fn what_a_program_says_by_the_way_does_not_cancel() {
    let home = Home::new().await;
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    let mut notice = said("robot", "the washing is done");
    notice.peer = Peer::Person("me".to_owned());
    notice.kind = "notice".to_owned();
    home.agent.interrupt("cli", None, notice).await.unwrap();
    model.end(answer("first"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "first");
    let model = soon(home.models.next()).await;
    assert_eq!(model.said().last().unwrap(), "[notice] the washing is done");
    model.end(answer("second"));
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn an_urgent_timer_cancels_and_a_plain_one_waits() {
    let home = Home::new().await;
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    let mut timer = errand("me", Role::Member, "the soup!");
    timer.interrupts = true;
    timer.submission.meta = vec![("urgent".to_owned(), "true".to_owned())];
    home.agent.errand("clock", timer).await.unwrap();
    soon(model.cancelled()).await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said().last().unwrap(), "[打断消息] [timer] the soup!");
    model.end(answer("coming"));
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn a_guest_who_joins_lowers_the_rights_of_the_turn() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Own);
    let group = |user: &str, text: &str| {
        let mut submission = said(user, text);
        submission.peer = Peer::Group("g".to_owned());
        submission
    };
    home.agent.submit("cli", None, group("me", "go")).await.unwrap();
    let model = soon(home.models.next()).await;
    assert!(model.tools().contains(&"look"));
    home.agent.interrupt("cli", None, group("stranger", "use look!")).await.unwrap();
    soon(model.cancelled()).await;
    let model = soon(home.models.next()).await;
    assert!(!model.tools().contains(&"look"));
    model.end(call("look", "{}"));
    let model = soon(home.models.next()).await;
    assert!(
        model.results()[0].starts_with("refused:") && model.results()[0].contains("guest"),
        "{:?}",
        model.results()
    );
    model.end(answer("no"));
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn stop_drops_the_model_call_and_says_so() {
    let home = Home::new().await;
    home.say("me", "go on for ever").await;
    let model = soon(home.models.next()).await;
    model.piece("For ever and");
    home.say("me", "/stop").await;
    soon(model.cancelled()).await;
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("stopped".to_owned()));
    let run = output.run.unwrap();
    home.say("me", "next").await;
    let model = soon(home.models.next()).await;
    let kept = model.prompt.messages.iter().any(|message| {
        matches!(message, Message::Assistant { text, .. } if text.contains("For ever and") && text.contains("unfinished"))
    });
    assert!(kept, "what was shown stays");
    model.end(answer("ok"));
    soon(home.plugins.next_output()).await;
    assert_eq!(home.journal.run(&run).await.unwrap().unwrap().status, RunStatus::Cancelled);
    assert!(home.kinds(&run).await.contains(&EventKind::Interrupted));
}

#[tokio::test]
async fn stop_abandons_running_tools_and_the_window_stays_whole() {
    let home = Home::new().await;
    let (started, mut running) = mpsc::unbounded_channel();
    home.plugins.offer_tool("slow", tool("dig", Effect::Own), move |_, _| {
        let _ = started.send(());
        Box::pin(std::future::pending())
    });
    let mut asked = home.ask("dig").await;
    soon(home.models.next()).await.end(call("dig", "{}"));
    soon(running.recv()).await.unwrap();
    let active = home.agent.active();
    assert_eq!(active.len(), 1);
    assert_eq!(home.agent.stop_run(Some("no such run")), Vec::<String>::new());
    assert_eq!(home.agent.stop_run(Some(&active[0].run)), [active[0].run.clone()]);
    let result = finished(&mut asked).await;
    assert_eq!((result.finish.as_str(), result.error.unwrap().code.as_str()), ("stopped", "stopped"));
    let mut asked = home.ask("and?").await;
    let model = soon(home.models.next()).await;
    assert!(model.results()[0].contains("abandoned"));
    model.end(answer("ok"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn stop_is_for_those_who_may() {
    let home = Home::new().await;
    assert!(!home.agent.stop("cli", None, said("me", "")).await.unwrap(), "nothing runs");
    let mut theirs = said("ann", "go");
    theirs.peer = Peer::Group("g".to_owned());
    home.agent.submit("cli", None, theirs.clone()).await.unwrap();
    let model = soon(home.models.next()).await;
    let by = |user: &str| {
        let mut submission = theirs.clone();
        submission.user = user.to_owned();
        submission.payload = Payload::Text(String::new());
        submission
    };
    let refused = home.agent.stop("cli", None, by("stranger")).await;
    assert!(matches!(refused, Err(CallError::Denied(_))), "{refused:?}");
    assert!(home.agent.stop("cli", None, by("ann")).await.unwrap());
    soon(model.cancelled()).await;
    assert_eq!(soon(home.plugins.next_output()).await.kind, OutputKind::Notice("stopped".to_owned()));
}

#[tokio::test]
async fn interrupts_that_a_stopped_turn_did_not_take_are_the_next_inputs() {
    let home = Home::new().await;
    let (began, mut judging) = mpsc::unbounded_channel();
    home.plugins.offer_slow_stage("guard", stage(Stage::OnInput, HandlerMode::Rewrite, 0), move |context| {
        let StageData::Input(input) = context.data else { panic!("no input") };
        let hangs = input.payload.text() == "one" && began.send(()).is_ok();
        Box::pin(async move { if hangs { std::future::pending().await } else { Ok(Vec::new()) } })
    });
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    for text in ["one", "two"] {
        let mut submission = said("me", text);
        // Two inputs, not one in two pieces.
        submission.received_at = Some(if text == "one" { 1 } else { 1_000_000 });
        home.agent.interrupt("api", None, submission).await.unwrap();
    }
    soon(model.cancelled()).await;
    soon(judging.recv()).await.unwrap();
    // The next time the handler lets it pass.
    drop(judging);
    home.agent.stop_run(None);
    assert_eq!(finished(&mut asked).await.finish, "stopped");
    for wanted in ["one", "two"] {
        let model = soon(home.models.next()).await;
        assert_eq!(model.said().last().unwrap(), wanted);
        model.end(answer("ok"));
    }
    soon(home.agent.shutdown()).await;
    assert!(home.journal.recover().await.unwrap().pending_inputs.is_empty());
}

#[tokio::test]
async fn an_interrupt_whose_words_can_not_be_recorded_is_not_lost() {
    let home = Arc::new(Home::new().await);
    let breaking = Arc::downgrade(&home);
    let broken = AtomicBool::new(false);
    home.plugins.offer_stage("breaks", stage(Stage::OnInput, HandlerMode::Observe, 0), move |context| {
        let StageData::Input(input) = context.data else { panic!("no input") };
        if input.payload.text() == "wait" && !broken.swap(true, Ordering::SeqCst) {
            breaking.upgrade().expect("the test goes on").break_table("events");
        }
        Ok(Vec::new())
    });
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    home.agent.interrupt("api", Some(owner()), said("me", "wait")).await.unwrap();
    soon(model.cancelled()).await;
    let result = finished(&mut asked).await;
    assert_eq!(result.error.unwrap().code, "journal");
    home.mend();
    let model = soon(home.models.next()).await;
    assert_eq!(model.said().last().unwrap(), "wait", "it is taken by a turn of its own");
    model.end(answer("waiting"));
}
