//! A connection that the host holds for a slot, on the slot's side.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use homeagent_types::ports::{Connection, Frame, ToPeer};
use homeagent_types::{CallError, Meta, Principal};
use tokio::sync::{Mutex, mpsc};

use super::Line;
use super::core::SlotCore;
use super::job::Work;
use super::sockets::FromSlot;
use crate::host::LARGEST_FRAME;

/// Frames that wait for the slot; beyond it the connection is not read.
const WAITING: usize = 64;
/// The capability of connections that were made for the plugin.
const DIALLED: &str = "connect";

enum FromPeer {
    Frame(Frame),
    Closed(String),
}

/// What the transport holds.
pub(crate) struct HeldConnection {
    answers: Answers,
    to_slot: mpsc::Sender<FromPeer>,
    from_slot: Mutex<FromSlot>,
    given_up: Arc<OnceLock<String>>,
    /// How long a full queue may stay full before the connection is given up.
    patience: Duration,
}

impl HeldConnection {
    /// What both sides and the owner are told when the plugin takes in nothing.
    fn stuck(&self) -> CallError {
        let (slot, patience) = (&self.answers.slot, self.patience);
        let reason = format!(
            "the plugin {} took in nothing for {} ms; what was sent after that is lost",
            slot.name,
            patience.as_millis()
        );
        slot.tell_owner(&format!("a connection was closed: {reason}"));
        CallError::Other(reason)
    }
}

/// Adds a connection of a listener to the slot and tells the instance of it.
pub(crate) fn open(slot: Line, listener: &str, attested: Option<Principal>, meta: Meta) -> HeldConnection {
    hold(slot, "listen", listener, attested, meta)
}

/// The same for one that was made for the plugin, under the name it has given.
pub(crate) fn dialled(slot: Line, name: &str, meta: Meta) -> HeldConnection {
    hold(slot, DIALLED, name, None, meta)
}

fn hold(
    slot: Line,
    capability: &'static str,
    listener: &str,
    attested: Option<Principal>,
    meta: Meta,
) -> HeldConnection {
    let (id, from_slot) = slot.core.sockets.add(capability, listener, attested, meta);
    let (to_slot, frames) = mpsc::channel(WAITING);
    let core = Arc::clone(&slot.core);
    let patience = slot.services.milliseconds("core.plugin.full_queue_ms", 30_000);
    tokio::spawn(pump(slot, capability, id, frames));
    let given_up = from_slot.given_up();
    HeldConnection {
        answers: Answers { slot: core, id },
        to_slot,
        from_slot: Mutex::new(from_slot),
        given_up,
        patience,
    }
}

/// The transport's hold on the requests whose answers it may bring.
struct Answers {
    slot: Arc<SlotCore>,
    id: u64,
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.slot.sockets.expect_nothing(self.id);
    }
}

#[async_trait]
impl Connection for HeldConnection {
    async fn receive(&self, frame: Frame) -> Result<(), CallError> {
        let length = length(&frame);
        if length > LARGEST_FRAME {
            return Err(CallError::Invalid(format!(
                "a frame has at most {LARGEST_FRAME} bytes; this one has {length}"
            )));
        }
        // An answer does not wait behind frames whose handler may be the one who asked.
        let Some(frame) = self.answers.slot.sockets.answered(self.answers.id, frame) else { return Ok(()) };
        match self.to_slot.send_timeout(FromPeer::Frame(frame), self.patience).await {
            Ok(()) => Ok(()),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => Err(self.stuck()),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => {
                let reason = self.given_up.get().cloned();
                let unloaded = || "the plugin that served this connection has been unloaded".to_owned();
                Err(CallError::NotFound(reason.unwrap_or_else(unloaded)))
            }
        }
    }

    async fn next(&self) -> Option<ToPeer> {
        self.from_slot.lock().await.next().await
    }

    async fn closed(self: Box<Self>, reason: String) {
        let Self { answers, to_slot, from_slot, .. } = *self;
        // First, so that a handler that waits to send something here, or for an answer, does not wait for us.
        drop(from_slot);
        drop(answers);
        drop(to_slot.send(FromPeer::Closed(reason)).await);
    }
}

