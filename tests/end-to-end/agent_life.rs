//! The agent is stopped and started while the daemon stays.

use serde_json::json;

use crate::chat::Chat;
use crate::daemon::{with_vendor, with_vendor_and};
use crate::vendor::{Reply, finish, text_event};

#[tokio::test]
async fn without_an_agent_the_daemon_says_so_and_still_shows_what_it_knows() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("before")]);
    assert_eq!(daemon.reply("one").await, "before");
    assert_eq!(daemon.waiter(&["agent", "stop"]).await.ok(), "the agent is stopped; `waiter agent start` starts it");

    let (status, problem) = daemon.post("/api/v1/chat", &json!({ "text": "two" })).await;
    assert_eq!((status, &problem["type"]), (503, &json!("urn:homeagent:problem:agent-stopped")));
    let said = daemon.waiter(&["send", "two"]).await;
    assert_eq!(said.status.code(), Some(1));
    assert_eq!(said.stderr.trim(), "the agent is stopped\nhint: `waiter agent start` starts it");
    for path in ["plugins", "tools"] {
        assert_eq!(daemon.get(&format!("/api/v1/{path}")).await.0, 503, "{path} belong to the agent");
    }
    for path in ["ping", "status", "settings", "sources", "runs"] {
        assert_eq!(daemon.get(&format!("/api/v1/{path}")).await.0, 200, "{path} does not need the agent");
    }
    assert_eq!(daemon.get("/api/v1/status").await.1["agent"]["state"], "stopped");
    assert!(daemon.waiter(&["status"]).await.ok().contains("agent    stopped; `waiter agent start` starts it"));
    assert_eq!(daemon.waiter_json(&["agent", "stop"]).await, json!({ "state": "stopped" }), "it is stopped already");

    assert_eq!(daemon.waiter(&["agent", "start"]).await.ok(), "the agent is running");
    assert_eq!(daemon.waiter_json(&["agent", "start"]).await, json!({ "state": "running" }), "it runs already");
    vendor.script([Reply::text("after")]);
    assert_eq!(daemon.reply("two").await, "after");
    let asked = vendor.asked_so_far();
    let last = asked.last().expect("it was asked");
    assert!(last.says("one") && last.says("before"), "what was said before is still known: {}", last.body);
}

#[tokio::test]
async fn whoever_talks_to_an_agent_that_stops_is_told() {
    let (daemon, vendor) = with_vendor().await;
    daemon.waiter(&["settings", "set", "core.agent.drain_ms", "0"]).await.ok();
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::Paused(vec![text_event("half")], vec![finish("stop")])]);
    chat.say("first").await;
    chat.until("delta").await;
    chat.say("second").await;
    chat.until("accepted").await;
    let (stopped, (reason, before)) = tokio::join!(daemon.waiter(&["agent", "stop"]), chat.until_closed());
    stopped.ok();
    assert_eq!(reason, "the agent was stopped; `waiter agent start` starts it");
    let notices: Vec<_> = before.iter().filter(|frame| frame["type"] == "notice").collect();
    assert!(!notices.is_empty(), "the turn that ran and the message that waited are told: {before:?}");
    let runs = daemon.waiter_json(&["runs", "list"]).await;
    assert_ne!(runs[0]["status"], "open", "no run is left open: {runs}");
    daemon.waiter(&["agent", "start"]).await.ok();
    vendor.script([Reply::text("again")]);
    assert_eq!(daemon.reply("third").await, "again");
}

#[tokio::test]
async fn a_plugin_comes_back_with_its_grants() {
    let (daemon, _vendor) = with_vendor_and(&["counter-one"]).await;
    let tools = daemon.get("/api/v1/tools").await.1;
    daemon.waiter(&["agent", "stop"]).await.ok();
    daemon.waiter(&["agent", "start"]).await.ok();
    assert_eq!(daemon.get("/api/v1/tools").await.1, tools);
}

#[tokio::test]
async fn stops_and_starts_that_come_together_end_in_one_agent() {
    let (daemon, vendor) = with_vendor().await;
    let daemon = &daemon;
    let at_once =
        (0..8).map(|n| async move { daemon.waiter(&["agent", if n % 2 == 0 { "stop" } else { "start" }]).await.ok() });
    futures::future::join_all(at_once).await;
    daemon.waiter(&["agent", "start"]).await.ok();
    vendor.script([Reply::text("one answer")]);
    assert_eq!(daemon.reply("are you there?").await, "one answer");
    assert_eq!(vendor.asked_so_far().len(), 1);
}
