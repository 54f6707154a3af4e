use std::sync::Arc;

use homeagent_journal::EventKind;
use homeagent_settings::Settings;
use homeagent_types::ports::Mind;
use homeagent_types::{Accepted, CallError, OutputKind, Peer, Role, now};
use tokio::sync::Barrier;

use crate::errands::errand;
use crate::fake::{FakePlugins, answer, channel};
use crate::home::{Home, finished, said, soon};

/// An agent that runs one conversation at a time.
async fn narrow() -> Home {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    Home::with(plugins, |settings| settings.set("core.agent.parallel_conversations", 1).unwrap()).await
}

#[tokio::test]
async fn waiting_messages_of_one_person_are_one_turn() {
    let home = Home::new().await;
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    home.say("me", "milk").await;
    home.say("me", "and eggs").await;
    model.end(answer("first"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "first");
    let model = soon(home.models.next()).await;
    assert_eq!(model.said(), ["go", "milk\nand eggs"]);
    model.end(answer("second"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.text, "second");
    let events = home.events(&output.run.unwrap()).await;
    assert_eq!(events[0].payload["inputs"].as_array().unwrap().len(), 2, "one run took both");
}

#[tokio::test]
async fn messages_far_apart_or_of_two_people_are_not() {
    let home = Home::new().await;
    let group = |user: &str, text: &str, at: u64| {
        let mut submission = said(user, text);
        submission.peer = Peer::Group("g".to_owned());
        submission.received_at = Some(at);
        submission
    };
    let at = now();
    home.agent.submit("cli", None, group("me", "go", at)).await.unwrap();
    let model = soon(home.models.next()).await;
    for next in [group("me", "one", at), group("ann", "two", at), group("ann", "three", at + 60_000)] {
        home.agent.submit("cli", None, next).await.unwrap();
    }
    model.end(answer("ok"));
    for wanted in ["[me (me)] one", "[ann (ann)] two", "[ann (ann)] three"] {
        soon(home.plugins.next_output()).await;
        let model = soon(home.models.next()).await;
        assert_eq!(model.said().last().unwrap(), wanted);
        model.end(answer("ok"));
    }
    soon(home.plugins.next_output()).await;
}

#[tokio::test]
async fn a_channel_that_asks_for_it_is_waited_for() {
    let plugins = FakePlugins::new();
    let mut chat = channel("chat");
    chat.meta = vec![("merge".to_owned(), "wait".to_owned())];
    plugins.offer_channel(chat);
    // So long that the first message alone would not be answered within the test.
    let set = |settings: &Settings| settings.set("core.agent.merge_ms", 60_000).unwrap();
    let home = Home::with(plugins, set).await;
    let submit = |text: &str| {
        let mut submission = said("me", text);
        submission.reply_route = Some(text.to_owned());
        submission.received_at = Some(1);
        home.agent.submit("chat", None, submission)
    };
    submit("milk").await.unwrap();
    submit("and eggs").await.unwrap();
    assert_eq!(home.agent.status().queued, 2);
    // A command is not typed on; behind it the wait is over.
    home.settings.set("core.agent.merge_ms", 1).unwrap();
    let mut asked = home.ask("meanwhile").await;
    let mut first = soon(home.models.next()).await;
    if first.said() == ["meanwhile"] {
        first.end(answer("ok"));
        first = soon(home.models.next()).await;
        assert_eq!(first.said(), ["milk\nand eggs"]);
        first.end(answer("noted"));
    } else {
        assert_eq!(first.said(), ["milk\nand eggs"]);
        first.end(answer("noted"));
        soon(home.models.next()).await.end(answer("ok"));
    }
    finished(&mut asked).await;
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), output.reply_route.as_deref()), ("noted", Some("and eggs")));
}

#[tokio::test]
async fn owners_go_first_then_timers_members_and_guests() {
    let home = narrow().await;
    home.say("busy", "go").await;
    let model = soon(home.models.next()).await;
    home.say("stranger", "guest").await;
    home.say("ann", "member").await;
    home.agent.errand("clock", errand("sleeper", Role::Guest, "timer")).await.unwrap();
    // What a plugin calls a timer by itself is none.
    let mut posed = said("visitor", "posed");
    posed.kind = "timer".to_owned();
    posed.meta = vec![("homeagent.errand".to_owned(), "x".to_owned()), ("urgent".to_owned(), "true".to_owned())];
    home.agent.submit("cli", None, posed).await.unwrap();
    home.say("me", "owner").await;
    model.end(answer("ok"));
    for wanted in ["owner", "[timer] timer", "member", "guest", "[timer] posed"] {
        let model = soon(home.models.next()).await;
        assert_eq!(model.said().last().unwrap(), wanted);
        model.end(answer("ok"));
    }
    soon(home.agent.shutdown()).await;
}

