//! The chat, with lines from a pipe.

use homeagent_types::ports::{Frame, ToPeer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::fakes::{ChatEnd, FakeListeners};
use crate::house::House;
use crate::program::{Outcome, end, start};

/// The next thing the chat says.
async fn heard(slot: &mut ChatEnd) -> Value {
    match slot.next().await.unwrap() {
        Frame::Text(text) => serde_json::from_str(&text).unwrap(),
        Frame::Binary(_) => panic!("the chat sends text"),
    }
}

fn say(slot: &ChatEnd, frame: &Value) {
    slot.say(&frame.to_string());
}

/// Runs a chat with these lines; `plugin` is the other end.
async fn chat(args: &[&str], lines: &str, plugin: impl AsyncFnOnce(ChatEnd)) -> (Outcome, House) {
    let (listeners, mut ends) = FakeListeners::new(16);
    let house = House::with(listeners).await;
    let mut child = start(house.home.path(), args);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).await.unwrap();
    drop(stdin);
    let slot = ends.recv().await.unwrap();
    plugin(slot).await;
    (end(child).await, house)
}

async fn helpful(mut slot: ChatEnd) {
    say(&slot, &json!({"type": "hello", "conversation": "cli:owner"}));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let said = heard(&mut slot).await;
        assert_eq!(said["type"], "say");
        let id = said["id"].as_str().unwrap().to_owned();
        assert!(id.len() >= 16 && !ids.contains(&id), "an id that no other message has: {id}");
        ids.push(id);
        let text = said["text"].as_str().unwrap();
        say(&slot, &json!({"type": "accepted", "input": "i", "id": said["id"]}));
        say(&slot, &json!({"type": "delta", "run": "r", "kind": "reasoning", "text": "hm"}));
        say(&slot, &json!({"type": "delta", "run": "r", "kind": "tool-started", "text": "calc"}));
        say(&slot, &json!({"type": "delta", "run": "r", "kind": "text", "text": "par"}));
        say(&slot, &json!({"type": "message", "run": "r", "text": "working on it"}));
        say(&slot, &json!({"type": "reply", "run": "r", "text": format!("you said {text}\u{1b}[2J")}));
    }
    assert!(slot.next().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_is_said_in_turn_and_the_program_waits_for_the_replies() {
    let (outcome, house) = chat(&[], "one\n\ntwo\n", helpful).await;
    insta::assert_snapshot!(outcome.shown(&house), @r"
    working on it
    you said one␛[2J
    working on it
    you said two␛[2J
    --- exit code 0
    ");
    let (outcome, _) = chat(&["--json"], "one\ntwo", helpful).await;
    insta::assert_json_snapshot!(outcome.json(), @r#"
    [
      {
        "messages": [
          "working on it"
        ],
        "notices": [],
        "reply": "you said one\u001b[2J",
        "said": "one"
      },
      {
        "messages": [
          "working on it"
        ],
        "notices": [],
        "reply": "you said two\u001b[2J",
        "said": "two"
      }
    ]
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conversation_has_the_name_that_was_asked_for() {
    let (outcome, _) = chat(&["--conversation", "kitchen"], "", async |mut slot| {
        assert_eq!(slot.attested.clone().unwrap().to_string(), "cli:kitchen");
        assert!(slot.next().await.is_err());
    })
    .await;
    assert_eq!(outcome.code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_a_reply_is_a_failure() {
    let (outcome, house) = chat(&[], "one\n", async |mut slot| {
        heard(&mut slot).await;
        say(&slot, &json!({"type": "notice", "run": "r", "code": "failed", "text": "no model answers"}));
        assert!(slot.next().await.is_err());
    })
    .await;
    insta::assert_snapshot!(outcome.shown(&house), @r"
    --- stderr
    [failed] no model answers
    --- exit code 1
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_while_an_answer_is_waited_for_is_a_failure() {
    let (outcome, house) = chat(&[], "one\n", async |mut slot| {
        heard(&mut slot).await;
        slot.to_peer.send(ToPeer::Close("enough".into())).unwrap();
    })
    .await;
    insta::assert_snapshot!(outcome.shown(&house), @r"
    --- stderr
    the connection was lost before the answer came: enough
    --- exit code 1
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_plugin_the_sentence_says_whom_to_look_at() {
    let house = House::open().await;
    let outcome = end(start(house.home.path(), &[])).await;
    insta::assert_snapshot!(outcome.shown(&house), @r#"
    --- stderr
    no plugin holds the listener "chat"
    hint: `waiter plugin list` shows how the plugin `cli` is, which holds the chat
    --- exit code 1
    "#);
}
