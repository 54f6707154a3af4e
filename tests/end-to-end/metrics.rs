//! `GET /metrics`: what an operator's Prometheus reads.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::UnixStream;

use crate::daemon::{Daemon, with_vendor, with_vendor_and};
use crate::exposition::Page;
use crate::vendor::{Reply, finish, text_event};

/// The media type by which a server knows the format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The page as a server gets it over TCP, with the token.
async fn text(daemon: &Daemon) -> String {
    let response = daemon.respond("GET", "/metrics", &[], String::new()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], TEXT_FORMAT);
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    String::from_utf8(body.into()).expect("the format is UTF-8")
}

async fn scrape(daemon: &Daemon) -> Page {
    Page::read(&text(daemon).await)
}

/// The page as the daemon's own user gets it over the unix socket, without a token.
async fn scrape_locally(daemon: &Daemon) -> Page {
    let stream = UnixStream::connect(daemon.home.path().join("homed.sock")).await.expect("homed listens");
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.expect("homed speaks HTTP");
    tokio::spawn(connection);
    let request = Request::get("/metrics").header("host", "localhost").body(Full::new(Bytes::new()));
    let response = sender.send_request(request.expect("a valid request")).await.expect("homed answers");
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    Page::read(std::str::from_utf8(&body).expect("the format is UTF-8"))
}

/// An answer with text for which the vendor counts these tokens.
fn counted(words: &str, input: u64, output: u64) -> Reply {
    let usage = json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [],
                        "usage": { "prompt_tokens": input, "completion_tokens": output,
                                   "total_tokens": input + output } });
    Reply::Stream(vec![text_event(words), finish("stop"), usage])
}

#[tokio::test]
async fn a_chat_with_a_tool_call_is_counted_and_read_over_both_transports() {
    let (daemon, vendor) = with_vendor().await;
    let before = scrape(&daemon).await;
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)]), counted("three", 120, 7)]);
    assert_eq!(daemon.reply("add them").await, "three");
    let after = scrape(&daemon).await;
    let local = scrape_locally(&daemon).await;
    let moved = [
        ("homeagent_turns_total", &[("finish", "stop")][..], 1.0),
        ("homeagent_turn_duration_seconds_count", &[], 1.0),
        ("homeagent_tool_calls_total", &[("outcome", "answered")], 1.0),
        ("homeagent_model_calls_total", &[("source", "fake"), ("outcome", "answered")], 2.0),
        ("homeagent_model_first_piece_seconds_count", &[("source", "fake")], 2.0),
        ("homeagent_model_call_duration_seconds_count", &[("source", "fake")], 2.0),
        ("homeagent_model_tokens_total", &[("source", "fake"), ("direction", "input")], 120.0),
        ("homeagent_model_tokens_total", &[("source", "fake"), ("direction", "output")], 7.0),
        ("homeagent_plugin_calls_total", &[("plugin", "calc"), ("outcome", "answered")], 1.0),
        ("homeagent_plugin_calls_total", &[("plugin", "openai"), ("outcome", "answered")], 2.0),
        ("homeagent_http_requests_total", &[("method", "POST"), ("route", "/api/v1/chat"), ("status", "200")], 1.0),
    ];
    for (sample, labels, by) in moved {
        let (was, is) = (before.sum(sample, labels), after.sum(sample, labels));
        assert_eq!(is - was, by, "{sample} {labels:?} went from {was} to {is}");
        assert_eq!(local.sum(sample, labels), is, "{sample} {labels:?} over the unix socket");
    }
    for sample in ["homeagent_journal_events_total", "homeagent_journal_commits_total"] {
        assert!(after.sum(sample, &[]) > before.sum(sample, &[]), "{sample} stood still");
    }
    let names = |page: &Page| page.families.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&local), names(&after));
}

#[tokio::test]
async fn how_the_daemon_is_stands_beside_what_it_counted() {
    let (daemon, _vendor) = with_vendor().await;
    let page = scrape(&daemon).await;
    let status = daemon.get("/api/v1/status").await.1;
    assert!(page.sum("homeagent_uptime_seconds", &[]) > 0.0);
    assert!(page.sum("homeagent_process_resident_bytes", &[]) > f64::from(1 << 20));
    assert!(page.sum("homeagent_process_threads", &[]) >= 2.0);
    assert!(page.sum("homeagent_process_open_files", &[]) >= 3.0);
    assert!(page.sum("homeagent_disk_free_bytes", &[]) > 0.0);
    let version = status["version"].as_str().expect("a version");
    assert_eq!(page.sum("homeagent_build_info", &[("version", version)]), 1.0);
    assert_eq!(page.sum("homeagent_agent_state", &[("state", "running")]), 1.0);
    assert_eq!(page.sum("homeagent_agent_state", &[]), 1.0, "it is in one state");
    assert_eq!(Some(page.sum("homeagent_plugins", &[("state", "live")])), status["plugins"]["live"].as_f64());
    assert_eq!(page.sum("homeagent_sources", &[("standing", "ready")]), 1.0);
    assert!(page.sum("homeagent_http_connections", &[("client", "network")]) >= 1.0, "that of the scrape itself");

    let mut following = daemon.respond("GET", "/api/v1/events", &[], String::new()).await;
    assert_eq!(scrape(&daemon).await.sum("homeagent_http_streams", &[("kind", "events")]), 1.0);
    daemon.waiter(&["settings", "set", "core.agent.rounds", "9"]).await.ok();
    following.body_mut().frame().await.expect("the stream goes on").expect("it is not cut");
}

