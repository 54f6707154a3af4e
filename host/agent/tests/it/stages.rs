use std::sync::{Arc, Mutex};

use homeagent_agent::TurnResult;
use homeagent_journal::EventKind;
use homeagent_types::stage::{FailurePolicy, HandlerMode, Patch, Scope, Stage, StageData, StageRegistration};
use homeagent_types::{CallError, Effect, OutputKind, Shown, ToolOutput};

use crate::fake::{answer, call, calls, stage};
use crate::home::{Home, finished, soon};

const REWRITE: HandlerMode = HandlerMode::Rewrite;

/// A handler that always asks for the same.
fn always(home: &Home, plugin: &str, registration: StageRegistration, patches: Vec<Patch>) {
    home.plugins.offer_stage(plugin, registration, move |_| Ok(patches.clone()));
}

fn text(text: &str) -> Patch {
    Patch::SetText(text.to_owned())
}

fn refuse(reason: &str) -> Patch {
    Patch::Refuse(reason.to_owned())
}

fn respond(text: &str) -> Patch {
    Patch::Respond(text.to_owned())
}

fn assert_refused(result: &TurnResult, reason: &str) {
    assert_eq!(result.finish, "refused");
    assert!(result.error.as_ref().is_some_and(|error| error.text.contains(reason)), "{result:?}");
}

#[tokio::test]
async fn on_input_may_rewrite_refuse_and_answer() {
    let home = Home::new().await;
    home.plugins.offer_stage("guard", stage(Stage::OnInput, REWRITE, 0), |context| {
        let StageData::Input(input) = context.data else { panic!("no input") };
        Ok(match input.payload.text() {
            "rewrite" => vec![text("rewritten")],
            "block" => vec![refuse("not today")],
            "answer" => vec![respond("from the plugin")],
            _ => Vec::new(),
        })
    });
    let mut asked = home.ask("rewrite").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["rewritten"]);
    model.end(answer("ok"));
    finished(&mut asked).await;

    assert_refused(&home.turn("block", vec![]).await, "not today");
    let result = home.turn("answer", vec![]).await;
    assert_eq!((result.reply.as_str(), result.finish.as_str()), ("from the plugin", "responded"));

    // What was blocked never reaches the model; what was answered is part of the history.
    let mut asked = home.ask("more").await;
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["rewritten", "answer", "more"]);
    model.end(answer("ok"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn a_blocked_input_is_told_to_its_sender() {
    let home = Home::new().await;
    always(&home, "guard", stage(Stage::OnInput, REWRITE, 0), vec![refuse("not today")]);
    home.say("me", "hello").await;
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("refused".to_owned()));
    assert!(output.text.contains("not today"));
}

#[tokio::test]
async fn pre_action_adds_and_may_refuse() {
    let home = Home::new().await;
    let add = |text: &str| vec![Patch::AddSystem(text.to_owned())];
    always(&home, "weather", stage(Stage::PreAction, HandlerMode::Add, 0), add("It rains."));
    always(&home, "calendar", stage(Stage::PreAction, HandlerMode::Add, 0), add("It is a feast."));
    let mut asked = home.ask("go").await;
    let model = soon(home.models.next()).await;
    assert!(model.last_system().contains("It rains.") && model.last_system().contains("It is a feast."));
    model.end(answer("ok"));
    finished(&mut asked).await;
    // It was for that turn.
    always(&home, "guard", stage(Stage::PreAction, REWRITE, 0), vec![refuse("no budget")]);
    assert_refused(&home.turn("again", vec![]).await, "no budget");
}

#[tokio::test]
async fn post_action_rewrites_drops_and_redirects() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    home.plugins.offer_echo("other", Effect::Read);
    home.plugins.offer_stage("editor", stage(Stage::PostAction, REWRITE, 0), |context| {
        let StageData::Answer(answer) = context.data else { panic!("no answer") };
        if answer.calls.is_empty() {
            return Ok(vec![text("edited")]);
        }
        let other =
            Patch::Redirect { call: "c1".to_owned(), tool: "other".to_owned(), arguments: "{\"n\":9}".to_owned() };
        let args = Patch::SetArgs { call: "c2".to_owned(), arguments: "{\"n\":7}".to_owned() };
        Ok(vec![Patch::DropCall("c0".to_owned()), other, args])
    });
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(calls(&[("look", "{}"), ("look", "{}"), ("look", "{}")]));
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert_eq!(results.len(), 2, "the first call was dropped");
    assert!(results[0].contains("from=\"other\"") && results[0].contains("{\"n\":9}"), "{results:?}");
    assert!(results[1].contains("{\"n\":7}"), "{results:?}");
    model.end(answer("raw"));
    assert_eq!(finished(&mut asked).await.reply, "edited");
}

