//! The connections that the host holds for a slot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use homeagent_types::ports::{Frame, ToPeer};
use homeagent_types::{CallError, Meta, Principal};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::core::lock;

/// Frames on the way to a peer that does not read; beyond it a sender waits.
const OUTGOING: usize = 256;

/// The same in KiB.
const OUTGOING_KIB: usize = 8 << 10;

/// How long a sender waits for a peer that does not read.
const PATIENCE: Duration = Duration::from_secs(2);

/// The open connections of a slot. They stay when the instance is replaced.
#[derive(Default)]
pub(crate) struct Sockets {
    open: Mutex<BTreeMap<u64, Entry>>,
    next: AtomicU64,
}

struct Entry {
    about: ConnectionInfo,
    /// Whose grant it needs.
    capability: &'static str,
    to_peer: mpsc::Sender<Outgoing>,
    /// A place for each KiB on the way.
    room: Arc<Semaphore>,
    /// Why it was given up, for its other side.
    given_up: Arc<OnceLock<String>>,
    /// The generation that has been told of the connection.
    told: u64,
    /// The one that had been told before it.
    told_before: u64,
    /// Requests whose answers have not come.
    expected: Vec<Expected>,
}

/// Somebody waits for the frame that has this value at this JSON pointer.
struct Expected {
    pointer: String,
    value: String,
    answer: oneshot::Sender<Frame>,
}

impl Expected {
    fn is(&self, frame: &Value) -> bool {
        match frame.pointer(&self.pointer) {
            Some(Value::String(text)) => *text == self.value,
            Some(Value::Number(number)) => number.to_string() == self.value,
            _ => false,
        }
    }
}

/// Something on its way.
struct Outgoing {
    what: ToPeer,
    /// Its places, until it is taken.
    _room: Option<OwnedSemaphorePermit>,
}

/// What the slot sends a connection's other side.
pub(crate) struct FromSlot {
    frames: mpsc::Receiver<Outgoing>,
    given_up: Arc<OnceLock<String>>,
}

impl FromSlot {
    /// The next thing; `None` when the slot is gone. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<ToPeer> {
        let next = self.frames.recv().await.map(|outgoing| outgoing.what);
        next.or_else(|| self.given_up.get().cloned().map(ToPeer::GivenUp))
    }

    /// What has been sent already and not been taken.
    pub(crate) fn sent(&mut self) -> Option<ToPeer> {
        self.frames.try_recv().ok().map(|outgoing| outgoing.what)
    }

    pub(crate) fn given_up(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.given_up)
    }
}

/// What an instance is told of a connection.
#[derive(Clone)]
pub(crate) struct ConnectionInfo {
    pub(crate) id: u64,
    pub(crate) listener: String,
    pub(crate) attested: Option<Principal>,
    pub(crate) meta: Meta,
    /// An earlier instance was told of it.
    pub(crate) resumed: bool,
}

impl Sockets {
    pub(crate) fn add(
        &self,
        capability: &'static str,
        listener: &str,
        attested: Option<Principal>,
        meta: Meta,
    ) -> (u64, FromSlot) {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (to_peer, frames) = mpsc::channel(OUTGOING);
        let about = ConnectionInfo { id, listener: listener.to_owned(), attested, meta, resumed: false };
        let given_up = Arc::default();
        let from_slot = FromSlot { frames, given_up: Arc::clone(&given_up) };
        let room = Arc::new(Semaphore::new(OUTGOING_KIB));
        let entry = Entry { about, capability, to_peer, room, given_up, told: 0, told_before: 0, expected: Vec::new() };
        lock(&self.open).insert(id, entry);
        (id, from_slot)
    }

    pub(crate) fn remove(&self, id: u64) {
        lock(&self.open).remove(&id);
    }

    /// Lets a connection go whose other side did not ask for it, and is told why.
    pub(crate) fn give_up(&self, id: u64, reason: &str) {
        if let Some(entry) = lock(&self.open).remove(&id) {
            // The first reason stands.
            let _ = entry.given_up.set(reason.to_owned());
        }
    }

    /// The same with all that a capability opened.
    pub(crate) fn give_up_all(&self, capability: &str, reason: &str) {
        lock(&self.open).retain(|_, entry| {
            let stays = entry.capability != capability;
            if !stays {
                let _ = entry.given_up.set(reason.to_owned());
            }
            stays
        });
    }

    pub(crate) fn ids(&self) -> Vec<u64> {
        lock(&self.open).keys().copied().collect()
    }

