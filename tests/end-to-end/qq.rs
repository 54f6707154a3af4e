//! QQ: a client that speaks OneBot v11 over a reverse WebSocket, as NapCat does, on the other side of the component.

use std::collections::BTreeMap;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::daemon::{Daemon, with_vendor_and, within};
use crate::vendor::Vendor;

const ACCOUNT: u64 = 10_001_000;

/// A OneBot client with one account.
struct Client {
    socket: WebSocketStream<TcpStream>,
    said: u64,
}

impl Client {
    async fn connect(daemon: &Daemon) -> Self {
        let authority = daemon.base.strip_prefix("http://").expect("the ready line names an address");
        let stream = TcpStream::connect(authority).await.expect("the daemon listens");
        let mut request = format!("ws://{authority}/onebot/v11/ws").into_client_request().expect("a good address");
        let account = ACCOUNT.to_string();
        for (name, value) in [("x-self-id", account.as_str()), ("x-client-role", "Universal")] {
            request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a header"));
        }
        let (socket, _) = within("the handshake", client_async(request, stream)).await.expect("the path is served");
        let mut client = Self { socket, said: 0 };
        client.send(&json!({ "post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect" })).await;
        client
    }

    async fn send(&mut self, frame: &Value) {
        let mut frame = frame.clone();
        if frame.get("echo").is_none() {
            frame["self_id"] = ACCOUNT.into();
            frame["time"] = 1_790_000_000_u64.into();
        }
        self.socket.send(Message::text(frame.to_string())).await.expect("the connection is open");
    }

    /// Somebody says something in private.
    async fn says(&mut self, user: u64, text: &str) {
        self.said += 1;
        let message = json!({
            "post_type": "message", "message_type": "private", "sub_type": "friend", "message_id": self.said,
            "user_id": user, "message": [{ "type": "text", "data": { "text": text } }], "raw_message": text, "font": 0,
            "sender": { "user_id": user, "nickname": "甲" },
        });
        self.send(&message).await;
    }

    /// The next message that is sent to somebody, which succeeds. Whatever else is asked has no answer to give.
    async fn delivers(&mut self) -> (u64, String) {
        loop {
            let frame = within("an action", self.socket.next()).await.expect("it is open").expect("a frame");
            let Message::Text(text) = frame else { continue };
            let action: Value = serde_json::from_str(&text).expect("an action is JSON");
            let name = action["action"].as_str().expect("it has a name").to_owned();
            let delivered = name.starts_with("send_");
            let answer = if delivered {
                json!({ "status": "ok", "retcode": 0, "data": { "message_id": 7 }, "echo": action["echo"] })
            } else {
                json!({ "status": "failed", "retcode": 1404, "data": null, "echo": action["echo"] })
            };
            self.send(&answer).await;
            if delivered {
                let to = &action["params"]["user_id"];
                let to = to.as_u64().or_else(|| to.as_str()?.parse().ok()).expect("it goes to somebody");
                return (to, plain(&action["params"]["message"]));
            }
        }
    }
}

/// The text of a message, in whichever form it is written.
fn plain(message: &Value) -> String {
    match message {
        Value::String(text) => text.clone(),
        Value::Array(segments) => {
            segments.iter().filter_map(|segment| segment["data"]["text"].as_str()).collect::<Vec<_>>().concat()
        }
        other => panic!("{other} is no message"),
    }
}

/// A daemon with the channel, whose messages are answered at once.
async fn with_qq() -> (Daemon, Vendor) {
    let (daemon, vendor) = with_vendor_and(&["qq"]).await;
    daemon.waiter(&["settings", "set", "core.agent.merge_ms", "0"]).await.ok();
    (daemon, vendor)
}

#[tokio::test]
async fn what_is_said_on_qq_is_answered_there() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("It is **seven** degrees.");
    let mut client = Client::connect(&daemon).await;
    client.says(20_002_000, "多少度？").await;
    assert_eq!(client.delivers().await, (20_002_000, "It is seven degrees.".to_owned()));
    assert!(vendor.asked_so_far()[0].says("多少度？"));
}

#[tokio::test]
async fn no_message_is_lost_or_answered_twice_while_the_channel_is_replaced() {
    let (daemon, vendor) = with_qq().await;
    vendor.always("good");
    let mut client = Client::connect(&daemon).await;
    let mut answers: BTreeMap<u64, u32> = BTreeMap::new();
    // So many at a time that some are under way when the code is replaced.
    for round in 0..5_u64 {
        let people = (1..=8).map(|person| 30_000_000 + round * 100 + person);
        for user in people.clone() {
            client.says(user, "hello").await;
        }
        let reload = daemon.waiter(&["plugin", "reload", "qq", "--wait", "60"]);
        let (reloaded, ()) = tokio::join!(reload, async {
            for _ in people {
                *answers.entry(client.delivers().await.0).or_default() += 1;
            }
        });
        reloaded.ok();
    }
    assert_eq!(answers.len(), 40, "{answers:?}");
    assert!(answers.values().all(|answers| *answers == 1), "{answers:?}");
    // Nothing comes after them: what is said now is answered next.
    client.says(1, "over").await;
    assert_eq!(client.delivers().await.0, 1);
}
