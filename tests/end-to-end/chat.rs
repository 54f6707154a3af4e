//! Chat connections on the unix socket: two clients, streaming, code that is replaced.

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::daemon::{Daemon, with_vendor, with_vendor_and, within};
use crate::vendor::{Reply, finish, text_event};

/// A client as `waiter` is one.
pub(crate) struct Chat {
    socket: WebSocketStream<UnixStream>,
}

impl Chat {
    pub(crate) async fn open(daemon: &Daemon) -> Self {
        let stream = UnixStream::connect(daemon.home.path().join("homed.sock")).await.expect("homed listens");
        let address = "ws://homed/channels/chat?conversation=owner";
        let (socket, _) = tokio_tungstenite::client_async(address, stream).await.expect("homed takes the chat");
        let mut chat = Self { socket };
        assert_eq!(chat.next().await["type"], "hello");
        chat
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.socket.send(Message::text(frame.to_string())).await.expect("the connection is open");
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.send(&json!({ "type": "say", "text": text })).await;
    }

    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match within("the next frame of a chat", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).expect("frames are JSON"),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("the connection ended: {other:?}"),
            }
        }
    }

    /// Reads until the daemon closes the connection, and returns the reason and what came before.
    pub(crate) async fn until_closed(&mut self) -> (String, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            match within("the end of a chat", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => before.push(serde_json::from_str(&text).expect("frames are JSON")),
                Some(Ok(Message::Close(Some(frame)))) => return (frame.reason.as_str().to_owned(), before),
                Some(Ok(_)) => {}
                other => panic!("the connection broke: {other:?}"),
            }
        }
    }

    /// Reads until a frame of this type, and returns it with all that came before.
    pub(crate) async fn until(&mut self, kind: &str) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let frame = self.next().await;
            if frame["type"] == kind {
                return (frame, before);
            }
            before.push(frame);
        }
    }
}

fn shown(frames: &[Value]) -> String {
    let pieces = frames.iter().filter(|frame| frame["type"] == "delta" && frame["kind"] == "text");
    pieces.filter_map(|frame| frame["text"].as_str()).collect()
}

#[tokio::test]
async fn a_piece_is_shown_while_the_model_still_writes() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::Paused(vec![text_event("一半")], vec![text_event("的话"), finish("stop")])]);
    chat.say("说").await;
    let mut text = String::new();
    while text != "一半" {
        let frame = chat.next().await;
        assert_ne!(frame["type"], "reply", "the model has not ended yet");
        text.push_str(&shown(&[frame]));
    }
    vendor.go_on();
    let (reply, rest) = chat.until("reply").await;
    assert_eq!(reply["text"], "一半的话");
    assert_eq!(shown(&rest), "的话", "every piece comes before the whole");
}

#[tokio::test]
async fn two_clients_see_one_conversation() {
    let (daemon, vendor) = with_vendor().await;
    let mut one = Chat::open(&daemon).await;
    let mut two = Chat::open(&daemon).await;
    vendor.script([Reply::text("to both")]);
    one.say("hello from one").await;
    assert_eq!(one.until("reply").await.0["text"], "to both");
    let (reply, before) = two.until("reply").await;
    assert_eq!(reply["text"], "to both");
    assert!(before.iter().any(|frame| frame["type"] == "said" && frame["text"] == "hello from one"));
}

#[tokio::test]
async fn an_answer_that_a_tool_sent_is_said_once() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    vendor.script([
        Reply::calls(&[("output_send__cli", r#"{"payload":"sent by the tool"}"#)]),
        Reply::text("sent by the tool"),
        Reply::text("the next answer"),
    ]);
    chat.say("say it").await;
    let (message, _) = chat.until("message").await;
    assert_eq!(message["text"], "sent by the tool");
    chat.say("and now?").await;
    let (reply, before) = chat.until("reply").await;
    assert_eq!(reply["text"], "the next answer");
    assert!(!before.iter().any(|frame| frame["type"] == "reply" || frame["type"] == "message"), "{before:?}");
}

#[tokio::test]
async fn a_plugins_tool_can_send_through_the_channel() {
    let (daemon, vendor) = with_vendor_and(&["speaker"]).await;
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::calls(&[("speak", r#"{"text":"spoken"}"#)]), Reply::text("spoken")]);
    chat.say("speak").await;
    assert_eq!(chat.until("message").await.0["text"], "spoken");
}

#[tokio::test]
async fn reloading_the_channel_cuts_nobody_off() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    for round in 0..3 {
        vendor.script([Reply::text(&format!("answer {round}"))]);
        daemon.waiter(&["plugin", "reload", "cli"]).await.ok();
        chat.say("still there?").await;
        assert_eq!(chat.until("reply").await.0["text"], format!("answer {round}"));
    }
}

#[tokio::test]
async fn frames_that_are_no_frames_are_answered_and_nothing_else_breaks() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    for bad in ["hello", "{}", r#"{"type":"dance"}"#, r#"{"type":"say"}"#, "[]", "\u{0}"] {
        chat.socket.send(Message::text(bad)).await.expect("the connection is open");
        assert_eq!(chat.next().await["type"], "error", "{bad}");
    }
    vendor.script([Reply::text("well")]);
    chat.say("are you well?").await;
    assert_eq!(chat.until("reply").await.0["text"], "well");
}
