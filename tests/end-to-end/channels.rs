//! Trying a channel with recorded frames.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::{Daemon, with_vendor_and};

/// The corpus of OneBot frames.
fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/onebot/inbound.json")
}

/// A file with this document, in the daemon's home.
fn write(daemon: &Daemon, document: &Value) -> String {
    let file = daemon.folder.join("frames.json");
    std::fs::write(&file, document.to_string()).expect("the home takes files");
    file.display().to_string()
}

fn message(id: u64, segments: &Value) -> Value {
    json!({
        "time": 1_790_000_000, "self_id": 10_001_000, "post_type": "message", "message_type": "private",
        "sub_type": "friend", "message_id": id, "user_id": 20_002_000, "message": segments, "raw_message": "", "font": 0,
        "sender": { "user_id": 20_002_000, "nickname": "甲" },
    })
}

#[tokio::test]
async fn every_frame_of_the_corpus_makes_the_input_it_has_to_and_none_reaches_the_agent() {
    let (daemon, vendor) = with_vendor_and(&["qq"]).await;
    let file = corpus().display().to_string();
    let cases: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("the corpus is there")).expect("it is JSON");
    let said = daemon.waiter(&["channel", "try", "qq", &file]).await.ok();
    let outcomes: Vec<Value> = serde_json::from_str(&said).expect("it prints one JSON document");
    assert_eq!(outcomes.len(), cases.len());
    for (case, outcome) in cases.iter().zip(&outcomes) {
        assert_eq!((&outcome["name"], &outcome["got"], &outcome["ok"]), (&case["name"], &case["want"], &json!(true)));
    }
    assert!(vendor.asked_so_far().is_empty(), "no model was asked");
    assert_eq!(daemon.waiter_json(&["runs", "list"]).await, json!([]));

    // One case alone, from a folder, which need not be installed.
    let folder = daemon.folder.join("plugins/qq").display().to_string();
    for case in &cases {
        let said = daemon.waiter(&["channel", "try", &folder, &write(&daemon, case)]).await.ok();
        assert_eq!(serde_json::from_str::<Value>(&said).expect("it is JSON"), case["want"], "{}", case["name"]);
    }
    assert_eq!(daemon.waiter_json(&["runs", "list"]).await, json!([]));
}

#[tokio::test]
async fn what_is_not_as_wanted_is_named_and_what_the_other_side_answered_is_used() {
    let (daemon, _vendor) = with_vendor_and(&["qq"]).await;
    let text = |text: &str| json!([{ "type": "text", "data": { "text": text } }]);
    let wrong = json!([{ "name": "a greeting", "frame": message(1, &text("hello")), "want": { "text": "goodbye" } }]);
    let said = daemon.waiter(&["channel", "try", "qq", &write(&daemon, &wrong)]).await;
    assert_eq!(said.status.code(), Some(1));
    assert!(said.stderr.contains("a greeting: not as wanted: text"), "{}", said.stderr);
    assert!(said.stdout.contains("\"hello\""), "{}", said.stdout);

    let forward = json!([{ "type": "forward", "data": { "id": "f1" } }]);
    let answered = json!([
        message(2, &forward),
        { "action": "get_forward_msg", "status": "ok", "retcode": 0, "data": { "messages": [
            { "sender": { "user_id": 5, "nickname": "乙" }, "message": text("一封转发的信"), "content": text("一封转发的信") },
        ] } },
    ]);
    let input = daemon.waiter_json(&["channel", "try", "qq", &write(&daemon, &answered)]).await;
    assert!(input["text"].as_str().is_some_and(|text| text.contains("一封转发的信")), "{input}");

    let two = json!([message(3, &text("one")), message(4, &text("two"))]);
    let inputs = daemon.waiter_json(&["channel", "try", "qq", &write(&daemon, &two)]).await;
    assert_eq!((&inputs["inputs"][0]["text"], &inputs["inputs"][1]["text"]), (&json!("one"), &json!("two")));

    // What the owner has set counts.
    daemon.waiter(&["settings", "set", "plugin.qq.private_policy", "off"]).await.ok();
    let one = write(&daemon, &message(5, &text("hello")));
    assert_eq!(daemon.waiter_json(&["channel", "try", "qq", &one]).await["ignored"], true);

    let said = daemon.waiter(&["channel", "try", "calc", &one]).await;
    assert!(said.stderr.contains("no listener") && said.status.code() == Some(1), "{}", said.stderr);
    let said = daemon.waiter(&["channel", "try", "nobody", &one]).await;
    assert!(said.stderr.contains("there is no plugin nobody"), "{}", said.stderr);
}