#[tokio::test]
async fn who_has_no_token_gets_no_metrics_and_is_counted() {
    let (daemon, _vendor) = with_vendor().await;
    for token in ["", "Bearer wrong"] {
        let (status, problem) = daemon.request("GET", "/metrics", &[("authorization", token)], String::new()).await;
        assert_eq!((status, &problem["type"]), (401, &json!("urn:homeagent:problem:unauthorized")));
    }
    let page = scrape(&daemon).await;
    assert_eq!(page.sum("homeagent_http_refused_total", &[("reason", "token")]), 2.0);
    assert_eq!(page.sum("homeagent_http_requests_total", &[("route", "/metrics"), ("status", "401")]), 2.0);
}

#[tokio::test]
async fn failures_are_counted_by_what_they_were() {
    let (daemon, vendor) = with_vendor_and(&["traps"]).await;
    daemon.waiter(&["tools", "call", "trap"]).await;
    daemon.waiter(&["tools", "call", "no-such-tool"]).await;
    vendor.script([Reply::Status(401, json!({ "error": { "message": "no such key" } }))]);
    daemon.ask("hi").await;
    let page = scrape(&daemon).await;
    assert_eq!(page.sum("homeagent_plugin_traps_total", &[("plugin", "traps")]), 1.0);
    assert_eq!(page.sum("homeagent_plugin_calls_total", &[("plugin", "traps"), ("outcome", "other")]), 1.0);
    assert_eq!(page.sum("homeagent_tool_calls_total", &[("outcome", "other")]), 1.0);
    assert_eq!(page.sum("homeagent_tool_calls_total", &[("outcome", "unknown")]), 1.0);
    assert_eq!(page.sum("homeagent_model_failures_total", &[("class", "auth")]), 1.0);
    assert_eq!(page.sum("homeagent_model_calls_total", &[("source", "fake"), ("outcome", "failed")]), 1.0);
    assert_eq!(page.sum("homeagent_sources", &[("standing", "disabled")]), 1.0);
    assert_eq!(page.sum("homeagent_turns_total", &[("finish", "failed")]), 1.0);
    // A reload, and one of a package that can't be read any more.
    daemon.waiter(&["plugin", "reload", "traps"]).await.ok();
    std::fs::write(daemon.home.path().join("plugins/traps/guest_traps.wasm"), "none").expect("the disk takes it");
    assert!(!daemon.waiter(&["plugin", "reload", "traps"]).await.status.success());
    let page = scrape(&daemon).await;
    let swaps = |outcome| page.sum("homeagent_plugin_swaps_total", &[("plugin", "traps"), ("outcome", outcome)]);
    // The first reload came with the grant.
    assert_eq!((swaps("done"), swaps("refused")), (2.0, 1.0));
    daemon.waiter(&["plugin", "reload", "openai"]).await.ok();
    let of_adapter = [("plugin", "openai"), ("outcome", "done")];
    assert_eq!(scrape(&daemon).await.sum("homeagent_plugin_swaps_total", &of_adapter), 1.0);
}

#[tokio::test]
async fn what_people_and_clients_write_is_in_no_label() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::calls(&[("compare-marked", r#"{"marked":"marked"}"#)]), Reply::text("marked")]);
    daemon.ask("marked by a person").await;
    for path in ["/api/v1/runs/marked", "/api/v1/marked?marked=marked", "/marked", "/api/v1/tools/marked"] {
        daemon.get(path).await;
    }
    daemon.request("MARKED", "/api/v1/status", &[], String::new()).await;
    let text = text(&daemon).await;
    assert!(!text.to_lowercase().contains("marked"), "{text}");
    let page = Page::read(&text);
    let requests = |labels: &[_]| page.sum("homeagent_http_requests_total", labels);
    assert_eq!(requests(&[("route", "/api/v1/runs/{id}"), ("status", "404")]), 1.0);
    assert_eq!(requests(&[("route", "none"), ("status", "404")]), 2.0);
    assert_eq!(requests(&[("method", "other"), ("status", "405")]), 1.0);
}

#[tokio::test]
async fn metrics_outlive_the_agent() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("hello"), Reply::text("again")]);
    daemon.ask("hi").await;
    let turns = |page: &Page| page.sum("homeagent_turns_total", &[("finish", "stop")]);
    daemon.waiter(&["agent", "stop"]).await.ok();
    let page = scrape(&daemon).await;
    assert_eq!(page.sum("homeagent_agent_state", &[("state", "stopped")]), 1.0);
    assert_eq!(turns(&page), 1.0, "what was counted stays");
    for absent in ["homeagent_plugins", "homeagent_plugin_calls_waiting", "homeagent_sources"] {
        assert!(!page.families.contains_key(absent), "there is no {absent} without an agent");
    }
    daemon.waiter(&["agent", "start"]).await.ok();
    daemon.ask("hi").await;
    assert_eq!(turns(&scrape(&daemon).await), 2.0, "counters never begin anew");
}

/// The metrics of the table in the documentation: name, and type with the names of the labels.
fn documented() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md");
    let text = std::fs::read_to_string(path).expect("it is documented");
    let rows = text.lines().filter(|line| line.starts_with("| `homeagent_"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels, _meaning] = cells[..] else { panic!("not a row of the table: {line}") };
        let labels = labels.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (name.trim_matches('`').to_owned(), (kind.to_owned(), labels))
    };
    rows.map(row).collect()
}

#[tokio::test]
async fn what_is_documented_is_what_is_served() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[1,2]}"#)]), counted("three", 120, 7)]);
    daemon.ask("add them").await;
    let page = scrape(&daemon).await;
    let served: BTreeMap<_, _> = page
        .families
        .iter()
        .map(|(name, family)| {
            assert!(!family.help.is_empty(), "{name}");
            let labels = family.labels().into_iter().map(str::to_owned).collect();
            (name.clone(), (family.kind.clone(), labels))
        })
        .collect();
    assert_eq!(served, documented(), "what is served stands left, what docs/observability.md says right");
}