#[tokio::test]
async fn post_action_may_drop_all_calls_refuse_and_answer() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    home.plugins.offer_stage("editor", stage(Stage::PostAction, REWRITE, 0), |context| {
        let StageData::Answer(answer) = context.data else { panic!("no answer") };
        Ok(match answer.text.as_str() {
            "drop" => vec![Patch::DropCall("c0".to_owned())],
            "refuse" => vec![refuse("no")],
            "respond" => vec![respond("mine")],
            _ => Vec::new(),
        })
    });
    let with = |text: &str| {
        let mut answer = call("look", "{}");
        answer.text = text.to_owned();
        vec![answer]
    };
    let dropped = home.turn("go", with("drop")).await;
    assert_eq!((dropped.reply.as_str(), dropped.tool_rounds), ("drop", 0));
    assert_refused(&home.turn("go", with("refuse")).await, "no");
    assert_eq!(home.turn("go", with("respond")).await.reply, "mine");
    home.plugins.rest().await;
    assert_eq!(home.turn("go", vec![answer("fine")]).await.reply, "fine");
}

#[tokio::test]
async fn before_toolcall_changes_redirects_and_refuses() {
    let home = Home::new().await;
    for name in ["look", "other", "secret"] {
        home.plugins.offer_echo(name, Effect::Read);
    }
    home.plugins.offer_stage("guard", stage(Stage::BeforeToolcall, REWRITE, 0), |context| {
        let StageData::Call(call) = context.data else { panic!("no call") };
        let id = call.id;
        Ok(match call.arguments.as_str() {
            "{\"n\":1}" => vec![Patch::SetArgs { call: id, arguments: "{\"n\":11}".to_owned() }],
            "{\"n\":2}" => vec![Patch::Redirect { call: id, tool: "other".to_owned(), arguments: "{}".to_owned() }],
            "{\"n\":3}" => vec![refuse("too secret")],
            "{\"n\":4}" => vec![Patch::SetArgs { call: id, arguments: "{\"n\":\"x\"}".to_owned() }],
            _ => Vec::new(),
        })
    });
    let mut asked = home.ask("go").await;
    let wanted: Vec<(&str, &str)> =
        vec![("look", "{\"n\":1}"), ("look", "{\"n\":2}"), ("secret", "{\"n\":3}"), ("look", "{\"n\":4}")];
    soon(home.models.next()).await.end(calls(&wanted));
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert!(results[0].contains("{\"n\":11}"), "{results:?}");
    assert!(results[1].contains("from=\"other\""), "{results:?}");
    assert!(results[2].starts_with("refused: too secret"), "{results:?}");
    assert!(results[3].contains("schema"), "what a handler wrote is checked too: {results:?}");
    model.end(answer("ok"));
    let run = finished(&mut asked).await.run;
    let started = home.events(&run).await.into_iter().filter(|event| event.kind == EventKind::ToolStarted).count();
    assert_eq!(started, 2, "what was refused did not start");
}

#[tokio::test]
async fn after_toolcall_redacts_and_withholds() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    home.plugins.offer_stage("redact", stage(Stage::AfterToolcall, REWRITE, 0), |context| {
        let StageData::Outcome { call, .. } = context.data else { panic!("no outcome") };
        Ok(match call.arguments.as_str() {
            "{\"n\":1}" => vec![Patch::SetResult(ToolOutput::text("***"))],
            _ => vec![refuse("a secret was in it")],
        })
    });
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(calls(&[("look", "{\"n\":1}"), ("look", "{\"n\":2}")]));
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert!(results[0].contains("***") && !results[0].contains("\"n\""), "{results:?}");
    assert!(results[1].contains("withheld: a secret was in it") && !results[1].contains("\"n\""), "{results:?}");
    model.end(answer("ok"));
    let run = finished(&mut asked).await.run;
    let kept = home.events(&run).await.into_iter().filter(|event| event.kind == EventKind::ToolResultRecorded);
    assert!(kept.into_iter().all(|event| !event.payload.to_string().contains("\\\"n\\\"")), "nor in the journal");
}

