//! A vendor of chat completions: real HTTP, real server-sent events, answers from a script.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::daemon::within;

/// One answer of the script.
pub(crate) enum Reply {
    /// A stream of these events, ended as the protocol says.
    Stream(Vec<Value>),
    /// These events, and then nothing: the stream stays open until the client leaves.
    Open(Vec<Value>),
    /// These events, and then the connection breaks.
    Broken(Vec<Value>),
    /// These events, a pause until [`Vendor::go_on`], and the rest.
    Paused(Vec<Value>, Vec<Value>),
    /// Another status and a body.
    Status(u16, Value),
}

impl Reply {
    pub(crate) fn text(text: &str) -> Self {
        Reply::Stream(vec![text_event(text), finish("stop")])
    }

    /// An answer with these calls, each a tool's name and the text of its arguments.
    pub(crate) fn calls(calls: &[(&str, &str)]) -> Self {
        Reply::Stream(vec![calls_event(calls), finish("tool_calls")])
    }
}

pub(crate) fn text_event(text: &str) -> Value {
    delta(&json!({ "content": text }))
}

pub(crate) fn calls_event(calls: &[(&str, &str)]) -> Value {
    let call = |(index, (name, arguments)): (usize, &(&str, &str))| {
        json!({ "index": index, "id": format!("call-{index}"), "type": "function",
                "function": { "name": name, "arguments": arguments } })
    };
    delta(&json!({ "tool_calls": calls.iter().enumerate().map(call).collect::<Vec<_>>() }))
}

pub(crate) fn finish(reason: &str) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "model": "m",
            "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn delta(delta: &Value) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

/// What was asked of the vendor.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) body: Value,
    pub(crate) authorization: String,
}

impl Asked {
    pub(crate) fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().expect("a request has messages")
    }

    /// The content of the tool messages, in order.
    pub(crate) fn tool_results(&self) -> Vec<String> {
        let of_tools = self.messages().iter().filter(|message| message["role"] == "tool");
        of_tools.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn says(&self, text: &str) -> bool {
        self.body["messages"].to_string().contains(text)
    }
}

/// Makes an answer of a request's body.
pub(crate) type Speaker = fn(&Value) -> String;

/// The server. Ends with the test.
pub(crate) struct Vendor {
    pub(crate) base_url: String,
    shared: Arc<Shared>,
}

struct Shared {
    script: Mutex<VecDeque<Reply>>,
    /// Answers when the script is at its end.
    always: Mutex<Option<String>>,
    /// Makes every answer, in the script's place; what is asked is not kept then.
    speaker: Mutex<Option<Speaker>>,
    asked: watch::Sender<Vec<Asked>>,
    go_on: watch::Sender<u32>,
    /// Streams that clients left before their end.
    left: watch::Sender<u32>,
}

