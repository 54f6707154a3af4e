//! Following what happens.

use homeagent_journal::{EventKind, Journal, NewEvent};
use homeagent_settings::Database;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::chat::read_until;
use crate::house::House;

const EVENTS: &str = "/api/v1/events";

async fn note(journal: &Journal, conversation: &str, kind: EventKind, payload: Value) -> i64 {
    let session = journal.current_session(conversation).await.unwrap();
    let (conversation, audience) = (conversation.to_owned(), conversation.to_owned());
    journal.append(NewEvent { session, run: None, conversation, kind, audience, payload }).await.unwrap()
}

async fn model_called(journal: &Journal, n: usize) -> i64 {
    note(journal, "api:owner", EventKind::ModelCalled, json!({ "n": n })).await
}

/// What the stream says by the time it has said `until`.
async fn said(house: &House, query: &str, headers: &[(&str, &str)], until: &str) -> String {
    let mut body = open(house, query, headers).await;
    let mut read = String::new();
    read_until(&mut body, &mut read, until).await;
    read
}

async fn open(house: &House, query: &str, headers: &[(&str, &str)]) -> Incoming {
    let response = house.stream(Method::GET, &format!("{EVENTS}{query}"), headers, "").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

fn ids(read: &str) -> Vec<i64> {
    read.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

#[tokio::test]
async fn a_follower_gets_what_happens_from_now_on_or_from_where_it_was() {
    let house = House::open().await;
    let first = model_called(&house.journal, 1).await;
    let mut body = open(&house, "", &[]).await;
    let second = model_called(&house.journal, 2).await;
    let mut read = String::new();
    read_until(&mut body, &mut read, "\n\n").await;
    assert!(read.contains("event: model_called\n") && read.contains(r#""payload":{"n":2}"#), "{read}");
    assert_eq!(ids(&read), [second], "what was before is not repeated");

    let third = model_called(&house.journal, 3).await;
    let again = said(&house, "", &[("last-event-id", &first.to_string())], r#"{"n":3}"#).await;
    assert_eq!(ids(&again), [second, third], "a follower that was away misses nothing");
    let again = said(&house, "?after=0", &[], r#"{"n":3}"#).await;
    assert_eq!(ids(&again), [first, second, third]);
    let both = said(&house, "?after=0", &[("last-event-id", &second.to_string())], r#"{"n":3}"#).await;
    assert_eq!(ids(&both), [third], "the header of a client that comes back goes before its address");
}

#[tokio::test]
async fn a_follower_that_does_not_read_holds_up_nobody_and_misses_nothing() {
    let house = House::open().await;
    let mut body = open(&house, "?after=0", &[]).await;
    let text = "x".repeat(32 << 10);
    let mut written = Vec::new();
    for _ in 0..200 {
        written.push(note(&house.journal, "api:owner", EventKind::ToolResultRecorded, json!({ "text": text })).await);
    }
    let last = model_called(&house.journal, 0).await;
    let mut read = String::new();
    read_until(&mut body, &mut read, r#"{"n":0}"#).await;
    written.push(last);
    assert_eq!(ids(&read), written);
}

#[tokio::test]
async fn a_follower_chooses_what_it_wants() {
    let house = House::open().await;
    note(&house.journal, "cli:owner", EventKind::ModelCalled, json!({ "n": "elsewhere" })).await;
    note(&house.journal, "api:owner", EventKind::SystemPromptSnapshotted, json!({ "n": "a prompt" })).await;
    note(&house.journal, "api:owner", EventKind::ToolStarted, json!({ "n": "a tool" })).await;
    model_called(&house.journal, 9).await;
    let read = said(&house, "?after=0&conversation=api:owner", &[], r#"{"n":9}"#).await;
    assert!(read.contains("a tool") && !read.contains("elsewhere") && !read.contains("a prompt"), "{read}");
    let read =
        said(&house, "?after=0&hidden=true&kind=system_prompt_snapshotted,model_called", &[], r#"{"n":9}"#).await;
    assert!(read.contains("a prompt") && read.contains("elsewhere") && !read.contains("a tool"), "{read}");
}

#[tokio::test]
async fn changes_of_the_daemon_are_told_without_a_place_in_the_journal() {
    let house = House::open().await;
    let mut body = open(&house, "", &[]).await;
    let mut read = String::new();
    house.local(Method::PUT, "/api/v1/settings/core.agent.rounds", r#"{"value":7}"#).await.ok();
    read_until(&mut body, &mut read, "event: setting\ndata: {\"key\":\"core.agent.rounds\"}\n\n").await;
    house.local(Method::POST, "/api/v1/agent/stop", "").await.ok();
    read_until(&mut body, &mut read, "event: agent\ndata: {\"state\":\"stopped\"}\n\n").await;
    house.local(Method::POST, "/api/v1/agent/start", "").await.ok();
    read_until(&mut body, &mut read, "event: agent\ndata: {\"state\":\"running\"}\n\n").await;
    assert!(ids(&read).is_empty());
}

#[tokio::test]
async fn what_can_not_be_followed_is_said() {
    let house = House::open().await;
    let kind = house.local(Method::GET, &format!("{EVENTS}?kind=model_calls"), "").await.problem(422);
    assert_eq!(kind["detail"], "there is no kind of event \"model_calls\"");
    house.local(Method::GET, &format!("{EVENTS}?after=soon"), "").await.problem(400);
    house.local(Method::GET, &format!("{EVENTS}?befor=3"), "").await.problem(400);
    let response = house.stream(Method::GET, EVENTS, &[("last-event-id", "x")], "").await;
    assert_eq!(response.status(), 422);
    // The place of another daemon's journal: it begins with what happens next.
    let mut body = open(&house, "?after=999999", &[]).await;
    model_called(&house.journal, 1).await;
    read_until(&mut body, &mut String::new(), r#"{"n":1}"#).await;
}

#[tokio::test]
async fn a_gateway_that_stops_ends_its_streams() {
    let house = House::open().await;
    let body = open(&house, "", &[]).await;
    house.gateway.shutdown().await;
    body.collect().await.unwrap();
}

#[tokio::test]
async fn a_journal_that_can_not_be_read_is_said_at_the_end_of_the_stream() {
    let house = House::open().await;
    model_called(&house.journal, 1).await;
    let database = Database::open(house.home.path().join("homeagent.db")).unwrap();
    database.writer().unwrap().execute_batch("ALTER TABLE events RENAME TO gone").unwrap();
    let body = open(&house, "?after=0", &[]).await;
    let read = String::from_utf8(body.collect().await.unwrap().to_bytes().into()).unwrap();
    assert!(read.starts_with("event: failed\n") && read.contains("\"status\":500"), "{read}");
}
