//! Endpoints that answer what no vendor of models answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{assert_answers, assert_reads};
use crate::daemon::{Daemon, KEY, with_vendor};
use crate::vendor::{calls_event, finish, text_event};

const MIB: usize = 1024 * 1024;

/// What the endpoint writes.
enum Answer {
    /// A status line with its headers, and a body with its length.
    Whole(&'static str, Vec<u8>),
    /// The same without a length: the body ends with the connection.
    Open(&'static str, Vec<u8>),
    /// Events of a good stream.
    Stream(Vec<Value>),
    /// These bytes, nothing else, and the end.
    Raw(Vec<u8>),
    /// A head, and then this again and again until the client leaves.
    Endless(&'static str, Vec<u8>),
    /// These bytes and then the last again and again, one at a time, until the client leaves.
    Drip(Vec<u8>),
    /// Nothing, for as long as the client waits.
    Nothing,
}

use Answer::{Drip, Endless, Nothing, Open, Raw, Stream, Whole};

struct Row {
    name: &'static str,
    /// One for each time the endpoint is asked; the last again and again.
    answers: fn() -> Vec<Answer>,
    /// Parts of the reply or of the error that the user reads.
    reads: &'static [&'static str],
}

const EVENTS: &str = "200 OK\r\nContent-Type: text/event-stream";
const JSON: &str = "200 OK\r\nContent-Type: application/json";

const ROWS: &[Row] = &[
    Row {
        name: "a web page with 200",
        answers: || vec![Whole("200 OK\r\nContent-Type: text/html; charset=utf-8", b"<h1>Welcome</h1>".to_vec())],
        reads: &["`bad`", "web page (text/html)", "check the base URL"],
    },
    Row {
        name: "a web page with 502",
        answers: || vec![Whole("502 Bad Gateway\r\nContent-Type: text/html", b"<h1>Bad Gateway</h1>".to_vec())],
        reads: &["`bad`", "has trouble", "502"],
    },
    Row {
        name: "an empty JSON document",
        answers: || vec![Whole(JSON, Vec::new())],
        reads: &["`bad`", "can't be used", "the answer is empty"],
    },
    Row {
        name: "an empty stream",
        answers: || vec![Open(EVENTS, Vec::new())],
        reads: &["`bad`", "before the answer began"],
    },
    Row { name: "no content", answers: || vec![Raw(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())], reads: &["`bad`"] },
    Row {
        name: "200 with an error inside",
        answers: || vec![Whole(JSON, br#"{"error": {"message": "model m is gone", "code": "not_found"}}"#.to_vec())],
        reads: &["`bad`", "model m is gone"],
    },
    Row {
        name: "200 with an error inside its stream",
        answers: || vec![Stream(vec![json!({ "error": { "message": "the cluster is on fire" } })])],
        reads: &["`bad`", "the cluster is on fire"],
    },
    Row {
        name: "JSON of another shape",
        answers: || vec![Whole(JSON, b"[1, 2, {\"a\": null}]".to_vec())],
        reads: &["`bad`", "can't be used"],
    },
    Row {
        name: "a picture",
        answers: || vec![Whole("200 OK\r\nContent-Type: image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0".to_vec())],
        reads: &["`bad`", "before the answer began"],
    },
    Row {
        name: "a compressed answer that nobody asked for",
        answers: || {
            let head = "200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip";
            vec![Whole(head, b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0".to_vec())]
        },
        reads: &["`bad`", "can't be used", "the answer is not JSON"],
    },
    Row {
        name: "bytes that are no HTTP",
        answers: || vec![Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())],
        reads: &["`bad`", "broke the connection"],
    },
    Row { name: "nothing, and the end", answers: || vec![Raw(Vec::new())], reads: &["`bad`", "broke the connection"] },
    Row {
        name: "a head of 10 MB",
        answers: || vec![Raw([b"HTTP/1.1 200 OK\r\nX: ", &vec![b'a'; 10 * MIB][..]].concat())],
        reads: &["`bad`", "broke the connection"],
    },
    Row {
        name: "a body shorter than its Content-Length",
        answers: || {
            vec![Raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{".to_vec())]
        },
        reads: &["`bad`", "broke"],
    },
    Row {
        name: "no answer at all",
        answers: || vec![Nothing],
        reads: &["`bad`", "did not begin to answer within 1 second"],
    },
    Row {
        name: "silence after the beginning",
        answers: || vec![Endless(EVENTS, Vec::new())],
        reads: &["`bad`", "second"],
    },
    Row {
        name: "a line of 100 MB",
        answers: || vec![Open(EVENTS, [b"data: ", &vec![b'a'; 100 * MIB][..]].concat())],
        reads: &["`bad`", "an event of the stream is larger than 8388608 bytes"],
    },
    Row {
        name: "comments without end",
        answers: || vec![Endless(EVENTS, b": ping\n\n".repeat(100_000))],
        reads: &["`bad`", "the stream went over 268435456 bytes"],
    },
    Row {
        name: "an answer of 50 MB",
        answers: || vec![Whole(JSON, vec![b' '; 50 * MIB])],
        reads: &["`bad`", "an answer of more than 16777216 bytes"],
    },
    Row {
        name: "words without end",
        answers: || {
            vec![Endless(EVENTS, format!("data: {}\n\n", text_event(&"all work and no play ".repeat(1000))).into())]
        },
        reads: &["all work and no play"],
    },
    Row {
        name: "10,000 calls of tools",
        answers: || vec![Stream(vec![calls_event(&[("add", "{}"); 10_000]), finish("tool_calls")])],
        reads: &["`bad`", "number of tool calls went over the limit of 128"],
    },
    Row {
        name: "arguments nested 100,000 deep",
        answers: || {
            let deep = "[".repeat(100_000) + &"]".repeat(100_000);
            vec![
                Stream(vec![calls_event(&[("add", &deep)]), finish("tool_calls")]),
                Stream(vec![text_event("I was told that it is too deep."), finish("stop")]),
            ]
        },
        reads: &["I was told that it is too deep."],
    },
    Row {
        name: "an event nested 100,000 deep",
        answers: || vec![Open(EVENTS, format!("data: {}\n\n", "[".repeat(100_000)).into())],
        reads: &["`bad`", "an event of the stream is not JSON"],
    },
    Row {
        name: "bytes that are no UTF-8 in a text",
        answers: || {
            let event = text_event("broken -- here").to_string().into_bytes();
            let event: Vec<u8> = event.iter().map(|&byte| if byte == b'-' { 0xff } else { byte }).collect();
            let end = format!("\n\ndata: {}\n\ndata: [DONE]\n\n", finish("stop"));
            vec![Open(EVENTS, [b"data: ", &event[..], end.as_bytes()].concat())]
        },
        reads: &["broken \u{fffd}\u{fffd} here"],
    },
    Row {
        name: "NUL in a text",
        answers: || vec![Stream(vec![text_event("before\0after"), finish("stop")])],
        reads: &["before", "after"],
    },
];

/// An endpoint that writes what its row says.
struct Endpoint {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Endpoint {
    async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("it has an address"));
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let answers = Arc::new(answers);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answers = Arc::clone(&answers);
                let number = counted.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
                tokio::spawn(async move { answer(stream, &answers[number]).await });
            }
        });
        Self { url, asked }
    }
}

/// Reads a request and answers it. Whoever does not like the answer may leave.
async fn answer(mut stream: TcpStream, answer: &Answer) -> Option<()> {
    read_request(&mut stream).await?;
    match answer {
        Whole(head, body) => {
            let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(body).await.ok()?;
        }
        Open(head, body) => {
            stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes()).await.ok()?;
            stream.write_all(body).await.ok()?;
        }
        Stream(events) => {
            let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let answer = format!("HTTP/1.1 {EVENTS}\r\nConnection: close\r\n\r\n{events}data: [DONE]\n\n");
            stream.write_all(answer.as_bytes()).await.ok()?;
        }
        Raw(bytes) => stream.write_all(bytes).await.ok()?,
        Endless(head, again) => {
            stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes()).await.ok()?;
            while !again.is_empty() {
                stream.write_all(again).await.ok()?;
            }
            stream.read_u8().await.ok()?;
        }
        Drip(bytes) => {
            stream.set_nodelay(true).ok()?;
            let mut pace = tokio::time::interval(Duration::from_millis(5));
            for byte in bytes.iter().chain(bytes.last().into_iter().cycle()) {
                pace.tick().await;
                stream.write_u8(*byte).await.ok()?;
            }
        }
        Nothing => drop(stream.read_u8().await),
    }
    stream.shutdown().await.ok()
}

async fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut request = Vec::new();
    let end = loop {
        request.push(stream.read_u8().await.ok()?);
        if request.ends_with(b"\r\n\r\n") {
            break String::from_utf8_lossy(&request).to_lowercase();
        }
    };
    let length = end.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok().map(drop)
}