#[tokio::test]
async fn guests_take_turns() {
    let home = narrow().await;
    home.say("busy", "go").await;
    let model = soon(home.models.next()).await;
    let mut flood = said("flood", "f1");
    flood.received_at = Some(1);
    home.agent.submit("cli", None, flood.clone()).await.unwrap();
    flood.payload = homeagent_types::Payload::Text("f2".to_owned());
    flood.received_at = Some(1_000_000);
    home.agent.submit("cli", None, flood).await.unwrap();
    home.say("quiet", "q1").await;
    model.end(answer("ok"));
    for wanted in ["f1", "q1", "f2"] {
        let model = soon(home.models.next()).await;
        assert_eq!(model.said().last().unwrap(), wanted);
        model.end(answer("ok"));
    }
    soon(home.agent.shutdown()).await;
}

#[tokio::test]
async fn conversations_run_side_by_side_up_to_the_limit() {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    let home = Home::with(plugins, |settings| settings.set("core.agent.parallel_conversations", 2).unwrap()).await;
    for user in ["a", "b", "c"] {
        home.say(user, user).await;
    }
    let first = soon(home.models.next()).await;
    let second = soon(home.models.next()).await;
    assert_eq!(home.agent.status().running, 2);
    assert_eq!(home.agent.status().queued, 1);
    // An owner's interrupt does not wait for a place.
    home.interrupt("me", "urgent").await;
    let urgent = soon(home.models.next()).await;
    assert_eq!(urgent.said(), ["urgent"]);
    for model in [first, urgent, second] {
        model.end(answer("ok"));
    }
    let third = soon(home.models.next()).await;
    assert_eq!(third.said(), ["c"]);
    third.end(answer("ok"));
    soon(home.agent.shutdown()).await;
}

#[tokio::test]
async fn a_full_queue_is_busy() {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    let home = Home::with(plugins, |settings| settings.set("core.agent.input_queue", 1).unwrap()).await;
    home.say("me", "go").await;
    let model = soon(home.models.next()).await;
    home.say("me", "waits").await;
    let refused = soon(home.agent.submit("cli", None, said("me", "one too many"))).await;
    assert_eq!(refused, Err(CallError::Busy));
    // Another channel has a queue of its own.
    let mut asked = home.ask("hello").await;
    soon(home.models.next()).await.end(answer("hi"));
    assert_eq!(finished(&mut asked).await.reply, "hi");
    model.end(answer("ok"));
    soon(home.models.next()).await.end(answer("ok"));
    soon(home.agent.shutdown()).await;
}

#[tokio::test]
async fn the_same_platform_id_is_taken_once() {
    let home = Home::new().await;
    let mut submission = said("me", "hello");
    submission.platform_id = Some("42".to_owned());
    let first = home.agent.submit("cli", None, submission.clone()).await.unwrap();
    let again = home.agent.submit("cli", None, submission).await.unwrap();
    assert_eq!(again, Accepted { input: first.input, duplicate: true });
    soon(home.models.next()).await.end(answer("hi"));
    soon(home.plugins.next_output()).await;
    soon(home.agent.shutdown()).await;
    assert!(home.models.try_next().await.is_none());
}

#[tokio::test]
async fn a_stop_flushes_what_waits_and_cuts_what_runs() {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    let set = |settings: &Settings| {
        settings.set("core.agent.drain_ms", 0).unwrap();
        settings.set("core.agent.parallel_conversations", 1).unwrap();
    };
    let home = Home::with(plugins, set).await;
    home.say("me", "runs").await;
    let model = soon(home.models.next()).await;
    let waiting = home.say("ann", "waits").await;
    let mut asked = home.ask("waits too").await;
    soon(home.agent.shutdown()).await;
    soon(model.cancelled()).await;
    let mut told: Vec<String> =
        home.plugins.rest().await.iter().map(|output| output.conversation.to_string()).collect();
    told.sort();
    assert_eq!(told, ["cli:ann", "cli:me"]);
    let result = finished(&mut asked).await;
    assert_eq!(result.error.unwrap().code, "shutting-down");
    let session = home.journal.current_session("cli:ann").await.unwrap();
    let events = home.journal.session_events(&session, true, 0, 100).await.unwrap();
    assert!(events.iter().any(|event| event.kind == EventKind::InputFlushed && event.payload["input_id"] == waiting));
    let late = home.agent.submit("cli", None, said("me", "too late")).await;
    assert_eq!(late, Err(CallError::NotLive));
    // What was flushed is not taken again.
    let recovery = home.journal.recover().await.unwrap();
    assert!(recovery.pending_inputs.is_empty() && recovery.failed_runs.is_empty());
}