fn length(frame: &Frame) -> usize {
    match frame {
        Frame::Text(text) => text.len(),
        Frame::Binary(bytes) => bytes.len(),
    }
}

/// Hands frames to whatever instance serves, in order. A frame is out of the queue when its handler returned; when the
/// instance is lost under it, it is handed over once more.
async fn pump(slot: Line, capability: &'static str, id: u64, mut frames: mpsc::Receiver<FromPeer>) {
    let opened = call(&slot, |reply| Work::Open { connection: id, reply }).await;
    // An instance that is lost is followed by one that is told when it takes over; one that is there and was not told, or
    // has not come to an end with it, would not know whose frames it gets.
    if let Err(error @ (CallError::Busy | CallError::Timeout)) = opened {
        tracing::warn!(plugin = %slot.core.name, connection = id, %error, "a connection was not taken in");
        slot.core.sockets.give_up(id, &format!("the plugin {} did not take the connection: {error}", slot.core.name));
        return;
    }
    let mut reason = "the connection was lost".to_owned();
    while let Some(first) = frames.recv().await {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        let mut over = false;
        while let Some(item) = next {
            match item {
                FromPeer::Frame(frame) => {
                    bytes += length(&frame);
                    batch.push(frame);
                }
                FromPeer::Closed(why) => {
                    reason = why;
                    over = true;
                    break;
                }
            }
            let room = batch.len() < WAITING && bytes < LARGEST_FRAME;
            next = if room { frames.try_recv().ok() } else { None };
        }
        if !slot.core.grants.allows(capability) {
            reason = not_allowed(&slot.core.name, capability);
            slot.core.sockets.give_up(id, &reason);
            break;
        }
        if !batch.is_empty() {
            hand_over(&slot, capability, id, batch).await;
        }
        if over {
            break;
        }
    }
    slot.core.sockets.remove(id);
    drop(call(&slot, |reply| Work::Closed { connection: id, reason, reply }).await);
}

/// Why a connection ends whose plugin lost the right to it.
pub(crate) fn not_allowed(plugin: &str, capability: &str) -> String {
    format!(
        "the plugin may not serve connections any more; the owner can allow it: waiter plugin grant {plugin} {capability}"
    )
}

async fn hand_over(slot: &Line, capability: &str, connection: u64, batch: Vec<Frame>) {
    let again = batch.clone();
    let first = call(slot, |reply| Work::Frames { connection, frames: batch, reply }).await;
    // After a time-out the handler may still be at it; only a lost instance has certainly let go of the frames.
    let error = match first {
        Ok(()) => return,
        Err(error @ (CallError::Timeout | CallError::NotFound(_))) => {
            tracing::error!(plugin = %slot.core.name, connection, %error, "frames were not handled in time");
            tell_peer(slot, capability, connection, &error).await;
            return;
        }
        Err(error) => error,
    };
    tracing::warn!(plugin = %slot.core.name, connection, %error, "frames were not handled; handing them over once more");
    if let Err(error) = call(slot, |reply| Work::Frames { connection, frames: again, reply }).await {
        tracing::error!(plugin = %slot.core.name, connection, %error, "frames were lost: the plugin failed on them twice");
        tell_peer(slot, capability, connection, &error).await;
    }
}

/// Tells whoever speaks our language that frames were lost.
async fn tell_peer(slot: &Line, capability: &str, connection: u64, error: &CallError) {
    if capability != DIALLED {
        drop(slot.core.sockets.send(connection, failure_frame(error)).await);
    }
}

/// What the other side is told when its frames were lost.
fn failure_frame(error: &CallError) -> Frame {
    Frame::Text(serde_json::json!({ "type": "error", "text": error.to_string() }).to_string())
}

async fn call(slot: &Line, work: impl FnOnce(super::job::Reply<()>) -> Work) -> Result<(), CallError> {
    slot.call(slot.usual_deadline(), work).await
}
