//! Spans for an OpenTelemetry collector: what it is told, what it is not told, and what it can't do to the daemon.

use rustix::process::Signal;
use serde_json::Value;

use crate::collector::{Collector, Manner, Received, Seen};
use crate::daemon::{Daemon, KEY, with_vendor, with_vendor_and};
use crate::vendor::Reply;

/// What the log says once while a collector does not take spans.
const TROUBLE: &str = "spans don't reach the collector";

/// An endpoint for spans, in force.
async fn export_to(daemon: &Daemon, endpoint: &str) {
    daemon.waiter(&["settings", "set", "core.otel.endpoint", endpoint]).await.ok();
    daemon.logged(&format!("spans go to a collector endpoint=\"{endpoint}\"")).await;
}

/// Ends a daemon as its owner does.
async fn stop(mut daemon: Daemon) {
    daemon.signal(Signal::TERM);
    assert!(daemon.child.wait().await.expect("it ends").success(), "a clean stop succeeds");
}

fn run_of(result: &Value) -> String {
    result["run"].as_str().unwrap_or_else(|| panic!("no run in {result}")).to_owned()
}

/// The only span that this holds of.
fn only(spans: &[Seen], what: impl Fn(&Seen) -> bool) -> Seen {
    let found: Vec<_> = spans.iter().filter(|span| what(span)).collect();
    assert_eq!(found.len(), 1, "among {spans:#?}");
    found[0].clone()
}