#[tokio::test]
async fn a_turn_has_its_time_to_end_when_the_agent_stops() {
    let home = Home::new().await;
    home.say("me", "runs").await;
    let model = soon(home.models.next()).await;
    let agent = Arc::clone(&home.agent);
    let stopping = tokio::spawn(async move { agent.shutdown().await });
    model.end(answer("in time"));
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), output.kind), ("in time", OutputKind::Reply));
    soon(stopping).await.unwrap();
    assert_eq!(home.agent.status().state, homeagent_agent::Phase::Stopped);
}

#[tokio::test]
async fn inputs_that_no_run_took_are_taken_at_the_next_start() {
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    let first = narrow().await;
    first.say("me", "runs").await;
    let model = soon(first.models.next()).await;
    first.say("me", "waits").await;
    // The daemon dies: nothing is flushed, nothing is closed.
    let Home { folder, agent, .. } = first;
    let home = Home::open(folder, plugins, |_| {}).await;
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["runs"], "it is answered, and stands there once");
    asked.end(answer("here I am"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "here I am");
    let asked = soon(home.models.next()).await;
    assert_eq!(asked.said(), ["runs", "waits"]);
    asked.end(answer("and here"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "and here");
    drop((agent, model));
}

#[tokio::test]
async fn a_turn_that_can_not_begin_is_tried_again() {
    let home = Home::new().await;
    home.break_table("runs");
    home.say("me", "hello").await;
    let output = soon(home.plugins.next_output()).await;
    assert_eq!(output.kind, OutputKind::Notice("waiting".to_owned()));
    let mut asked = home.ask("hello too").await;
    home.mend();
    let mut said = Vec::new();
    for _ in 0..2 {
        let model = soon(home.models.next()).await;
        said.extend(model.said());
        model.end(answer("hi"));
    }
    said.sort();
    assert_eq!(said, ["hello", "hello too"]);
    assert_eq!(finished(&mut asked).await.reply, "hi", "who waits goes on waiting");
    let output = soon(home.plugins.next_output()).await;
    assert_eq!((output.text.as_str(), output.kind), ("hi", OutputKind::Reply));
    soon(home.agent.shutdown()).await;
    assert!(home.plugins.rest().await.is_empty(), "told once");
}

#[tokio::test]
async fn those_whose_inputs_are_flushed_are_told_at_the_same_time() {
    let home = narrow().await;
    home.say("busy", "runs").await;
    let model = soon(home.models.next()).await;
    home.say("me", "waits").await;
    home.say("ann", "waits").await;
    // Each notice is taken only when the other is there, and the turn that runs ends only after both.
    *home.plugins.together.lock().unwrap() = Some(Arc::new(Barrier::new(2)));
    let agent = Arc::clone(&home.agent);
    let stopping = tokio::spawn(async move { agent.shutdown().await });
    let mut told = Vec::new();
    for _ in 0..2 {
        let output = soon(home.plugins.next_output()).await;
        assert_eq!(output.kind, OutputKind::Notice("shutting-down".to_owned()));
        told.push(output.conversation.to_string());
    }
    told.sort();
    assert_eq!(told, ["cli:ann", "cli:me"]);
    *home.plugins.together.lock().unwrap() = None;
    model.end(answer("in time"));
    assert_eq!(soon(home.plugins.next_output()).await.text, "in time");
    soon(stopping).await.unwrap();
    assert!(home.journal.recover().await.unwrap().pending_inputs.is_empty());
}

#[tokio::test]
async fn an_input_that_waited_over_a_start_has_the_rights_its_speaker_has_now() {
    let first = narrow().await;
    first.say("busy", "runs").await;
    let model = soon(first.models.next()).await;
    first.say("me", "from cli").await;
    let asked = first.ask("from the terminal").await;
    first.unbind_all();
    let Home { folder, agent, .. } = first;
    let plugins = FakePlugins::new();
    plugins.offer_channel(channel("cli"));
    plugins.offer_echo("own", homeagent_types::Effect::Own);
    let home = Home::open(folder, plugins, |_| {}).await;
    for _ in 0..2 {
        let model = soon(home.models.next()).await;
        let attested = model.said() == ["from the terminal"];
        assert_eq!(model.tools().contains(&"own"), attested, "{:?}", model.said());
        model.end(answer("ok"));
    }
    soon(home.agent.shutdown()).await;
    drop((agent, model, asked));
}
