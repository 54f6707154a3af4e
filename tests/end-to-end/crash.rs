//! A daemon that is killed at any moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Message;

use crate::chat::Chat;
use crate::daemon::{Daemon, Home};
use crate::vendor::{Reply, Vendor, finish, text_event};

const KILLS: u64 = 12;

/// Says things as fast as they are accepted until the connection breaks, and returns the inputs that were acknowledged.
async fn say_until_it_breaks(daemon: &Daemon, round: u64) -> Vec<(String, String)> {
    let Ok(stream) = UnixStream::connect(daemon.home.path().join("homed.sock")).await else { return Vec::new() };
    let address = format!("ws://homed/channels/chat?conversation=crash-{}", round % 3);
    let Ok((mut socket, _)) = tokio_tungstenite::client_async(address, stream).await else { return Vec::new() };
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let text = format!("message {round}.{number}");
        let frame = json!({ "type": "say", "text": text, "id": text }).to_string();
        if socket.send(Message::text(frame)).await.is_err() {
            break;
        }
        loop {
            let Some(Ok(Message::Text(frame))) = socket.next().await else { return acknowledged };
            let frame: Value = serde_json::from_str(&frame).expect("frames are JSON");
            if frame["type"] == "accepted" {
                acknowledged.push((frame["input"].as_str().expect("an id").to_owned(), text));
                break;
            }
            if frame["type"] == "error" {
                break;
            }
        }
    }
    acknowledged
}

#[tokio::test]
async fn killed_in_the_middle_of_turns_it_loses_nothing_that_was_acknowledged() {
    let home = Arc::new(Home::new());
    let vendor = Vendor::start().await;
    vendor.always("an answer");
    let mut acknowledged = Vec::new();
    for round in 0..KILLS {
        let mut daemon = home.start().await;
        if round == 0 {
            daemon.use_vendor(&vendor).await;
        }
        // Not a synchronisation: the moment of the kill is meant to be any.
        let moment = Duration::from_millis(20 + (round * 37) % 300);
        let base = daemon.child.id().expect("it runs");
        let kill = async {
            tokio::time::sleep(moment).await;
            let pid = rustix::process::Pid::from_raw(base.cast_signed()).expect("a process");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
        };
        let (said, ()) = tokio::join!(say_until_it_breaks(&daemon, round), kill);
        acknowledged.extend(said);
        daemon.child.wait().await.expect("it ends");
        check_file(&home);
    }
    assert!(!acknowledged.is_empty(), "nothing was acknowledged in any round");

    let mut daemon = home.start().await;
    vendor.always("an answer");
    daemon.reply("are you well?").await;
    daemon.signal(rustix::process::Signal::TERM);
    daemon.child.wait().await.expect("it ends");
    let database = rusqlite::Connection::open(home.path().join("homeagent.db")).expect("it opens");
    let journaled = accepted(&database);
    for (input, text) in &acknowledged {
        assert!(journaled.contains(input), "{input} ({text}) was lost");
    }
    let waiting: u32 = database
        .query_row("SELECT count(*) FROM inputs WHERE state = 'waiting'", [], |row| row.get(0))
        .expect("it can be counted");
    assert_eq!(waiting, 0, "a clean stop leaves no input that nobody took or was told of");
    let open: u32 = database
        .query_row("SELECT count(*) FROM runs WHERE status = 'open'", [], |row| row.get(0))
        .expect("it can be counted");
    assert_eq!(open, 0, "every run has an end");
}

#[tokio::test]
async fn a_message_whose_model_was_being_asked_at_the_kill_is_answered_once_after_the_start() {
    let home = Arc::new(Home::new());
    let vendor = Vendor::start().await;
    let half = || vec![text_event("half an ")];
    vendor.script([Reply::Open(half()), Reply::Paused(half(), vec![text_event("answer"), finish("stop")])]);
    let mut daemon = home.start().await;
    daemon.use_vendor(&vendor).await;
    let mut chat = Chat::open(&daemon).await;
    let question = json!({ "type": "say", "text": "are you there?", "id": "0199a0c7-6f5e-7c31-8d7a-8f3f0c2f9f11" });
    chat.send(&question).await;
    let (taken, _) = chat.until("accepted").await;
    vendor.asked(1).await;
    // The piece that came proves that the model's answer was under way.
    chat.until("delta").await;
    daemon.signal(rustix::process::Signal::KILL);
    daemon.child.wait().await.expect("it ends");

    let daemon = home.start().await;
    let mut chat = Chat::open(&daemon).await;
    // As a client does that does not know whether it was heard.
    chat.send(&question).await;
    let asked = vendor.asked(2).await.pop().expect("two questions");
    let said = asked.messages().iter().filter(|message| message["role"] == "user").count();
    assert_eq!(said, 1, "its words stand there once: {}", asked.body);
    assert!(!asked.says("half an"), "{}", asked.body);
    vendor.go_on();
    let (reply, before) = chat.until("reply").await;
    assert_eq!(reply["text"], "half an answer");
    let again = before.iter().find(|frame| frame["type"] == "accepted").expect("it was heard again");
    assert_eq!(again["input"], taken["input"], "and known");

    vendor.always("another answer");
    chat.say("and now?").await;
    let (reply, before) = chat.until("reply").await;
    assert_eq!(reply["text"], "another answer");
    assert!(!before.iter().any(|frame| frame["type"] == "reply"), "{before:?}");
    assert_eq!(vendor.asked_so_far().len(), 3, "nothing was asked twice");
    let runs = daemon.waiter_json(&["runs", "list"]).await;
    let errors: Vec<_> = runs["runs"].as_array().or(runs.as_array()).expect("a list").iter().collect();
    let cut = errors.iter().find(|run| run["status"] == "failed").unwrap_or_else(|| panic!("{runs}"));
    assert!(cut["error"].as_str().is_some_and(|error| error.contains("taken up by another")), "{cut}");
}

/// The file is whole after every kill, and its events are in order.
fn check_file(home: &Home) {
    let database = rusqlite::Connection::open(home.path().join("homeagent.db")).expect("it opens");
    let verdict: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be checked");
    assert_eq!(verdict, "ok");
    let taken_twice: u32 = database
        .query_row(
            "SELECT count(*) FROM (SELECT 1 FROM events WHERE kind = 'input_accepted'
             GROUP BY json_extract(payload, '$.id') HAVING count(*) > 1 AND json_extract(payload, '$.id') IS NOT NULL)",
            [],
            |row| row.get(0),
        )
        .expect("it can be counted");
    assert_eq!(taken_twice, 0, "no input is in the journal twice");
}

/// The ids of the inputs that the journal has.
fn accepted(database: &rusqlite::Connection) -> BTreeSet<String> {
    let sql = "SELECT json_extract(payload, '$.id') FROM events WHERE kind = 'input_accepted'";
    let mut statement = database.prepare(sql).expect("the journal has events");
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("they can be read");
    rows.map(|row| row.expect("an input has an id")).collect()
}