#[tokio::test]
async fn a_turn_is_one_trace_whose_spans_stand_in_each_other_as_the_work_did() {
    let (daemon, vendor) = with_vendor_and(&["brackets"]).await;
    let collector = Collector::start(Manner::Takes).await;
    export_to(&daemon, &collector.endpoint).await;
    daemon.waiter(&["settings", "set", "core.otel.service_name", "the house"]).await.ok();
    vendor.script([Reply::calls(&[("add", r#"{"numbers":[271828, 314159]}"#)]), Reply::text("a sum in plain words")]);
    let run = run_of(&daemon.ask("a question in my own words").await);
    stop(daemon).await;

    let received = collector.so_far();
    let spans = received.of_run(&run);
    let turn = only(&spans, |span| span.name == "turn");
    assert!(turn.parent.is_empty(), "{turn:#?}");
    assert!(turn.has("homeagent.conversation.kind", "person") && turn.has("homeagent.role", "owner"), "{turn:#?}");
    assert_eq!((&*turn.service["service.name"], &*turn.service["service.version"]), ("the house", "0.1.0"));
    assert!(spans.iter().all(|span| span.trace == turn.trace), "{spans:#?}");
    assert_eq!(received.spans.iter().filter(|span| span.trace == turn.trace).count(), spans.len(), "all name the run");

    let calls: Vec<_> = spans.iter().filter(|span| span.name == "model_call").collect();
    assert_eq!(calls.len(), 2, "{spans:#?}");
    for call in calls {
        assert_eq!((&call.parent, call.kind, call.status), (&turn.id, 3, 0), "{call:#?}");
        assert!(call.has("gen_ai.request.model", "m") && call.has("homeagent.source", "fake"), "{call:#?}");
        assert!(call.has("homeagent.outcome", "answered"), "{call:#?}");
        assert!(call.attributes.contains_key("gen_ai.usage.input_tokens"), "{call:#?}");
    }
    let tool = only(&spans, |span| span.name == "tool");
    assert_eq!(tool.parent, turn.id, "{tool:#?}");
    assert!(tool.has("gen_ai.tool.name", "add") && tool.has("homeagent.plugin", "calc"), "{tool:#?}");
    let stage = only(&spans, |span| span.name == "stage");
    assert_eq!(stage.parent, turn.id, "{stage:#?}");
    assert!(stage.has("homeagent.stage", "before_output") && stage.has("homeagent.plugin", "brackets"), "{stage:#?}");
    for (outer, plugin) in [(tool, "calc"), (stage, "brackets")] {
        let call = only(&spans, |span| span.parent == outer.id);
        assert!(call.name == "call" && call.has("homeagent.plugin", plugin), "{call:#?}");
        assert!(call.attributes.contains_key("homeagent.export"), "{call:#?}");
    }
    for private in ["in my own words", "in plain words", "271828"] {
        assert!(!received.holds(private), "{private}: what people and models write does not leave");
    }
}

#[tokio::test]
async fn a_secret_does_not_leave_in_an_attribute_and_a_failed_call_is_marked() {
    let (daemon, vendor) = with_vendor().await;
    let collector = Collector::start(Manner::Takes).await;
    export_to(&daemon, &collector.endpoint).await;
    // A key that somebody pastes into the wrong field.
    let url = &vendor.base_url;
    let add = ["source", "add", "fake", "--adapter", "openai", "--base-url", url, "--model", KEY];
    daemon.waiter(&add).await.ok();
    vendor.script([Reply::Status(401, serde_json::json!({ "error": { "message": "no such key" } }))]);
    let run = run_of(&daemon.ask("hi").await);
    stop(daemon).await;
    let received = collector.so_far();
    let call = only(&received.of_run(&run), |span| span.name == "model_call");
    assert!(call.attributes["gen_ai.request.model"].starts_with("[secret "), "{call:#?}");
    assert_eq!((call.status, call.has("homeagent.outcome", "auth")), (2, true), "{call:#?}");
    assert!(!received.holds(KEY), "the key is in what was sent");
}

#[tokio::test]
async fn the_setting_begins_and_ends_the_export_while_the_daemon_runs() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("hello");
    let collector = Collector::start(Manner::Takes).await;
    let before = run_of(&daemon.ask("one").await);
    export_to(&daemon, &collector.endpoint).await;
    let during = run_of(&daemon.ask("two").await);
    daemon.waiter(&["settings", "unset", "core.otel.endpoint"]).await.ok();
    daemon.logged("spans are no longer exported").await;
    let told = collector.so_far();
    let after = run_of(&daemon.ask("three").await);
    stop(daemon).await;
    let received = collector.so_far();
    assert!(
        !received.of_run(&during).is_empty(),
        "what ended while it was on was handed over when it was switched off"
    );
    assert!(received.of_run(&before).is_empty() && received.of_run(&after).is_empty());
    assert_eq!(received.requests, told.requests, "nothing is sent while it is off");
}

#[tokio::test]
async fn an_endpoint_that_is_set_at_the_start_is_used_from_the_first_turn_on() {
    let (mut daemon, vendor) = with_vendor().await;
    vendor.always("hello");
    let collector = Collector::start(Manner::Takes).await;
    // With the path for spans, as some tools give it.
    export_to(&daemon, &format!("{}/v1/traces/", collector.endpoint)).await;
    daemon.signal(Signal::TERM);
    daemon.child.wait().await.expect("it ends");
    let daemon = daemon.home.start().await;
    let run = run_of(&daemon.ask("hi").await);
    collector.until(|received| received.of_run(&run).iter().any(|span| span.name == "turn")).await;
    let refused = daemon.waiter(&["settings", "set", "core.otel.endpoint", "127.0.0.1:4317"]).await;
    assert!(refused.stderr.contains("http://127.0.0.1:4318"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_collector_that_refuses_is_told_once_and_costs_nobody_a_turn() {
    let page = "<!doctype html><p>Welcome!";
    for manner in [
        Manner::Answers(500, "text/plain", "oh no"),
        Manner::Answers(200, "text/html", page),
        Manner::Answers(502, "text/html", page),
    ] {
        let (daemon, vendor) = with_vendor().await;
        vendor.always("hello");
        let collector = Collector::start(manner).await;
        export_to(&daemon, &collector.endpoint).await;
        let mut posted = 0;
        // The second is refused too before the daemon ends.
        while posted < 2 {
            assert_eq!(daemon.reply("hi").await, "hello");
            posted = collector.until(|received| received.requests > posted).await.requests;
        }
        let log = daemon.logged(TROUBLE).await;
        assert_eq!(log.matches(TROUBLE).count(), 1, "{log}");
        stop_and_look(daemon).await;
    }
}

/// Ends the daemon and sees that the log tells of the trouble once, in all files.
async fn stop_and_look(daemon: Daemon) {
    let home = std::sync::Arc::clone(&daemon.home);
    stop(daemon).await;
    let log = home.log();
    assert_eq!(log.matches(TROUBLE).count(), 1, "{log}");
    assert!(log.contains("some spans never reached the collector"), "what is lost is counted: {log}");
}

#[tokio::test]
async fn nobody_at_the_endpoint_costs_nobody_a_turn_and_the_daemon_ends() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("hello");
    // Where nobody listens: the port was just given back.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let endpoint = format!("http://{}", listener.local_addr().expect("it has an address"));
    drop(listener);
    export_to(&daemon, &endpoint).await;
    assert_eq!(daemon.reply("hi").await, "hello");
    daemon.logged(TROUBLE).await;
    assert_eq!(daemon.reply("hi again").await, "hello");
    stop_and_look(daemon).await;
}

#[tokio::test]
async fn a_collector_that_never_answers_costs_nobody_a_turn_and_the_daemon_ends() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("hello");
    let collector = Collector::start(Manner::Hangs).await;
    export_to(&daemon, &collector.endpoint).await;
    assert_eq!(daemon.reply("hi").await, "hello");
    collector.until(|received| received.requests == 1).await;
    assert_eq!(daemon.reply("hi again").await, "hello");
    let home = std::sync::Arc::clone(&daemon.home);
    stop(daemon).await;
    let log = home.log();
    assert!(log.contains("too slow to take the last spans"), "{log}");
}

#[tokio::test]
async fn spans_that_a_collector_refuses_among_others_are_counted_in_the_log() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("hello");
    let collector = Collector::start(Manner::Refuses(2)).await;
    export_to(&daemon, &collector.endpoint).await;
    assert_eq!(daemon.reply("hi").await, "hello");
    daemon.logged("does not take all spans, or is too slow for them dropped=2").await;
}

#[tokio::test]
async fn spans_that_an_overloaded_collector_puts_off_reach_it_later() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("hello");
    let collector = Collector::start(Manner::Answers(503, "text/plain", "later")).await;
    export_to(&daemon, &collector.endpoint).await;
    let run = run_of(&daemon.ask("hi").await);
    collector.until(|received| received.requests > 0).await;
    daemon.logged(TROUBLE).await;
    collector.behave(Manner::Takes);
    let whole = |received: &Received| received.of_run(&run).iter().any(|span| span.name == "turn");
    collector.until(whole).await;
    daemon.logged("spans reach the collector again").await;
}
