//! Requests over connections that are answered by an echo.

use homeagent_types::CallError;
use homeagent_types::ports::{Connection, Frame, Haste, Listeners, PluginAdmin, ToPeer};

use crate::house::{self, House};

/// A connection that the switchboard knows of.
async fn connect(house: &House) -> Box<dyn Connection> {
    let connection = house.runtime.connect("line", None, Vec::new()).await.expect("the switchboard has the listener");
    say(&*connection, "hello").await;
    assert_eq!(text(&*connection).await, "hello");
    connection
}

async fn text(connection: &dyn Connection) -> String {
    match connection.next().await {
        Some(ToPeer::Frame(Frame::Text(text))) => text,
        other => panic!("expected a text frame, got {other:?}"),
    }
}

async fn say(connection: &dyn Connection, text: &str) {
    connection.receive(Frame::Text(text.into())).await.expect("the slot takes it");
}

/// Lets the other side answer the question it is asked; returns the question's echo.
async fn answered(connection: &dyn Connection, data: &str) -> String {
    let question: serde_json::Value = serde_json::from_str(&text(connection).await).expect("a question is JSON");
    let echo = question["echo"].as_str().expect("it has an echo").to_owned();
    say(connection, &format!(r#"{{"data": "{data}", "echo": "{echo}"}}"#)).await;
    echo
}

#[tokio::test]
async fn an_answer_reaches_who_asked_and_nobody_else() {
    let house = house::with(&["switchboard"]).await;
    let connection = connect(&house).await;
    let asks = house.call("switchboard", "ask", r#"{"echo": "7"}"#);
    let answers = async {
        let question: serde_json::Value = serde_json::from_str(&text(&*connection).await).expect("JSON");
        assert_eq!(question["echo"], "7");
        // What is no answer goes its usual way, also when it looks like one.
        for other in ["hello", r#"{"echo": "8"}"#, r#"{"data": {"echo": "7"}}"#] {
            say(&*connection, other).await;
            assert_eq!(text(&*connection).await, other);
        }
        say(&*connection, r#"{"data": 42, "echo": 7}"#).await;
    };
    let (answer, ()) = tokio::join!(asks, answers);
    assert_eq!(answer, Ok(r#"{"data": 42, "echo": 7}"#.into()));
    say(&*connection, r#"{"echo": "7"}"#).await;
    assert_eq!(text(&*connection).await, r#"{"echo": "7"}"#, "nobody waits for a second one");
}

#[tokio::test]
async fn a_handler_of_frames_can_ask_and_is_answered_past_the_frames_that_wait() {
    let house = house::with(&["switchboard"]).await;
    let connection = connect(&house).await;
    say(&*connection, "ask back").await;
    for number in 0..10 {
        say(&*connection, &number.to_string()).await;
    }
    assert_eq!(answered(&*connection, "here").await, "from-the-handler");
    assert!(text(&*connection).await.starts_with("it said {\"data\": \"here\""));
    for number in 0..10 {
        assert_eq!(text(&*connection).await, number.to_string());
    }
}

#[tokio::test]
async fn a_request_over_a_connection_that_goes_ends_with_it() {
    let house = house::with(&["switchboard"]).await;
    let connection = connect(&house).await;
    let asks = house.call("switchboard", "ask", "{}");
    let goes = async {
        text(&*connection).await;
        connection.closed("the line was cut".into()).await;
    };
    let (answer, ()) = tokio::join!(asks, goes);
    let Err(CallError::NotFound(reason)) = answer else { panic!("{answer:?}") };
    assert!(reason.contains("gone"), "{reason}");
}

#[tokio::test]
async fn a_handler_that_asks_over_a_connection_that_goes_holds_nobody_up() {
    let house = house::with(&["switchboard"]).await;
    let connection = connect(&house).await;
    say(&*connection, "ask back").await;
    text(&*connection).await;
    connection.closed("the line was cut".into()).await;
    // The next caller is served by the same instance.
    let next = connect(&house).await;
    say(&*next, "still there?").await;
    assert_eq!(text(&*next).await, "still there?");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_a_time_out_and_a_late_one_is_a_frame_like_any_other() {
    let house = house::with(&["switchboard"]).await;
    let connection = connect(&house).await;
    let answer = house.call("switchboard", "ask", r#"{"echo": "late", "timeout_ms": 1}"#).await;
    assert_eq!(answer, Err(CallError::Timeout));
    text(&*connection).await;
    say(&*connection, r#"{"echo": "late"}"#).await;
    assert_eq!(text(&*connection).await, r#"{"echo": "late"}"#);
}

#[tokio::test]
async fn a_question_that_was_asked_before_a_swap_is_answered_after_it() {
    let house = house::with(&["switchboard"]).await;
    let connection = connect(&house).await;
    let asks = house.call("switchboard", "ask", r#"{"echo": "over"}"#);
    let swaps = async {
        text(&*connection).await;
        house.runtime.reload("switchboard", Haste::default()).await.expect("the code is good");
        say(&*connection, r#"{"echo": "over", "data": 1}"#).await;
    };
    let (answer, ()) = tokio::join!(asks, swaps);
    assert_eq!(answer, Ok(r#"{"echo": "over", "data": 1}"#.into()));
    say(&*connection, "who").await;
    assert!(text(&*connection).await.starts_with("resumed true"));
}

#[tokio::test]
async fn paths_are_served_by_whoever_was_granted_them_and_by_one_alone() {
    let house = house::empty();
    house.install("switchboard", "switchboard");
    house.runtime.load_all().await;
    let path = |path: &str| house.runtime.served(path);
    assert_eq!(path("/switchboard/line"), None, "nothing was granted");
    house.grant_all().await;
    let served = path("/switchboard/line").expect("it was granted");
    assert_eq!((served.plugin.as_str(), served.listener.as_str()), ("switchboard", "line"));
    assert_eq!(served.token.as_deref(), Some("plugin.switchboard.access_token"));
    assert_eq!(path("/switchboard"), None);
    house.runtime.revoke("switchboard", "listen").await.expect("it asks for it");
    assert_eq!(path("/switchboard/line"), None);
}