async fn set(daemon: &Daemon, key: &str, value: &str) {
    daemon.waiter(&["settings", "set", key, value]).await.ok();
}

/// Makes this the only source.
async fn use_endpoint(daemon: &Daemon, name: &str, url: &str) {
    let add =
        ["source", "add", name, "--adapter", "openai", "--base-url", url, "--model", "m", "--key-env", "FAKE_KEY"];
    daemon.waiter_with(&add, &[("FAKE_KEY", KEY)]).await.ok();
}

/// Asks a source that answers as its row says, and returns what the user reads.
async fn read_after(daemon: &Daemon, answers: Vec<Answer>) -> String {
    let endpoint = Endpoint::start(answers).await;
    use_endpoint(daemon, "bad", &endpoint.url).await;
    daemon.waiter(&["source", "use", "bad"]).await.ok();
    let result = daemon.ask("hello").await;
    assert!(endpoint.asked.load(Ordering::Relaxed) > 0, "it was asked: {result}");
    daemon.waiter(&["source", "remove", "bad"]).await.ok();
    let words = result["error"]["text"].as_str().or_else(|| result["reply"].as_str());
    words.unwrap_or_else(|| panic!("there are no words in {result}")).to_owned()
}

#[tokio::test]
async fn endpoints_that_answer_badly_cost_one_turn_and_say_why() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("All is well.");
    set(&daemon, "core.model.wait_seconds", "0").await;
    set(&daemon, "core.model.first_byte_seconds", "1").await;
    set(&daemon, "core.model.silence_seconds", "1").await;
    // Each row is asked alone: the good source is back when it is over.
    for Row { name, answers, reads } in ROWS {
        daemon.waiter(&["source", "remove", "fake"]).await.ok();
        let words = read_after(&daemon, answers()).await;
        assert_reads(name, &words, reads);
        assert!(words.len() <= MIB + 1000, "{name}: {} bytes", words.len());
        assert!(!words.contains(KEY), "{name}: {words}");
        daemon.use_vendor(&vendor).await;
        assert_answers(name, &daemon, &vendor).await;
    }
}

