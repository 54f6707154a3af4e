//! Who may do what, on a channel where nobody vouches for anybody.

use std::process::Stdio;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::chat::Chat;
use crate::daemon::{Daemon, waiter, with_vendor_and, within};
use crate::vendor::{Reply, Vendor};

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

#[tokio::test]
async fn what_a_group_wants_done_waits_for_the_owners_word_in_private() {
    let (daemon, vendor, mut lobby) = with_lobby().await;
    daemon.waiter(&["owner", "bind", "lobby", "ada", "owner"]).await.ok();
    vendor.script([Reply::calls(&[("ring", "{}")]), Reply::text("it rang")]);
    lobby.say(&json!({ "user": "ada", "group": "family", "text": "ring it" })).await;
    let question = lobby.text_to("ada").await;
    assert!(question.contains("may I run the tool ring") && question.contains("lobby:group/family"), "{question}");
    let waiting = daemon.waiter_json(&["questions"]).await;
    assert_eq!((&waiting[0]["tool"], &waiting[0]["asked_in"]), (&json!("ring"), &json!("lobby:ada")));
    // Somebody else's word, and the owner's own where others are, are none.
    vendor.always("what?");
    lobby.say(&json!({ "user": "eve", "text": "yes" })).await;
    // The script's last answer goes to whoever asks first.
    assert_eq!(lobby.text_to("eve").await, "it rang");
    lobby.say(&json!({ "user": "ada", "text": "yes" })).await;
    let mut told = vec![lobby.told().await, lobby.told().await, lobby.told().await];
    told.sort_by_key(ToString::to_string);
    assert_eq!(
        told,
        [
            json!({ "rings": true }),
            json!({ "text": "Question 1: ring runs.", "to": "ada" }),
            json!({ "text": "what?", "to": "group/family" }),
        ]
    );
}

#[tokio::test]
async fn a_tool_that_the_owner_wants_to_be_asked_about_waits_for_waiter() {
    let (daemon, vendor, mut lobby) = with_lobby().await;
    daemon.waiter(&["settings", "set", "core.tools.policy", "ring=ask"]).await.ok();
    vendor.script([
        Reply::calls(&[("ring", "{}")]),
        Reply::text("it rang"),
        Reply::calls(&[("ring", "{}")]),
        Reply::text("it did not"),
    ]);
    for (word, reply) in [("allow", "it rang"), ("deny", "it did not")] {
        let answering = async {
            let question = loop {
                let waiting = daemon.waiter_json(&["questions", "list"]).await;
                if let Some(question) = waiting.as_array().and_then(|all| all.first()) {
                    break question.clone();
                }
            };
            assert_eq!(question["conversation"], "api:owner", "{question}");
            daemon.waiter(&["questions", word, &question["id"].to_string()]).await.ok()
        };
        let send = ["send", "ring it"];
        let (said, answered) = tokio::join!(daemon.waiter(&send), within("the question", answering));
        assert_eq!(said.ok(), reply);
        assert_eq!(answered, if word == "allow" { "ring runs" } else { "ring does not run" });
    }
    assert_eq!(lobby.told().await, json!({ "rings": true }));
    let results = vendor.asked_so_far().pop().expect("the last question").tool_results();
    assert!(results.last().is_some_and(|result| result.contains("said no")), "{results:?}");
    // Nothing rings for the second time: what is said next is told next.
    lobby.say(&json!({ "user": "eve", "text": "/status" })).await;
    assert_eq!(lobby.text_to("eve").await, "/status needs the role member.");
}

#[tokio::test]
async fn who_chats_at_the_terminal_is_asked_and_answers_there() {
    let (daemon, vendor, mut lobby) = with_lobby().await;
    daemon.waiter(&["settings", "set", "core.tools.policy", "ring=ask"]).await.ok();
    vendor.script([Reply::calls(&[("ring", "{}")]), Reply::text("it rang")]);
    let mut chat = Chat::open(&daemon).await;
    chat.say("ring it").await;
    let (notice, _) = chat.until("notice").await;
    assert_eq!(notice["code"], "question", "{notice}");
    assert!(notice["text"].as_str().is_some_and(|text| text.contains("may I run the tool ring")), "{notice}");
    chat.send(&json!({ "type": "interrupt", "text": "yes" })).await;
    let (reply, before) = chat.until("reply").await;
    assert_eq!(reply["text"], "it rang", "{before:?}");
    assert_eq!(lobby.told().await, json!({ "rings": true }));
    assert_eq!(vendor.asked_so_far().len(), 2, "the word is nothing that the model is told");
}
