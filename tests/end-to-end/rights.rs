//! Who may do what, on a channel where nobody vouches for anybody.

use std::process::Stdio;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::daemon::{Daemon, waiter, with_vendor_and, within};
use crate::vendor::Vendor;

/// A platform's side of the channel `lobby`.
struct Lobby(WebSocketStream<TcpStream>);

impl Lobby {
    async fn open(daemon: &Daemon) -> Self {
        let authority = daemon.base.strip_prefix("http://").expect("the ready line names an address");
        let stream = TcpStream::connect(authority).await.expect("the daemon listens");
        let opening = client_async(format!("ws://{authority}/lobby"), stream);
        Self(within("the handshake", opening).await.expect("the path is served").0)
    }

    async fn say(&mut self, said: &Value) {
        self.0.send(Message::text(said.to_string())).await.expect("it is open");
    }

    /// The next thing that is told there.
    async fn told(&mut self) -> Value {
        loop {
            match within("something on the lobby", self.0.next()).await.expect("it is open").expect("a frame") {
                Message::Text(text) => return serde_json::from_str(&text).expect("it is JSON"),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next message to this person or group.
    async fn text_to(&mut self, whom: &str) -> String {
        let told = self.told().await;
        assert_eq!(told["to"], whom, "{told}");
        told["text"].as_str().expect("a text").to_owned()
    }
}

async fn with_lobby() -> (Daemon, Vendor, Lobby) {
    let (daemon, vendor) = with_vendor_and(&["lobby"]).await;
    daemon.waiter(&["settings", "set", "core.agent.merge_ms", "0"]).await.ok();
    let lobby = Lobby::open(&daemon).await;
    (daemon, vendor, lobby)
}

#[tokio::test]
async fn who_sends_the_code_that_the_terminal_shows_is_the_owner() {
    let (daemon, vendor, mut lobby) = with_lobby().await;
    let mut command = Command::new(waiter());
    command.arg("--home").arg(&daemon.folder).args(["owner", "pair"]);
    let mut pairing =
        command.stdout(Stdio::piped()).stdin(Stdio::null()).kill_on_drop(true).spawn().expect("it starts");
    let mut shown = BufReader::new(pairing.stdout.take().expect("it is piped"));
    let mut line = String::new();
    within("the code", shown.read_line(&mut line)).await.expect("it can be read");
    let code = line.trim().strip_prefix("code: ").expect("the first line is the code").to_owned();

    lobby.say(&json!({ "user": "ada", "text": code })).await;
    assert!(lobby.text_to("ada").await.contains("is the owner's now"));
    let mut rest = String::new();
    within("the end of the pairing", shown.read_to_string(&mut rest)).await.expect("it can be read");
    assert!(rest.contains("paired: ada on lobby is the owner's"), "{rest}");
    assert!(pairing.wait().await.expect("it ends").success());
    let bound = daemon.waiter_json(&["owner", "list"]).await;
    assert_eq!(bound, json!([{ "channel": "lobby", "user": "ada", "role": "owner" }]));

    vendor.always("hello");
    lobby.say(&json!({ "user": "ada", "text": "hi" })).await;
    assert_eq!(lobby.text_to("ada").await, "hello");
    let [asked] = vendor.asked_so_far().try_into().expect("one question to the model");
    assert!(!asked.says(&code), "{}", asked.body);
    assert!(!daemon.home.log().contains(&code), "no log has the code");
    let journal = std::fs::read(daemon.home.path().join("homeagent.db-wal")).expect("the journal's log");
    assert!(!journal.windows(code.len()).any(|bytes| bytes == code.as_bytes()), "nor has the journal");

    daemon.waiter(&["owner", "unbind", "lobby", "ada"]).await.ok();
    lobby.say(&json!({ "user": "ada", "text": "/status" })).await;
    assert_eq!(lobby.text_to("ada").await, "/status needs the role member.", "it counts at once");
}
