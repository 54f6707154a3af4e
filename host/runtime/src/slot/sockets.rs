//! The connections that the host holds for a slot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use homeagent_types::ports::{Frame, ToPeer};
use homeagent_types::{CallError, Meta, Principal};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

use super::core::lock;

/// Frames on the way to a peer that does not read; beyond it a sender waits.
const OUTGOING: usize = 256;

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
    to_peer: mpsc::Sender<ToPeer>,
    /// Why it was given up, for its other side.
    given_up: Arc<OnceLock<String>>,
    /// The generation that has been told of the connection.
    told: u64,
    /// The one that had been told before it.
    told_before: u64,
}

/// What the slot sends a connection's other side.
pub(crate) struct FromSlot {
    frames: mpsc::Receiver<ToPeer>,
    given_up: Arc<OnceLock<String>>,
}

impl FromSlot {
    /// The next thing; `None` when the slot is gone. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<ToPeer> {
        let next = self.frames.recv().await;
        next.or_else(|| self.given_up.get().cloned().map(ToPeer::GivenUp))
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
        lock(&self.open).insert(id, Entry { about, capability, to_peer, given_up, told: 0, told_before: 0 });
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

    pub(crate) fn ids(&self) -> Vec<u64> {
        lock(&self.open).keys().copied().collect()
    }

    /// The capability that using a connection takes.
    pub(crate) fn capability(&self, id: u64) -> &'static str {
        lock(&self.open).get(&id).map_or("listen", |entry| entry.capability)
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
        let to_peer = lock(&self.open).get(&id).map(|entry| entry.to_peer.clone());
        let to_peer = to_peer.ok_or_else(|| gone(id))?;
        match to_peer.send_timeout(ToPeer::Frame(frame), PATIENCE).await {
            Ok(()) => Ok(()),
            Err(SendTimeoutError::Closed(_)) => Err(gone(id)),
            Err(SendTimeoutError::Timeout(_)) => {
                // Waiting on would hold up everybody else whom the plugin serves.
                self.give_up(id, "what was sent here was not read in time");
                Err(CallError::Other(format!("connection {id} is closed: its other side does not read")))
            }
        }
    }

    pub(crate) fn close(&self, id: u64, reason: String) -> Result<(), CallError> {
        let entry = lock(&self.open).remove(&id).ok_or_else(|| gone(id))?;
        // A full queue means a peer that does not read; dropping the sender closes the connection all the same.
        if entry.to_peer.try_send(ToPeer::Close(reason.clone())).is_err() {
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
