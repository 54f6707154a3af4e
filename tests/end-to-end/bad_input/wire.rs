//! What arrives at the API: requests that are no requests, halves of them, and more connections than anybody needs.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use futures::{SinkExt as _, StreamExt as _};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{assert_answers, assert_reads};
use crate::daemon::{Daemon, with_vendor};
use crate::vendor::{Reply, finish, text_event};

const MIB: usize = 1024 * 1024;
const IDLE: u64 = 10_000;

/// Bytes on a TCP connection, and what the client reads before the daemon closes it.
struct Row {
    name: &'static str,
    bytes: fn(&Daemon) -> Vec<u8>,
    /// The client sends no more and says so; otherwise it waits for the answer to the whole.
    breaks_off: bool,
    /// The status, and parts of the answer; none where there is nothing to answer.
    reads: &'static [&'static str],
}

const fn sent_whole(name: &'static str, bytes: fn(&Daemon) -> Vec<u8>, reads: &'static [&'static str]) -> Row {
    Row { name, bytes, breaks_off: false, reads }
}

const fn broken_off(name: &'static str, bytes: fn(&Daemon) -> Vec<u8>, reads: &'static [&'static str]) -> Row {
    Row { name, bytes, breaks_off: true, reads }
}

const ROWS: &[Row] = &[
    sent_whole("bytes that are no HTTP", |_| b"\0\x01\x02 what is this\r\n\r\n".to_vec(), &["400"]),
    broken_off("half a head, then nothing", |_| b"GET /api/v1/ping HTTP/1.1\r\nHos".to_vec(), &[]),
    sent_whole(
        "a head of 100 MB",
        |_| [b"GET /api/v1/ping HTTP/1.1\r\nX: ", &vec![b'a'; 100 * MIB][..]].concat(),
        &["431"],
    ),
    broken_off(
        "a body shorter than its Content-Length",
        |daemon| chat(daemon, "Content-Length: 1000\r\n", b"{\"text\": \"half"),
        &["400", "the body broke off"],
    ),
    sent_whole(
        "a Content-Length of 100 MB",
        |daemon| chat(daemon, "Content-Length: 104857600\r\n", b"{"),
        &["413", "more than 1048576 bytes", "core.gateway.body_bytes"],
    ),
    sent_whole(
        "a line of 100 MB in chunks",
        |daemon| {
            let body = [b"6400000\r\n", &vec![b'a'; 100 * MIB][..], b"\r\n0\r\n\r\n"].concat();
            chat(daemon, "Transfer-Encoding: chunked\r\n", &body)
        },
        &["413", "more than 1048576 bytes", "core.gateway.body_bytes"],
    ),
    sent_whole(
        "a Content-Length that is no number",
        |daemon| chat(daemon, "Content-Length: many\r\n", b"{}"),
        &["400"],
    ),
    sent_whole("a body that is not UTF-8", |daemon| whole(daemon, b"{\"text\": \"\xff\xfe\"}"), &["400"]),
    sent_whole("no JSON", |daemon| whole(daemon, b"hello"), &["400", "the body is not the JSON"]),
    sent_whole(
        "JSON of another shape",
        |daemon| whole(daemon, b"{\"txt\": 1}"),
        &["422", "unknown field `txt`", "`text`"],
    ),
    sent_whole(
        "a text nested 100,000 deep",
        |daemon| whole(daemon, &[&b"{\"text\": "[..], &vec![b'['; 100_000]].concat()),
        &["422", "the body is not the JSON"],
    ),
    sent_whole(
        "a setting nested 100,000 deep",
        |daemon| {
            let deep = [&b"{\"value\": "[..], &vec![b'['; 100_000]].concat();
            request(daemon, "PUT /api/v1/settings/core.agent.rounds", &deep)
        },
        &["400", "recursion limit"],
    ),
    sent_whole(
        "arguments nested 100,000 deep",
        |daemon| {
            let deep = "[".repeat(100_000) + &"]".repeat(100_000);
            request(daemon, "POST /api/v1/tools/add", format!("{{\"numbers\": {deep}}}").as_bytes())
        },
        &["422", "recursion limit"],
    ),
    sent_whole("an empty body", |daemon| whole(daemon, b""), &["400", "the body is not the JSON"]),
    sent_whole("an empty text", |daemon| whole(daemon, b"{\"text\": \" \"}"), &["422", "the text is empty"]),
];

fn whole(daemon: &Daemon, body: &[u8]) -> Vec<u8> {
    request(daemon, "POST /api/v1/chat", body)
}

fn chat(daemon: &Daemon, length: &str, body: &[u8]) -> Vec<u8> {
    bytes_of(daemon, "POST /api/v1/chat", length, body)
}

fn request(daemon: &Daemon, target: &str, body: &[u8]) -> Vec<u8> {
    bytes_of(daemon, target, &format!("Content-Length: {}\r\n", body.len()), body)
}

fn bytes_of(daemon: &Daemon, target: &str, length: &str, body: &[u8]) -> Vec<u8> {
    let (host, token) = (authority(daemon), &daemon.token);
    let head = format!(
        "{target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{length}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn authority(daemon: &Daemon) -> &str {
    daemon.base.strip_prefix("http://").expect("the ready line names an address")
}

/// Writes all of it, or as much as is taken, and reads what comes until the connection ends.
async fn exchange(address: String, bytes: Vec<u8>, breaks_off: bool) -> String {
    let exchange = move || {
        let mut stream = TcpStream::connect(address).expect("homed listens");
        let mut writer = stream.try_clone().expect("it can be shared");
        let writing = std::thread::spawn(move || {
            // A daemon that has refused takes no more.
            if writer.write_all(&bytes).is_ok() && breaks_off {
                let _ = writer.shutdown(Shutdown::Write);
            }
        });
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            answer.extend_from_slice(&piece[..length]);
        }
        writing.join().expect("it does not panic");
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::task::spawn_blocking(exchange).await.expect("it does not panic")
}

#[tokio::test]
async fn bad_requests_are_refused_in_words_and_the_next_turn_is_answered() {
    let (daemon, vendor) = with_vendor().await;
    for Row { name, bytes, breaks_off, reads } in ROWS {
        let answer = exchange(authority(&daemon).to_owned(), bytes(&daemon), *breaks_off).await;
        if let Some((status, words)) = reads.split_first() {
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
            assert_reads(name, &answer, words);
        }
        assert_answers(name, &daemon, &vendor).await;
    }
}

#[tokio::test]
async fn bad_frames_of_a_chat_are_refused_in_words_and_the_next_chat_goes_on() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("All is well.");
    let deep = format!("{{\"type\": {}", "[".repeat(100_000));
    // Each with what the client reads, in a frame or as the reason of the close.
    let frames: [(&str, Message, &str); 5] = [
        ("a line of 100 MB", Message::binary(vec![b'a'; 100 * MIB]), "a frame could not be read"),
        ("a frame above the limit", Message::text("a".repeat(MIB + 1)), "a frame may have 1048576 bytes"),
        ("no JSON", Message::text("hello"), "the frame is not understood"),
        ("nested 100,000 deep", Message::text(deep), "the frame is not understood"),
        ("binary", Message::binary(vec![0xff, 0xfe, 0]), "binary frames are not understood"),
    ];
    for (row, frame, words) in frames {
        let socket = tokio::net::UnixStream::connect(daemon.home.path().join("homed.sock")).await.expect("it listens");
        let config = tokio_tungstenite::tungstenite::protocol::WebSocketConfig::default()
            .max_frame_size(None)
            .max_message_size(None);
        let address = "ws://homed/channels/chat?conversation=bad";
        let connected = tokio_tungstenite::client_async_with_config(address, socket, Some(config)).await;
        let (mut socket, _) = connected.expect("it speaks WebSocket");
        // A daemon that has refused the beginning takes no more.
        let _ = socket.send(frame).await;
        let _ = socket.send(Message::text(json!({ "type": "say", "text": "well?", "id": row }).to_string())).await;
        let mut read = String::new();
        while let Some(Ok(message)) = socket.next().await {
            read.push_str(&format!("{message:?}"));
            if read.contains("All is well.") {
                break;
            }
        }
        assert_reads(row, &read, &[words]);
        assert_answers(row, &daemon, &vendor).await;
    }
}

/// Where connections that say nothing go.
#[derive(Clone)]
enum Target {
    Network(String),
    Socket(PathBuf),
}

/// A connection, held open.
enum Held {
    Network { _stream: TcpStream },
    Socket { _stream: UnixStream },
}

impl Target {
    fn connect(&self) -> std::io::Result<Held> {
        Ok(match self {
            Self::Network(address) => Held::Network { _stream: TcpStream::connect(address)? },
            Self::Socket(path) => Held::Socket { _stream: UnixStream::connect(path)? },
        })
    }

    /// As many as are wanted, or as the system lets one process have.
    async fn flood(&self) -> Vec<Held> {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("the soft limit may be raised");
        let count = maximum.map_or(IDLE, |most| IDLE.min(most.saturating_sub(1000)));
        if count < IDLE {
            println!("{count} idle connections only: this machine allows {maximum:?} open files");
        }
        let target = self.clone();
        let connect = move || (0..count).map(|_| target.connect().expect("homed takes it")).collect();
        tokio::task::spawn_blocking(connect).await.expect("it does not panic")
    }
}

#[tokio::test]
async fn ten_thousand_idle_connections_keep_nobody_out_and_cut_no_request() {
    let (daemon, vendor) = with_vendor().await;
    // However long the flood takes, the vendor's pause is no reason to end the turn.
    daemon.waiter(&["settings", "set", "core.model.silence_seconds", "3600"]).await.ok();
    let pid = daemon.child.id().expect("it runs");
    for target in
        [Target::Network(authority(&daemon).to_owned()), Target::Socket(daemon.home.path().join("homed.sock"))]
    {
        vendor.script([Reply::Paused(
            vec![text_event("The first half")],
            vec![text_event(", the other"), finish("stop")],
        )]);
        let before = vendor.asked_so_far().len();
        let slow = daemon.ask("begin");
        let flood = async {
            vendor.asked(before + 1).await;
            let held = target.flood().await;
            let files = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
            assert!(files < 1000, "the daemon holds {files} files");
            assert_answers("the flood", &daemon, &vendor).await;
            assert!(daemon.waiter(&["status"]).await.ok().contains("homed"), "the owner gets in over the socket");
            vendor.go_on();
            held
        };
        let (result, _held) = tokio::join!(slow, flood);
        assert_eq!(result["reply"], "The first half, the other", "the request that was under way: {result}");
    }
}