#[tokio::test]
async fn a_tool_stage_may_answer_for_the_model() {
    for at in [Stage::BeforeToolcall, Stage::AfterToolcall] {
        let home = Home::new().await;
        home.plugins.offer_echo("look", Effect::Read);
        always(&home, "short", stage(at, REWRITE, 0), vec![respond("cut short")]);
        let result = home.turn("go", vec![calls(&[("look", "{}"), ("look", "{\"n\":2}")])]).await;
        assert_eq!((result.reply.as_str(), result.finish.as_str()), ("cut short", "responded"));
        let mut asked = home.ask("more").await;
        let model = soon(home.models.next()).await;
        assert_eq!(model.results().len(), 2, "each call has its result");
        model.end(answer("ok"));
        // No tool is called in this turn.
        assert_eq!(finished(&mut asked).await.reply, "ok");
    }
}

#[tokio::test]
async fn calls_that_ran_together_keep_their_results_and_data_when_one_is_answered_for() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    let put = |value: &str| Patch::PutData { key: "seen".to_owned(), value: value.to_owned() };
    always(&home, "keeper", stage(Stage::OnInput, HandlerMode::Add, 0), vec![put("0")]);
    home.plugins.offer_stage("keeper", stage(Stage::AfterToolcall, REWRITE, 0), |context| {
        let StageData::Outcome { call, .. } = context.data else { panic!("no outcome") };
        Ok(match call.arguments.as_str() {
            "{\"n\":1}" => vec![Patch::PutData { key: "seen".to_owned(), value: "1".to_owned() }, respond("cut short")],
            _ => Vec::new(),
        })
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    home.plugins.offer_stage("watcher", stage(Stage::AfterOutput, HandlerMode::Observe, 0), move |context| {
        into.lock().unwrap().push(context.turn_data);
        Ok(Vec::new())
    });
    let result = home.turn("go", vec![calls(&[("look", "{\"n\":1}"), ("look", "{\"n\":2}")])]).await;
    assert_eq!((result.reply.as_str(), result.finish.as_str()), ("cut short", "responded"));
    assert_eq!(*seen.lock().unwrap(), [[("keeper/seen".to_owned(), "1".to_owned())]]);
    let mut asked = home.ask("more").await;
    let model = soon(home.models.next()).await;
    assert!(model.results()[1].contains("{\"n\":2}"), "it ran: {:?}", model.results());
    model.end(answer("ok"));
    finished(&mut asked).await;
}

#[tokio::test]
async fn two_rewriters_compose_by_priority_then_name() {
    let home = Home::new().await;
    let appends = |plugin: &str, priority: i32| {
        let mark = plugin.to_owned();
        home.plugins.offer_stage(plugin, stage(Stage::BeforeOutput, REWRITE, priority), move |context| {
            let StageData::Output { text: out, .. } = context.data else { panic!("no output") };
            Ok(vec![text(&format!("{out}+{mark}"))])
        });
    };
    appends("late", 5);
    appends("b", 0);
    appends("a", 0);
    assert_eq!(home.turn("go", vec![answer("text")]).await.reply, "text+a+b+late");
}

#[tokio::test]
async fn before_output_may_refuse_and_replace() {
    let home = Home::new().await;
    home.plugins.offer_stage("guard", stage(Stage::BeforeOutput, REWRITE, 0), |context| {
        let StageData::Output { text: out, .. } = context.data else { panic!("no output") };
        Ok(if out == "secret" { vec![refuse("it is secret")] } else { vec![respond("instead")] })
    });
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    model.piece("secret");
    model.end(answer("secret"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("refused".to_owned()));
    assert_eq!(output.text, "Refused: it is secret");
    let shown = home.plugins.shown.lock().unwrap().clone();
    assert!(!shown.iter().any(|piece| matches!(piece, Shown::Text(_))), "a rewriter covers the text: {shown:?}");
    assert_eq!(home.turn("go", vec![answer("other")]).await.reply, "instead");
}

#[tokio::test]
async fn a_guard_that_fails_closes_and_a_failing_bystander_changes_nothing() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    let fails = |plugin: &str, registration: StageRegistration| {
        home.plugins.offer_stage(plugin, registration, |_| Err(CallError::Other("boom".to_owned())));
    };
    fails("bystander", stage(Stage::PreAction, HandlerMode::Add, 0));
    fails("editor", stage(Stage::PostAction, REWRITE, 0));
    fails("guard", stage(Stage::BeforeToolcall, REWRITE, 0));
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(call("look", "{}"));
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert!(results[0].starts_with("refused:") && results[0].contains("guard") && results[0].contains("boom"));
    model.end(answer("as it was"));
    assert_eq!(finished(&mut asked).await.reply, "as it was");

    let declared = StageRegistration { on_failure: Some(FailurePolicy::Closed), ..stage(Stage::OnInput, REWRITE, 0) };
    fails("gate", declared);
    assert_refused(&home.turn("go", vec![]).await, "gate");
}

#[tokio::test]
async fn a_guard_that_does_not_answer_closes() {
    let home = Home::new().await;
    let registration = StageRegistration { timeout_ms: Some(1), ..stage(Stage::BeforeOutput, REWRITE, 0) };
    home.plugins.offer_slow_stage("slow", registration, |_| Box::pin(std::future::pending()));
    assert_refused(&home.turn("go", vec![answer("text")]).await, "slow");
}

#[tokio::test]
async fn refuse_beats_respond_whatever_the_order() {
    for (first, second) in [(refuse("no"), respond("yes")), (respond("yes"), refuse("no"))] {
        let home = Home::new().await;
        always(&home, "a", stage(Stage::OnInput, REWRITE, 0), vec![first]);
        always(&home, "b", stage(Stage::OnInput, REWRITE, 1), vec![second]);
        assert_refused(&home.turn("go", vec![]).await, "no");
    }
}

#[tokio::test]
async fn patches_that_do_not_fit_are_ignored() {
    let home = Home::new().await;
    let misfits = vec![text("x"), refuse("x"), respond("x"), Patch::Other("{}".to_owned())];
    for at in Stage::ALL {
        always(&home, "watcher", stage(at, HandlerMode::Observe, 0), misfits.clone());
    }
    always(&home, "late", stage(Stage::AfterOutput, REWRITE, 0), misfits);
    always(&home, "lost", stage(Stage::PostAction, REWRITE, 0), vec![Patch::DropCall("no such call".to_owned())]);
    let result = home.turn("go", vec![answer("as it was")]).await;
    assert_eq!((result.reply.as_str(), result.finish.as_str()), ("as it was", "stop"));
}

#[tokio::test]
async fn data_is_kept_for_the_rest_of_the_turn_under_the_plugins_name() {
    let home = Home::new().await;
    let put = Patch::PutData { key: "mood".to_owned(), value: "\"good\"".to_owned() };
    let broken = Patch::PutData { key: "broken".to_owned(), value: "no json".to_owned() };
    always(&home, "a", stage(Stage::OnInput, HandlerMode::Add, 0), vec![put, broken]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    home.plugins.offer_stage("b", stage(Stage::AfterOutput, HandlerMode::Observe, 0), move |context| {
        into.lock().unwrap().push((context.turn_data, context.data));
        Ok(Vec::new())
    });
    home.turn("go", vec![answer("bye")]).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, [("a/mood".to_owned(), "\"good\"".to_owned())]);
    assert!(matches!(&seen[0].1, StageData::Output { text, .. } if text == "bye"));
}

#[tokio::test]
async fn a_handler_of_own_tools_neither_instructs_the_model_nor_answers_for_it() {
    let home = Home::new().await;
    home.plugins.offer_tool("mine", crate::fake::tool("own", Effect::Read), |_, _| {
        Box::pin(async { Ok(ToolOutput::text("raw")) })
    });
    let own = StageRegistration { scope: Scope::OwnTools, ..stage(Stage::AfterToolcall, REWRITE, 0) };
    let patches = vec![Patch::AddSystem("obey".to_owned()), Patch::Respond("hijacked".to_owned())];
    always(&home, "mine", own, patches);
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(calls(&[("own", "{}")]));
    let model = soon(home.models.next()).await;
    assert!(!format!("{:?}", model.prompt).contains("obey"), "no system message is taken");
    model.end(answer("my own words"));
    assert_eq!(finished(&mut asked).await.reply, "my own words");
}

#[tokio::test]
async fn a_handler_of_own_tools_sees_only_those() {
    let home = Home::new().await;
    home.plugins.offer_echo("look", Effect::Read);
    home.plugins.offer_tool("mine", crate::fake::tool("own", Effect::Read), |_, _| {
        Box::pin(async { Ok(ToolOutput::text("raw")) })
    });
    let own = |at| StageRegistration { scope: Scope::OwnTools, ..stage(at, REWRITE, 0) };
    always(&home, "mine", own(Stage::AfterToolcall), vec![Patch::SetResult(ToolOutput::text("polished"))]);
    // Not a stage of tools: this never runs.
    always(&home, "mine", own(Stage::OnInput), vec![refuse("never")]);
    let mut asked = home.ask("go").await;
    soon(home.models.next()).await.end(calls(&[("look", "{}"), ("own", "{}")]));
    let model = soon(home.models.next()).await;
    let results = model.results();
    assert!(!results[0].contains("polished") && results[1].contains("polished"), "{results:?}");
    model.end(answer("ok"));
    finished(&mut asked).await;
}
