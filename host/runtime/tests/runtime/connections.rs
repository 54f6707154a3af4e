//! Connections that outlive the code that serves them.

use homeagent_types::ports::{Connection, Frame, Haste, Listeners, PluginAdmin, Plugins, ToPeer};
use homeagent_types::{Conversation, Output, OutputKind, Role};

use crate::house::{self, House};

/// A runtime with the bundled `cli`.
async fn with_cli() -> House {
    let cli = homeagent_bundle::packages().find(|package| package.name == "cli").expect("cli is bundled");
    let bundled = homeagent_runtime::Bundled { manifest: cli.manifest, component: cli.component };
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
    while let Some(ToPeer::Frame(_)) = connection.next().await {}
    let gone = house.runtime.connect("chat", None, Vec::new()).await;
    assert!(gone.is_err_and(|error| error.to_string().contains("chat")));
}

#[tokio::test]
async fn a_known_secret_does_not_go_out() {
    let house = with_cli().await;
    house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    let connection = connect(&house).await;
    assert_eq!(frame(&*connection).await["type"], "hello");
    let output = Output {
        id: "1".into(),
        run: None,
        conversation: Conversation::person("cli", "owner"),
        reply_route: None,
        kind: OutputKind::Reply,
        text: "the key is sk-marked-0123456789, keep it".into(),
        media: Vec::new(),
        structured: None,
        meta: Vec::new(),
    };
    house.runtime.deliver("cli", output, house::cause(5_000)).await.expect("somebody is connected");
    assert_eq!(frame(&*connection).await["text"], "the key is [secret source.x.key], keep it");
}