impl Vendor {
    pub(crate) async fn start() -> Self {
        let shared = Arc::new(Shared {
            script: Mutex::default(),
            always: Mutex::default(),
            speaker: Mutex::default(),
            asked: watch::Sender::new(Vec::new()),
            go_on: watch::Sender::new(0),
            left: watch::Sender::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("it has an address"));
        let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(Arc::clone(&shared));
        // What people send may be large.
        let router = router.layer(DefaultBodyLimit::disable());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base_url, shared }
    }

    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.script.lock().expect("no panic").extend(replies);
    }

    /// Drops what is left of the script.
    pub(crate) fn forget(&self) {
        self.shared.script.lock().expect("no panic").clear();
    }

    /// What it says whenever the script is at its end.
    pub(crate) fn always(&self, text: &str) {
        *self.shared.always.lock().expect("no panic") = Some(text.to_owned());
    }

    /// From now on it answers what this makes of a request's body.
    pub(crate) fn speaks(&self, speaker: Speaker) {
        *self.shared.speaker.lock().expect("no panic") = Some(speaker);
    }

    pub(crate) fn go_on(&self) {
        self.shared.go_on.send_modify(|count| *count += 1);
    }

    /// Waits until it has been asked this often, and returns all that was asked.
    pub(crate) async fn asked(&self, times: usize) -> Vec<Asked> {
        let mut asked = self.shared.asked.subscribe();
        let what = format!("{times} questions to the vendor");
        within(&what, asked.wait_for(|all| all.len() >= times)).await.expect("the vendor lives").clone()
    }

    pub(crate) fn asked_so_far(&self) -> Vec<Asked> {
        self.shared.asked.borrow().clone()
    }

    /// Waits until clients have left so many streams before their end.
    pub(crate) async fn left(&self, times: u32) {
        let mut left = self.shared.left.subscribe();
        let what = format!("{times} streams left before their end");
        within(&what, left.wait_for(|count| *count >= times)).await.expect("the vendor lives");
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let asked = Asked {
        body: serde_json::from_slice(&body).expect("a request is JSON"),
        authorization: authorization.unwrap_or_default().to_owned(),
    };
    let speaker = *shared.speaker.lock().expect("no panic");
    if let Some(speaker) = speaker {
        return stream(&shared, Reply::text(&speaker(&asked.body)));
    }
    let reply = shared.script.lock().expect("no panic").pop_front();
    let reply = reply.or_else(|| shared.always.lock().expect("no panic").as_deref().map(Reply::text));
    shared.asked.send_modify(|all| all.push(asked));
    match reply {
        None => (StatusCode::INTERNAL_SERVER_ERROR, "the script is at its end").into_response(),
        Some(Reply::Status(status, body)) => {
            let status = StatusCode::from_u16(status).expect("a valid status");
            (status, axum::Json(body)).into_response()
        }
        Some(reply) => stream(&shared, reply),
    }
}

/// A body made of what the task sends; an error breaks the connection.
fn stream(shared: &Arc<Shared>, reply: Reply) -> Response {
    let (tx, mut rx) = mpsc::channel::<Result<String, Infallible>>(8);
    let shared = Arc::clone(shared);
    let breaks = matches!(reply, Reply::Broken(_));
    tokio::spawn(async move { play(&shared, reply, &tx).await });
    let body = futures::stream::poll_fn(move |context| match rx.poll_recv(context) {
        std::task::Poll::Ready(Some(Ok(chunk))) => std::task::Poll::Ready(Some(Ok(chunk))),
        std::task::Poll::Ready(Some(Err(never))) => match never {},
        std::task::Poll::Ready(None) if breaks => {
            std::task::Poll::Ready(Some(Err(std::io::Error::other("the vendor breaks off"))))
        }
        std::task::Poll::Ready(None) => std::task::Poll::Ready(None),
        std::task::Poll::Pending => std::task::Poll::Pending,
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream")];
    (head, Body::from_stream(body)).into_response()
}

async fn play(shared: &Shared, reply: Reply, tx: &mpsc::Sender<Result<String, Infallible>>) {
    let send = async |events: Vec<Value>| {
        for event in events {
            if tx.send(Ok(format!("data: {event}\n\n"))).await.is_err() {
                return;
            }
        }
    };
    match reply {
        Reply::Stream(events) => {
            send(events).await;
            drop(tx.send(Ok("data: [DONE]\n\n".into())).await);
        }
        Reply::Broken(events) => send(events).await,
        Reply::Open(events) => {
            send(events).await;
            tx.closed().await;
            shared.left.send_modify(|count| *count += 1);
        }
        Reply::Paused(first, rest) => {
            let mut go_on = shared.go_on.subscribe();
            send(first).await;
            if go_on.changed().await.is_ok() {
                send(rest).await;
                drop(tx.send(Ok("data: [DONE]\n\n".into())).await);
            }
        }
        Reply::Status(..) => unreachable!("answered without a stream"),
    }
}
