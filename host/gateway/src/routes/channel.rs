//! Connections of the unix socket whose frames belong to the plugin that holds the listener.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use homeagent_types::CallError;
use homeagent_types::ports::{Connection, Frame, ToPeer};
use serde::Deserialize;

use super::chat::{conversation_name, owner};
use crate::Problem;
use crate::connections::{Connections, StreamKind};
use crate::core::{Core, Shared};
use crate::extract::Asked;

const LISTENER: &str = "chat";

/// The largest frame, in bytes.
const LARGEST: usize = 1024 * 1024;

/// Above this a frame is not even read to its end.
const READ_AT_MOST: usize = 4 * LARGEST;

/// How long the client may take to take a frame.
const SLOWEST: Duration = Duration::from_secs(30);

/// The longest reason that a close frame holds, in bytes.
const LONGEST_REASON: usize = 123;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Whose {
    conversation: Option<String>,
}

/// `GET /channels/chat?conversation=NAME`.
pub(crate) async fn chat(
    State(core): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
    Asked(whose): Asked<Whose>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let name = conversation_name(whose.conversation)?;
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, rejection.body_text())
            .hint("this path speaks WebSocket; `waiter` is a client for it")
    })?;
    let open = connections.stream(StreamKind::Chat)?;
    let meta = vec![("conversation".to_owned(), name.clone()), ("user".to_owned(), name.clone())];
    let principal = owner("cli", name);
    let live = core.live()?;
    let connected = live.listeners.connect(LISTENER, Some(principal), meta);
    let slot = connected.await.map_err(|error| match error {
        CallError::NotFound(_) => {
            Problem::from(error).hint("`waiter plugin list` shows how the plugin `cli` is, which holds the chat")
        }
        error => error.into(),
    })?;
    let working = core.tasks.token();
    let upgrade = upgrade.max_frame_size(READ_AT_MOST).max_message_size(READ_AT_MOST);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // Shutting down waits until the client was told.
        let _working = working;
        let _open = open;
        relay(socket, slot, &core).await;
    }))
}

/// Why a relay ends.
enum End {
    /// The client is told this, and the slot too.
    Close(u16, String),
    /// The client has gone.
    Gone(String),
}

async fn relay(socket: WebSocket, slot: Box<dyn Connection>, core: &Core) {
    let (mut to_client, mut from_client) = socket.split();
    // The two ways go on beside each other: a slot may wait for its frames to be taken before it takes the client's.
    let end = tokio::select! {
        end = outward(&mut to_client, &*slot, core) => end,
        end = inward(&mut from_client, &*slot) => end,
        () = core.stopping.cancelled() => End::Close(close_code::AWAY, "homed is stopping".to_owned()),
    };
    let reason = match end {
        End::Gone(reason) => reason,
        End::Close(code, reason) => {
            let frame = CloseFrame { code, reason: shorten(&reason).into() };
            // A client that does not listen any more misses the reason.
            let said = to_client.send(Message::Close(Some(frame)));
            let _ = tokio::time::timeout(Duration::from_secs(1), said).await;
            reason
        }
    };
    slot.closed(reason).await;
}

async fn outward(to_client: &mut SplitSink<WebSocket, Message>, slot: &dyn Connection, core: &Core) -> End {
    loop {
        let message = match slot.next().await {
            Some(ToPeer::Frame(Frame::Text(text))) => Message::Text(text.into()),
            Some(ToPeer::Frame(Frame::Binary(bytes))) => Message::Binary(bytes.into()),
            Some(ToPeer::Close(reason)) => return End::Close(close_code::NORMAL, reason),
            Some(ToPeer::GivenUp(reason)) => return End::Close(close_code::POLICY, reason),
            None => {
                let reason = match core.parts.keeper.live() {
                    Some(_) => "the plugin that holds the chat was unloaded",
                    None => "the agent was stopped; `waiter agent start` starts it",
                };
                return End::Close(close_code::RESTART, reason.to_owned());
            }
        };
        // Not reading the slot's further frames meanwhile is the back-pressure on it.
        match tokio::time::timeout(SLOWEST, to_client.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return End::Gone(format!("the client is gone: {error}")),
            Err(_) => return End::Gone("the client does not read".to_owned()),
        }
    }
}

async fn inward(from_client: &mut SplitStream<WebSocket>, slot: &dyn Connection) -> End {
    loop {
        if let Err(end) = to_slot(slot, from_client.next().await).await {
            return end;
        }
    }
}

async fn to_slot(slot: &dyn Connection, message: Option<Result<Message, axum::Error>>) -> Result<(), End> {
    let frame = match message {
        Some(Ok(Message::Text(text))) => Frame::Text(text.as_str().to_owned()),
        Some(Ok(Message::Binary(bytes))) => Frame::Binary(bytes.into()),
        // Pings are answered below us.
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(()),
        Some(Ok(Message::Close(frame))) => {
            let reason = frame.map(|frame| frame.reason.as_str().to_owned());
            let reason = reason.filter(|reason| !reason.is_empty());
            return Err(End::Gone(reason.unwrap_or_else(|| "the client closed the connection".to_owned())));
        }
        Some(Err(error)) => {
            let sentence = error.to_string();
            let reason = format!("a frame could not be read: {sentence}");
            return Err(match fault_code(&sentence) {
                Some(code) => End::Close(code, reason),
                None => End::Gone(reason),
            });
        }
        None => return Err(End::Gone("the client closed the connection".to_owned())),
    };
    let length = match &frame {
        Frame::Text(text) => text.len(),
        Frame::Binary(bytes) => bytes.len(),
    };
    if length > LARGEST {
        let reason = format!("a frame may have {LARGEST} bytes; this one has {length}");
        return Err(End::Close(close_code::SIZE, reason));
    }
    // Waiting here, the client's further frames are not read: that is the back-pressure on it.
    slot.receive(frame).await.map_err(|error| End::Close(close_code::POLICY, error.to_string()))
}

/// The code for a frame that can't be read; none where the connection itself broke. The kind of error is told by its
/// sentence alone: its type belongs to a crate that axum keeps to itself.
fn fault_code(sentence: &str) -> Option<u16> {
    let kinds = [
        ("Space limit exceeded", close_code::SIZE),
        ("UTF-8 encoding error", close_code::INVALID),
        ("WebSocket protocol error", close_code::PROTOCOL),
    ];
    let broke = sentence.contains("without closing handshake");
    kinds.into_iter().find(|(beginning, _)| !broke && sentence.starts_with(beginning)).map(|(_, code)| code)
}

/// The beginning of a reason, as much as a close frame holds.
fn shorten(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(LONGEST_REASON)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_cut_between_characters() {
        assert_eq!(shorten("short"), "short");
        let long = "长".repeat(100);
        assert_eq!(shorten(&long), "长".repeat(41));
    }
}