#[tokio::test]
async fn an_endpoint_that_drips_is_left_when_the_time_of_the_turn_is_over() {
    let (daemon, vendor) = with_vendor().await;
    set(&daemon, "core.agent.turn_seconds", "2").await;
    daemon.waiter(&["source", "remove", "fake"]).await.ok();
    let head = format!("HTTP/1.1 {EVENTS}\r\n");
    let rows = [
        ("a head that drips", format!("{head}X: yyyy")),
        ("a comment that drips", format!("{head}\r\n: yyyy")),
        ("a text that drips", format!("{head}\r\ndata: {{\"choices\": [{{\"delta\": {{\"content\": \"yyyy")),
    ];
    for (row, bytes) in rows {
        let words = read_after(&daemon, vec![Drip(bytes.into_bytes())]).await;
        assert_reads(row, &words, &["longer than the 2 s an answer may take", "it was ended"]);
    }
    set(&daemon, "core.agent.turn_seconds", "600").await;
    daemon.use_vendor(&vendor).await;
    assert_answers("endpoints that drip", &daemon, &vendor).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_its_target_sees_no_key() {
    let (daemon, vendor) = with_vendor().await;
    let target = Endpoint::start(vec![Stream(vec![text_event("Give me your key."), finish("stop")])]).await;
    daemon.waiter(&["source", "remove", "fake"]).await.ok();
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let head = format!("HTTP/1.1 {status}\r\nLocation: {}/chat\r\nContent-Length: 0\r\n\r\n", target.url);
        let words = read_after(&daemon, vec![Raw(head.into_bytes())]).await;
        assert_reads(status, &words, &["`bad`", "redirect to 127.0.0.1", "not followed", "check the base URL"]);
    }
    assert_eq!(target.asked.load(Ordering::Relaxed), 0);
    daemon.use_vendor(&vendor).await;
    assert_answers("redirects", &daemon, &vendor).await;
}