    /// The capability that using a connection takes.
    pub(crate) fn capability(&self, id: u64) -> Result<&'static str, CallError> {
        lock(&self.open).get(&id).map(|entry| entry.capability).ok_or_else(|| gone(id))
    }

    pub(crate) fn attested(&self, id: u64) -> Option<Principal> {
        lock(&self.open).get(&id)?.about.attested.clone()
    }

    /// The connection, if this generation has not been told of it yet; it counts as told from now on.
    pub(crate) fn tell(&self, id: u64, generation: u64) -> Option<ConnectionInfo> {
        let mut open = lock(&self.open);
        let entry = open.get_mut(&id).filter(|entry| entry.told < generation)?;
        let resumed = entry.told > 0;
        entry.told_before = std::mem::replace(&mut entry.told, generation);
        Some(ConnectionInfo { resumed, ..entry.about.clone() })
    }

    /// Takes back that a generation was told of connections: it does not serve after all, and the one before it does.
    pub(crate) fn untell(&self, generation: u64) {
        for entry in lock(&self.open).values_mut().filter(|entry| entry.told == generation) {
            entry.told = entry.told_before;
        }
    }

    pub(crate) async fn send(&self, id: u64, frame: Frame) -> Result<(), CallError> {
        let peer = lock(&self.open).get(&id).map(|entry| (entry.to_peer.clone(), Arc::clone(&entry.room)));
        let (to_peer, room) = peer.ok_or_else(|| gone(id))?;
        let length = match &frame {
            Frame::Text(text) => text.len(),
            Frame::Binary(bytes) => bytes.len(),
        };
        let kib = u32::try_from(length / 1024 + 1).unwrap_or(u32::MAX);
        let sent = async {
            let room = room.acquire_many_owned(kib).await.ok()?;
            to_peer.send(Outgoing { what: ToPeer::Frame(frame), _room: Some(room) }).await.ok()
        };
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(gone(id)),
            Err(_) => {
                // Waiting on would hold up everybody else whom the plugin serves.
                self.give_up(id, "what was sent here was not read in time");
                Err(CallError::Other(format!("connection {id} is closed: its other side does not read")))
            }
        }
    }

    /// Waits for the frame of a connection that has this value at this JSON pointer. Nothing comes when the connection
    /// goes before it.
    pub(crate) fn expect(
        &self,
        id: u64,
        pointer: String,
        value: String,
    ) -> Result<impl Future<Output = Option<Frame>> + Send + use<>, CallError> {
        if !pointer.starts_with('/') {
            return Err(CallError::Invalid(format!(
                "{pointer:?} is not a JSON pointer to a part: it begins with a slash"
            )));
        }
        let (answer, answered) = oneshot::channel();
        let mut open = lock(&self.open);
        let entry = open.get_mut(&id).ok_or_else(|| gone(id))?;
        entry.expected.retain(|expected| !expected.answer.is_closed());
        if entry.expected.iter().any(|expected| (&expected.pointer, &expected.value) == (&pointer, &value)) {
            return Err(CallError::Invalid(format!("somebody waits for {value:?} at {pointer} already")));
        }
        entry.expected.push(Expected { pointer, value, answer });
        Ok(async move { answered.await.ok() })
    }

    /// No answer will come any more: its other side is gone.
    pub(crate) fn expect_nothing(&self, id: u64) {
        if let Some(entry) = lock(&self.open).get_mut(&id) {
            entry.expected.clear();
        }
    }

    /// Hands a frame to whoever waits for it; it comes back where nobody does.
    pub(crate) fn answered(&self, id: u64, frame: Frame) -> Option<Frame> {
        let Frame::Text(text) = &frame else { return Some(frame) };
        if lock(&self.open).get(&id).is_none_or(|entry| entry.expected.is_empty()) {
            return Some(frame);
        }
        // Outside the lock: a frame may be long.
        let Ok(read) = serde_json::from_str::<Value>(text) else { return Some(frame) };
        let mut open = lock(&self.open);
        let Some(entry) = open.get_mut(&id) else { return Some(frame) };
        let Some(at) = entry.expected.iter().position(|expected| expected.is(&read)) else { return Some(frame) };
        // Who has given up waiting is not there for the frame, which is then like any other.
        entry.expected.swap_remove(at).answer.send(frame).err()
    }

    pub(crate) fn close(&self, id: u64, reason: String) -> Result<(), CallError> {
        let entry = lock(&self.open).remove(&id).ok_or_else(|| gone(id))?;
        // A full queue means a peer that does not read; dropping the sender closes the connection all the same.
        if entry.to_peer.try_send(Outgoing { what: ToPeer::Close(reason.clone()), _room: None }).is_err() {
            let _ = entry.given_up.set(reason);
        }
        Ok(())
    }

    pub(crate) fn close_all(&self) {
        lock(&self.open).clear();
    }
}

fn gone(id: u64) -> CallError {
    CallError::NotFound(format!("connection {id} is not open"))
}
