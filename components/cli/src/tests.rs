//! The protocol, and what needs no host.

use homeagent_sdk::{Conversation, DeltaContent, OutputKind, testing};
use serde_json::{Value, json};

use super::*;
use crate::protocol::{LONGEST, Words, hear};

fn text(frame: &str) -> Frame {
    Frame::Text(frame.to_owned())
}

fn read(frame: &Frame) -> Value {
    let Frame::Text(text) = frame else { panic!("a text frame") };
    serde_json::from_str(text).expect("a frame is JSON")
}

fn conversation(peer: Peer) -> Conversation {
    Conversation { channel: "cli".to_owned(), peer }
}

fn output(kind: OutputKind, peer: Peer) -> Output {
    Output {
        id: "o1".to_owned(),
        run: Some("r1".to_owned()),
        conversation: conversation(peer),
        reply_route: None,
        kind,
        text: "你好".to_owned(),
        media: Vec::new(),
        structured: None,
        meta: Vec::new(),
    }
}

fn person(name: &str) -> Peer {
    Peer::Person(name.to_owned())
}

fn connection(id: ConnectionId, meta: &[(&str, &str)]) -> Connection {
    let meta = meta.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Connection { id, listener: "chat".to_owned(), resumed: true, meta }
}

#[test]
fn frames_are_heard() {
    let words = |id| Words { text: "hi".to_owned(), id };
    for (frame, heard) in [
        (r#"{"type":"say","text":"hi"}"#, Heard::Say(words(None))),
        (r#"{"type":"say","text":"hi","id":7,"more":1}"#, Heard::Say(words(Some(json!(7))))),
        (r#"{"type":"interrupt","text":"hi","id":"a"}"#, Heard::Interrupt(words(Some(json!("a"))))),
        (r#"{"type":"stop"}"#, Heard::Stop),
    ] {
        assert_eq!(hear(&text(frame)), Ok(heard), "{frame}");
    }
}

#[test]
fn bad_frames_are_answered_in_words() {
    let long = format!(r#"{{"type":"say","text":"{}"}}"#, "x".repeat(LONGEST));
    for (frame, word) in [
        (text("hello"), "not understood"),
        (text("[1]"), "not understood"),
        (text(r#"{"type":"dance"}"#), "unknown variant `dance`"),
        (text(r#"{"text":"hi"}"#), "missing field `type`"),
        (text(r#"{"type":"say"}"#), "missing field `text`"),
        (text(r#"{"type":"say","text":"  "}"#), "empty"),
        (text(&long), "bytes"),
        (Frame::Binary(vec![1]), "binary"),
    ] {
        let reason = hear(&frame).expect_err("the frame is bad");
        assert!(reason.contains(word), "{reason} does not say {word}");
    }
}

#[test]
fn outputs_become_frames() {
    let frame = |kind| read(&Spoken::output(&output(kind, person("owner"))).expect("it is JSON").frame());
    assert_eq!(frame(OutputKind::Reply), json!({"type": "reply", "run": "r1", "text": "你好"}));
    assert_eq!(frame(OutputKind::Message), json!({"type": "message", "run": "r1", "text": "你好"}));
    assert_eq!(
        frame(OutputKind::Notice("busy".to_owned())),
        json!({"type": "notice", "run": "r1", "code": "busy", "text": "你好"})
    );

    let mut structured = output(OutputKind::Message, person("owner"));
    structured.structured = Some(r#"{"n": 1.10}"#.to_owned());
    let Frame::Text(sent) = Spoken::output(&structured).expect("it is JSON").frame() else { panic!("a text frame") };
    assert!(sent.contains(r#""structured":{"n": 1.10}"#), "{sent}");
    structured.structured = Some("{".to_owned());
    assert!(Spoken::output(&structured).is_err());
}

#[test]
fn deltas_become_frames() {
    let show = |content| {
        let delta =
            Delta { run: "r1".to_owned(), conversation: conversation(person("owner")), reply_route: None, content };
        Spoken::delta(&delta).map(|spoken| read(&spoken.frame()))
    };
    let delta = |kind: &str, text: &str| Some(json!({"type": "delta", "run": "r1", "kind": kind, "text": text}));
    assert_eq!(show(DeltaContent::Text("a".to_owned())), delta("text", "a"));
    assert_eq!(show(DeltaContent::Reasoning("b".to_owned())), delta("reasoning", "b"));
    assert_eq!(show(DeltaContent::ToolStarted("add".to_owned())), delta("tool-started", "add"));
    assert_eq!(show(DeltaContent::ToolEnded("add".to_owned())), delta("tool-ended", "add"));
    assert_eq!(show(DeltaContent::Void), delta("void", ""));
    assert_eq!(show(DeltaContent::Other("x".to_owned())), None);
}

#[test]
fn the_other_frames_have_their_fields() {
    let id = json!("c1");
    for (spoken, frame) in [
        (Spoken::Hello { conversation: "owner" }, json!({"type": "hello", "conversation": "owner"})),
        (Spoken::Accepted { input: "i1", id: Some(&id) }, json!({"type": "accepted", "input": "i1", "id": "c1"})),
        (Spoken::Accepted { input: "i1", id: None }, json!({"type": "accepted", "input": "i1"})),
        (Spoken::Said { text: "hi", by: "owner" }, json!({"type": "said", "text": "hi", "by": "owner"})),
        (Spoken::Stopped { running: true }, json!({"type": "stopped", "running": true})),
        (Spoken::error("no"), json!({"type": "error", "text": "no"})),
    ] {
        assert_eq!(read(&spoken.frame()), frame);
    }
}

#[test]
fn connections_share_their_conversation() {
    let mut seats = Seats::default();
    for (id, meta) in
        [(1, &[][..]), (2, &[("conversation", "owner"), ("user", "ann")]), (3, &[("conversation", "den")])]
    {
        let connection = connection(id, meta);
        seats.take(id, Seat::of(&connection));
    }
    assert_eq!(seats.in_conversation("owner"), [1, 2]);
    assert_eq!(seats.in_conversation("den"), [3]);
    assert_eq!(seats.of(2), Some(Seat { conversation: "owner".to_owned(), user: "ann".to_owned() }));
    seats.leave(1);
    assert_eq!(seats.in_conversation("owner"), [2]);
    assert_eq!(seats.of(1), None);
}

#[test]
fn a_resumed_connection_is_known_again() {
    testing::run(Cli::on_open(connection(71, &[("conversation", "resumed")])));
    assert_eq!(SEATS.with(|seats| seats.in_conversation("resumed")), [71]);
    testing::run(Cli::on_close(71, "bye".to_owned()));
    assert!(SEATS.with(|seats| seats.in_conversation("resumed")).is_empty());
}

#[test]
fn what_nobody_reads_is_not_found() {
    for peer in [person("nobody"), Peer::Group("g".to_owned())] {
        let sent = testing::run(Cli::deliver(output(OutputKind::Reply, peer), testing::cause()));
        assert!(matches!(sent, Err(Error::NotFound(_))), "{sent:?}");
    }
}

#[test]
fn frames_of_any_kind_break_nothing() {
    testing::run(Cli::on_open(connection(72, &[("conversation", "frames")])));
    let frames = vec![text("nonsense"), Frame::Binary(vec![0]), text(r#"{"type":"say","text":"hi"}"#)];
    testing::run(Cli::on_frames(72, frames));
    testing::run(Cli::on_frames(404, vec![text(r#"{"type":"stop"}"#)]));
    testing::run(Cli::on_close(72, "bye".to_owned()));
}
