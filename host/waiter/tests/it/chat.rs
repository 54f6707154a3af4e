//! The chat, with lines from a pipe.

use homeagent_journal::RunStatus;
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
    chat_in_house(args, lines, async |slot, _| plugin(slot).await).await
}

async fn chat_in_house(args: &[&str], lines: &str, plugin: impl AsyncFnOnce(ChatEnd, &House)) -> (Outcome, House) {
    let (listeners, mut ends) = FakeListeners::new(16);
    let house = House::with(listeners).await;
    let mut child = start(house.home.path(), args);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).await.unwrap();
    drop(stdin);
    let slot = ends.recv().await.unwrap();
    plugin(slot, &house).await;
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
async fn where_a_turn_asks_the_next_line_is_the_answer() {
    let (outcome, house) = chat(&[], "ring it\nyes\n", async |mut slot| {
        let said = heard(&mut slot).await;
        say(&slot, &json!({"type": "accepted", "input": "i", "id": said["id"]}));
        // One of another turn is not for this line.
        say(&slot, &json!({"type": "notice", "code": "question", "text": "May I?"}));
        say(&slot, &json!({"type": "notice", "run": "r", "code": "question", "text": "May it ring?"}));
        let answer = heard(&mut slot).await;
        assert_eq!(answer["text"], "yes");
        say(&slot, &json!({"type": "accepted", "input": "j", "id": answer["id"]}));
        say(&slot, &json!({"type": "reply", "run": "r", "text": "it rang"}));
        assert!(slot.next().await.is_err());
    })
    .await;
    insta::assert_snapshot!(outcome.shown(&house), @r"
    it rang
    --- stderr
    [question] May it ring?
    [question] May I?
    --- exit code 0
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_a_reply_is_a_failure() {
    let (outcome, house) = chat(&[], "one\n", async |mut slot| {
        let said = heard(&mut slot).await;
        say(&slot, &json!({"type": "accepted", "input": "i", "id": said["id"]}));
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
async fn what_was_answered_before_the_connection_broke_is_in_the_document() {
    let (outcome, _) = chat(&["--json"], "one\ntwo\n", async |mut slot| {
        let said = heard(&mut slot).await;
        say(&slot, &json!({"type": "accepted", "input": "i", "id": said["id"]}));
        say(&slot, &json!({"type": "reply", "run": "r", "text": "the first"}));
        heard(&mut slot).await;
        slot.to_peer.send(ToPeer::Close("enough".into())).unwrap();
    })
    .await;
    let document = outcome.json();
    assert_eq!((&document[0]["reply"], &document[1]["said"]), (&json!("the first"), &json!("two")));
    assert!(document[1]["notices"][0].as_str().unwrap().contains("enough"), "{document}");
    assert_eq!(outcome.code, 1);
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

/// A run of the conversation that took this input.
async fn run_of(house: &House, input: &str) -> String {
    let journal = &house.journal;
    let taken = journal.accept_input("cli:owner", input, None, json!({}), "owner").await;
    taken.unwrap();
    journal.start_run("cli:owner", "cli:owner", &[input.to_owned()]).await.unwrap().run
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_gets_the_answer_to_it_whatever_else_is_said_in_the_conversation() {
    let (listeners, mut ends) = FakeListeners::new(16);
    let house = House::with(listeners).await;
    let mut child = start(house.home.path(), &["--json"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").await.unwrap();
    drop(stdin);
    let mut slot = ends.recv().await.unwrap();
    let other = run_of(&house, "other").await;
    for (line, early) in [("one", false), ("two", true)] {
        let said = heard(&mut slot).await;
        assert_eq!(said["text"], line);
        let input = format!("input of {line}");
        let run = run_of(&house, &input).await;
        let accepted = json!({"type": "accepted", "input": input, "id": said["id"]});
        let reply = json!({"type": "reply", "run": run, "text": format!("you said {line}")});
        if early {
            say(&slot, &reply);
            say(&slot, &accepted);
            continue;
        }
        say(&slot, &json!({"type": "reply", "run": other, "text": "for somebody else"}));
        say(&slot, &accepted);
        say(&slot, &json!({"type": "message", "run": other, "text": "for somebody else"}));
        say(&slot, &json!({"type": "reply", "run": other, "text": "for somebody else"}));
        say(&slot, &json!({"type": "notice", "run": other, "code": "failed", "text": "for somebody else"}));
        say(&slot, &json!({"type": "notice", "run": null, "code": "waiting", "text": "not yet"}));
        say(&slot, &reply);
    }
    let outcome = end(child).await;
    assert_eq!(
        outcome.json(),
        json!([
            {"said": "one", "reply": "you said one", "messages": [], "notices": ["[waiting] not yet"]},
            {"said": "two", "reply": "you said two", "messages": [], "notices": []},
        ])
    );
    assert_eq!(outcome.code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_ends_without_a_word_is_not_waited_for() {
    let (outcome, _house) = chat_in_house(&[], "/stop\n", async |mut slot, house| {
        let said = heard(&mut slot).await;
        let run = run_of(house, "stop").await;
        say(&slot, &json!({"type": "accepted", "input": "stop", "id": said["id"]}));
        house
            .journal
            .finish_run(&run, Vec::new(), RunStatus::Completed, Some("command"), None, json!({}))
            .await
            .unwrap();
        assert!(slot.next().await.is_err());
    })
    .await;
    assert_eq!(outcome.code, 1);
}
