//! What does not wait for the turn that runs.

use rustix::process::Signal;
use serde_json::json;

use crate::chat::Chat;
use crate::daemon::with_vendor;
use crate::vendor::{Reply, text_event};

#[tokio::test]
async fn an_interrupt_cancels_the_call_in_flight_and_joins_the_turn() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::Open(vec![text_event("Once upon a time")]), Reply::text("Very well, short.")]);
    chat.say("tell me a long story").await;
    chat.until("delta").await;
    chat.send(&json!({ "type": "interrupt", "text": "make it short" })).await;
    vendor.left(1).await;
    assert_eq!(chat.until("reply").await.0["text"], "Very well, short.");
    let asked = vendor.asked(2).await;
    assert!(asked[1].says("[打断消息]") && asked[1].says("make it short"));
    assert!(asked[1].says("tell me a long story"), "it is the same turn");
}

#[tokio::test]
async fn an_interrupt_starts_a_turn_when_there_is_none() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::text("at your service")]);
    chat.send(&json!({ "type": "interrupt", "text": "wake up" })).await;
    assert_eq!(chat.until("reply").await.0["text"], "at your service");
}

#[tokio::test]
async fn stop_ends_the_turn_down_to_the_vendors_socket() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    for (way, left) in [("frame", 1), ("words", 2), ("waiter", 3)] {
        vendor.script([Reply::Open(vec![text_event("On and on")])]);
        chat.say("talk").await;
        chat.until("delta").await;
        match way {
            "frame" => chat.send(&json!({ "type": "stop" })).await,
            "words" => chat.say("/stop").await,
            _ => drop(daemon.waiter(&["stop"]).await.ok()),
        }
        vendor.left(left).await;
        let (notice, _) = chat.until("notice").await;
        assert_eq!(notice["code"], "stopped", "{way}");
    }
    vendor.script([Reply::text("calm again")]);
    chat.say("are you there?").await;
    assert_eq!(chat.until("reply").await.0["text"], "calm again");
    let asked = vendor.asked_so_far();
    assert!(asked.last().is_some_and(|asked| asked.says("On and on")), "what was shown stays in the window");
}

#[tokio::test]
async fn the_model_is_not_asked_for_commands() {
    let (daemon, vendor) = with_vendor().await;
    // What the memory brings back goes over sessions.
    daemon.waiter(&["settings", "set", "core.memory.recall", "false"]).await.ok();
    vendor.script([Reply::text("My name is Homer."), Reply::text("Who are you?")]);
    daemon.reply("your name is Homer").await;
    for command in ["/help", "/status", "/model"] {
        assert!(!daemon.reply(command).await.is_empty());
    }
    daemon.reply("/new").await;
    daemon.reply("what is your name?").await;
    let asked = vendor.asked(2).await;
    assert_eq!(asked.len(), 2);
    assert!(!asked[1].says("Homer"), "/new begins a new session");
}

#[tokio::test]
async fn a_terminated_daemon_ends_the_turn_in_words_and_leaves_a_clean_record() {
    let (mut daemon, vendor) = with_vendor().await;
    daemon.waiter(&["settings", "set", "core.agent.drain_ms", "100"]).await.ok();
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::Open(vec![text_event("I was just saying")])]);
    chat.say("talk").await;
    chat.until("delta").await;
    daemon.signal(Signal::TERM);
    let (notice, _) = chat.until("notice").await;
    assert!(notice["text"].as_str().is_some_and(|text| !text.is_empty()));
    let status = daemon.child.wait().await.expect("it ends");
    assert!(status.success(), "{status}");
    let daemon = daemon.home.start().await;
    let runs = daemon.waiter_json(&["runs", "list"]).await;
    assert!(!runs.to_string().contains("\"open\""), "no run is left open: {runs}");
}
