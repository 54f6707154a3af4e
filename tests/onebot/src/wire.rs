//! The sockets: connecting, being connected to, and what goes over one connection.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};

use crate::actions::{self, Outcome};
use crate::platform::{Behaviour, now};
use crate::{Role, Shared};

type Socket = WebSocketStream<TcpStream>;

/// The longest pause before a connection is made anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Connects, and connects anew when the connection is gone.
pub(crate) async fn keep(shared: Arc<Shared>, url: String, role: Role) {
    let mut pause = shared.options.pause;
    loop {
        match dial(&shared, &url, role).await {
            Ok(socket) => {
                pause = shared.options.pause;
                talk(&shared, socket, role).await;
            }
            Err(reason) => {
                shared.change(|state| {
                    state.refused += 1;
                    state.closed.push(reason);
                });
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        tokio::time::sleep(pause).await;
    }
}

async fn dial(shared: &Shared, url: &str, role: Role) -> Result<Socket, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let mut request = url.into_client_request().map_err(|error| words(&error))?;
    let authority = request.uri().authority().ok_or("the address names no host")?.to_string();
    let headers = request.headers_mut();
    let account = shared.options.account.to_string();
    for (name, value) in [("x-self-id", account.as_str()), ("x-client-role", role.name()), ("user-agent", "OneBot/11")]
    {
        headers.insert(name, HeaderValue::from_str(value).map_err(|error| words(&error))?);
    }
    if let Some(token) = &shared.options.token {
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|error| words(&error))?;
        headers.insert("authorization", bearer);
    }
    let stream = TcpStream::connect(authority).await.map_err(|error| words(&error))?;
    stream.set_nodelay(true).map_err(|error| words(&error))?;
    client_async(request, stream).await.map(|(socket, _)| socket).map_err(|error| words(&error))
}

/// Takes connections in; what goes over one is said by its path.
#[expect(clippy::result_large_err, reason = "the library's type")]
pub(crate) async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    // Connections end with the listener.
    let mut talks = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        talks.spawn(async move {
            let mut role = Role::Universal;
            let accepted = accept_hdr_async(stream, |request: &Request, response: Response| {
                role = match request.uri().path().trim_end_matches('/') {
                    "/event" => Role::Event,
                    "/api" => Role::Api,
                    _ => Role::Universal,
                };
                check(&shared, request).map(|()| response)
            });
            match accepted.await {
                Ok(socket) => talk(&shared, socket, role).await,
                Err(_) => shared.change(|state| state.refused += 1),
            }
        });
    }
}

#[expect(clippy::result_large_err, reason = "the library's type")]
fn check(shared: &Shared, request: &Request) -> Result<(), ErrorResponse> {
    let shown = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|text| text.strip_prefix("Bearer "));
    if shared.options.token.as_deref().is_none_or(|token| shown == Some(token)) {
        return Ok(());
    }
    let mut refusal = ErrorResponse::new(Some("the token is wrong".to_owned()));
    *refusal.status_mut() = StatusCode::UNAUTHORIZED;
    Err(refusal)
}

async fn talk(shared: &Arc<Shared>, socket: Socket, role: Role) {
    let (mut to_peer, from_peer) = socket.split();
    let hello = json!({ "time": now(), "self_id": shared.options.account, "post_type": "meta_event",
        "meta_event_type": "lifecycle", "sub_type": "connect" });
    if role.has_events() && to_peer.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    shared.change(|state| {
        state.open += 1;
        state.made += 1;
    });
    let (answers, ready) = mpsc::unbounded_channel();
    let mut broken = shared.broken.subscribe();
    let reason = tokio::select! {
        () = tell(shared, &mut to_peer, ready, role) => "it could not be written to".to_owned(),
        reason = listen(shared, from_peer, answers) => reason,
        _ = broken.changed() => "it was broken off here".to_owned(),
    };
    shared.change(|state| {
        state.open -= 1;
        state.closed.push(reason);
        if role.has_events() {
            state.lost();
        }
    });
}

/// Writes events, heartbeats and answers, until that fails.
async fn tell(
    shared: &Shared,
    to_peer: &mut SplitSink<Socket, Message>,
    mut ready: mpsc::UnboundedReceiver<Value>,
    role: Role,
) {
    let mut changed = shared.changed.subscribe();
    let interval = shared.options.heartbeat.unwrap_or(Duration::from_secs(3_600));
    let mut beat = tokio::time::interval_at(Instant::now() + interval, interval);
    loop {
        changed.mark_unchanged();
        let event = if role.has_events() { shared.lock().next() } else { None };
        let text = match event {
            Some(event) => event,
            None => tokio::select! {
                Some(answer) = ready.recv() => answer.to_string(),
                _ = changed.changed() => continue,
                _ = beat.tick() => match heartbeat(shared).filter(|_| role.has_events()) {
                    Some(heartbeat) => heartbeat,
                    None => continue,
                },
            },
        };
        if to_peer.send(Message::text(text)).await.is_err() {
            return;
        }
    }
}

fn heartbeat(shared: &Shared) -> Option<String> {
    let interval = shared.options.heartbeat?.as_millis();
    let state = shared.lock();
    let beat = json!({ "time": now(), "self_id": state.account, "post_type": "meta_event",
        "meta_event_type": "heartbeat", "status": { "online": state.online, "good": true }, "interval": interval });
    state.beats.then(|| beat.to_string())
}

/// Reads requests and does them, until the other side ends it: why.
async fn listen(
    shared: &Arc<Shared>,
    mut from_peer: SplitStream<Socket>,
    answers: mpsc::UnboundedSender<Value>,
) -> String {
    loop {
        let text = match from_peer.next().await {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(frame))) => return frame.map(|it| it.reason.to_string()).unwrap_or_default(),
            Some(Ok(_)) => continue,
            Some(Err(error)) => return error.to_string(),
            None => return "it ended".to_owned(),
        };
        let frame: Value = serde_json::from_str(&text).unwrap_or_default();
        let (answer, behaviour) = match shared.change(|state| actions::take(state, &frame)) {
            Outcome::Answer(answer, behaviour) => (answer, behaviour),
            Outcome::Break => return "it was broken off here".to_owned(),
        };
        match behaviour {
            Behaviour::Silent => {}
            Behaviour::Slow(time) => {
                let answers = answers.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    // The connection may be gone by then.
                    let _ = answers.send(answer);
                });
            }
            _ => _ = answers.send(answer),
        }
    }
}
