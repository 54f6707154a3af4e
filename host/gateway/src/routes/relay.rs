//! Between a client's WebSocket and the slot that serves it.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures::stream::SplitSink;
use futures::{SinkExt as _, Stream, StreamExt as _};
use homeagent_types::ports::{Connection, Frame, ToPeer};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::connections::OpenStream;
use crate::core::{Core, Shared};

/// The largest frame, in bytes.
const LARGEST: usize = 1024 * 1024;

/// Above this a message is not even read to its end, in however many pieces it comes: each connection may hold so much.
const READ_AT_MOST: usize = LARGEST + (64 << 10);

/// How long the client may take to take a frame.
const SLOWEST: Duration = Duration::from_secs(30);

/// The longest reason that a close frame holds, in bytes.
const LONGEST_REASON: usize = 123;

/// How often a client is asked whether it is there.
const PING: Duration = Duration::from_secs(30);

/// How long a client that is asked may say nothing at all.
const SILENCE: Duration = Duration::from_secs(90);

/// Whether a client is asked now and then whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pings {
    /// Its end is noticed by the system.
    Never,
    /// It may be far away: whoever says nothing for [`SILENCE`] is gone.
    Regularly,
}

/// Makes the WebSocket and relays until one side ends it.
pub(super) fn upgrade(
    upgrade: WebSocketUpgrade,
    slot: Box<dyn Connection>,
    core: Shared,
    open: OpenStream,
    pings: Pings,
) -> Response {
    let working = core.tasks.token();
    let upgrade = upgrade.max_frame_size(READ_AT_MOST).max_message_size(READ_AT_MOST);
    upgrade.on_upgrade(move |socket| async move {
        // Shutting down waits until the client was told.
        let _working = working;
        let _open = open;
        relay(socket, slot, &core, pings).await;
    })
}

/// Why a relay ends.
enum End {
    /// The client is told this, and the slot too.
    Close(u16, String),
    /// The client has gone.
    Gone(String),
}

async fn relay(socket: WebSocket, slot: Box<dyn Connection>, core: &Core, pings: Pings) {
    let (mut to_client, mut from_client) = socket.split();
    // The two ways go on beside each other: a slot may wait for its frames to be taken before it takes the client's.
    let end = tokio::select! {
        end = outward(&mut to_client, &*slot, core, pings) => end,
        end = inward(&mut from_client, &*slot, pings) => end,
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

async fn outward(
    to_client: &mut SplitSink<WebSocket, Message>,
    slot: &dyn Connection,
    core: &Core,
    pings: Pings,
) -> End {
    let mut beat = tokio::time::interval_at(Instant::now() + PING, PING);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let next = tokio::select! {
            next = slot.next() => next,
            () = tick(&mut beat, pings) => {
                if let Err(end) = send(to_client, Message::Ping(axum::body::Bytes::new())).await {
                    return end;
                }
                continue;
            }
        };
        let message = match next {
            Some(ToPeer::Frame(Frame::Text(text))) => Message::Text(text.into()),
            Some(ToPeer::Frame(Frame::Binary(bytes))) => Message::Binary(bytes.into()),
            Some(ToPeer::Close(reason)) => return End::Close(close_code::NORMAL, reason),
            Some(ToPeer::GivenUp(reason)) => return End::Close(close_code::POLICY, reason),
            None => {
                let reason = match core.parts.keeper.live() {
                    Some(_) => "the plugin that serves this connection was unloaded",
                    None => "the agent was stopped; `waiter agent start` starts it",
                };
                return End::Close(close_code::RESTART, reason.to_owned());
            }
        };
        // Not reading the slot's further frames meanwhile is the back-pressure on it.
        if let Err(end) = send(to_client, message).await {
            return end;
        }
    }
}

async fn tick(beat: &mut Interval, pings: Pings) {
    match pings {
        Pings::Never => std::future::pending().await,
        Pings::Regularly => drop(beat.tick().await),
    }
}

async fn send(to_client: &mut SplitSink<WebSocket, Message>, message: Message) -> Result<(), End> {
    match tokio::time::timeout(SLOWEST, to_client.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(End::Gone(format!("the client is gone: {error}"))),
        Err(_) => Err(End::Gone("the client does not read".to_owned())),
    }
}

async fn inward(
    from_client: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    slot: &dyn Connection,
    pings: Pings,
) -> End {
    loop {
        let message = match pings {
            Pings::Never => from_client.next().await,
            Pings::Regularly => match tokio::time::timeout(SILENCE, from_client.next()).await {
                Ok(message) => message,
                Err(_) => {
                    let reason = format!("nothing has come for {} s, not even a pong", SILENCE.as_secs());
                    return End::Close(close_code::AWAY, reason);
                }
            },
        };
        if let Err(end) = to_slot(slot, message).await {
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
    use async_trait::async_trait;
    use homeagent_types::CallError;

    use super::*;

    /// A slot that takes everything.
    struct Taker;

    #[async_trait]
    impl Connection for Taker {
        async fn receive(&self, _: Frame) -> Result<(), CallError> {
            Ok(())
        }

        async fn next(&self) -> Option<ToPeer> {
            std::future::pending().await
        }

        async fn closed(self: Box<Self>, _: String) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_answers_no_ping_is_closed_with_the_reason() {
        let (began, pong) = (Instant::now(), Message::Pong(axum::body::Bytes::new()));
        // It answers the first two, and no more.
        let pongs = futures::stream::iter([(); 2]).then(|()| {
            let pong = pong.clone();
            async move {
                tokio::time::sleep(PING).await;
                Ok(pong)
            }
        });
        let mut client = Box::pin(pongs.chain(futures::stream::pending()));
        let End::Close(code, reason) = inward(&mut client, &Taker, Pings::Regularly).await else {
            panic!("it is told why");
        };
        assert_eq!((code, reason.as_str()), (close_code::AWAY, "nothing has come for 90 s, not even a pong"));
        assert_eq!(began.elapsed(), 2 * PING + SILENCE);
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        assert_eq!(shorten("short"), "short");
        let long = "长".repeat(100);
        assert_eq!(shorten(&long), "长".repeat(41));
    }
}
