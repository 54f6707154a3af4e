//! Connections that outlive the code that serves them.

use homeagent_types::ports::{Connection, Frame, Haste, Listeners, PluginAdmin, Plugins, ToPeer};
use homeagent_types::{Conversation, Output, OutputKind, Role};

use crate::house::{self, House};

/// A runtime with the bundled `cli`.
async fn with_cli() -> House {
    let cli = homeagent_bundle::packages().find(|package| package.name == "cli").expect("cli is bundled");
    let bundled = homeagent_runtime::Bundled { manifest: cli.manifest, component: cli.component, digest: cli.digest };
    let house = house::with_bundled(vec![bundled]);
    house.runtime.load_all().await;
    house
}

async fn connect(house: &House) -> Box<dyn Connection> {
    let meta = vec![("conversation".to_owned(), "owner".to_owned())];
    house.runtime.connect("chat", Some(house::owner()), meta).await.expect("cli holds the listener")
}

async fn frame(connection: &dyn Connection) -> serde_json::Value {
    match connection.next().await {
        Some(ToPeer::Frame(Frame::Text(text))) => serde_json::from_str(&text).expect("frames are JSON"),
        other => panic!("expected a text frame, got {other:?}"),
    }
}

async fn say(connection: &dyn Connection, text: &str) -> serde_json::Value {
    let say = serde_json::json!({ "type": "say", "text": text }).to_string();
    connection.receive(Frame::Text(say)).await.expect("the slot takes it");
    frame(connection).await
}

#[tokio::test]
async fn what_is_said_reaches_the_agent_as_the_one_the_connection_vouches_for() {
    let house = with_cli().await;
    let connection = connect(&house).await;
    assert_eq!(frame(&*connection).await["type"], "hello");
    assert_eq!(say(&*connection, "你好").await["type"], "accepted");
    let submitted = house.mind.submitted.lock().expect("no panic").clone();
    let (source, attested, submission) = &submitted[0];
    assert_eq!((source.as_str(), submission.payload.text()), ("cli", "你好"));
    assert_eq!(attested.as_ref().map(|principal| principal.role), Some(Role::Owner));
}

#[tokio::test]
async fn a_connection_stays_open_when_the_code_is_replaced() {
    let house = with_cli().await;
    let connection = connect(&house).await;
    assert_eq!(frame(&*connection).await["type"], "hello");
    for round in 1..=5 {
        house.runtime.reload("cli", Haste::default()).await.expect("the code is good");
        let mut answer = say(&*connection, "still there?").await;
        while answer["type"] == "hello" {
            answer = frame(&*connection).await;
        }
        assert_eq!(answer["type"], "accepted");
        assert_eq!(house.mind.submitted.lock().expect("no panic").len(), round);
    }
}

#[tokio::test]
async fn unloading_the_plugin_closes_its_connections() {
    let house = with_cli().await;
    let connection = connect(&house).await;
    assert_eq!(frame(&*connection).await["type"], "hello");
    house.runtime.unload("cli").await.expect("it is loaded");
    assert_eq!(end(&*connection).await, None);
    let gone = house.runtime.connect("chat", None, Vec::new()).await;
    assert!(gone.is_err_and(|error| error.to_string().contains("chat")));
}

#[tokio::test]
async fn a_connection_that_nobody_takes_is_closed_with_the_reason() {
    let house = house::with(&["ledger-one"]).await;
    house.settings.set("core.plugin.call_timeout_ms", 100).expect("a valid time");
    house.settings.set("core.plugin.grace_ms", 0).expect("a valid grace");
    let computes = house.call_within("ledger", "compute", "{}", 5_000);
    let connect = async {
        house::until(|| house.status("ledger").calls == 1 && house.status("ledger").waiting == 0).await;
        let connection = house.runtime.connect("ledger", None, Vec::new()).await.expect("the ledger has the listener");
        let Some(ToPeer::GivenUp(reason)) = connection.next().await else { panic!("no reason was given") };
        assert!(reason.contains("ledger did not take the connection"), "{reason}");
    };
    let (outcome, ()) = tokio::join!(computes, connect);
    outcome.expect_err("it computes for ever");
}

fn output(text: &str) -> Output {
    Output {
        id: "1".into(),
        run: None,
        conversation: Conversation::person("cli", "owner"),
        reply_route: None,
        kind: OutputKind::Reply,
        text: text.into(),
        media: Vec::new(),
        structured: None,
        meta: Vec::new(),
    }
}

/// What comes after all frames.
async fn end(connection: &dyn Connection) -> Option<ToPeer> {
    loop {
        match connection.next().await {
            Some(ToPeer::Frame(_)) => {}
            end => return end,
        }
    }
}

#[tokio::test]
async fn whoever_does_not_read_is_given_up_and_told_why() {
    let house = with_cli().await;
    let (slow, reader) = (connect(&house).await, connect(&house).await);
    assert_eq!(frame(&*slow).await["type"], "hello");
    assert_eq!(frame(&*reader).await["type"], "hello");
    // More than the queue of one who does not read holds.
    for number in 0..300 {
        let text = format!("{number}");
        house.runtime.deliver("cli", output(&text), house::cause(30_000)).await.expect("the reader is there");
        assert_eq!(frame(&*reader).await["text"], text);
    }
    let reason = "what was sent here was not read in time".to_owned();
    assert_eq!(end(&*slow).await, Some(ToPeer::GivenUp(reason)));
}

#[tokio::test]
async fn connections_of_a_plugin_that_may_not_have_them_any_more_are_told_why() {
    let house = with_cli().await;
    let connection = connect(&house).await;
    assert_eq!(frame(&*connection).await["type"], "hello");
    house.runtime.revoke("cli", "listen").await.expect("it asks for it");
    connection.receive(Frame::Text("{}".into())).await.expect("it is taken and looked at");
    let Some(ToPeer::GivenUp(reason)) = end(&*connection).await else { panic!("no reason was given") };
    assert!(reason.contains("waiter plugin grant cli listen"), "{reason}");
}

#[tokio::test]
async fn a_known_secret_does_not_go_out() {
    let house = with_cli().await;
    house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    let connection = connect(&house).await;
    assert_eq!(frame(&*connection).await["type"], "hello");
    let output = output("the key is sk-marked-0123456789, keep it");
    house.runtime.deliver("cli", output, house::cause(5_000)).await.expect("somebody is connected");
    assert_eq!(frame(&*connection).await["text"], "the key is [secret source.x.key], keep it");
}
