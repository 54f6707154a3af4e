//! What is kept, how large it is, and when it was used last.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_types::Timestamp;

use crate::{Address, Error};

/// What is known of a medium without its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bytes: u64,
    pub(crate) used_at: Timestamp,
    /// How many hold it.
    pub(crate) holders: usize,
    /// Tells it from one of the same address that was removed before.
    number: u64,
}

#[derive(Default)]
struct Entries {
    kept: HashMap<Address, Entry>,
    /// The bytes of all together.
    total: u64,
    /// How many have come so far.
    come: u64,
}

/// All that is kept. Its lock is held for a look, never while the disk works.
#[derive(Clone, Default)]
pub(crate) struct Index(Arc<Mutex<Entries>>);

/// Keeps a medium from going while this lives; whoever removes it by hand is not kept from that.
pub struct Hold {
    index: Index,
    address: Address,
    number: u64,
}

impl Hold {
    /// What is held.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hold({})", self.address)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut entries = self.index.entries();
        // One that was removed and has come again is another: this holds nothing of it.
        if let Some(entry) = entries.kept.get_mut(&self.address).filter(|entry| entry.number == self.number) {
            entry.holders -= 1;
        }
    }
}

impl Index {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All, those used last first.
    pub(crate) fn all(&self) -> Vec<(Address, Entry)> {
        let mut all: Vec<_> = self.entries().kept.iter().map(|(address, entry)| (*address, *entry)).collect();
        all.sort_by(|a, b| b.1.used_at.cmp(&a.1.used_at).then(a.0.cmp(&b.0)));
        all
    }

    /// The one whose address begins so.
    pub(crate) fn beginning_with(&self, digits: &str) -> Result<Address, Error> {
        let entries = self.entries();
        let mut found = entries.kept.keys().filter(|address| address.to_string().starts_with(digits));
        match (found.next(), found.next()) {
            (Some(address), None) => Ok(*address),
            (None, _) => Err(Error::Missing),
            (Some(_), Some(_)) => Err(Error::Ambiguous),
        }
    }

    /// Notes one that is there. Those who hold it already go on.
    pub(crate) fn insert(&self, address: Address, bytes: u64, used_at: Timestamp) {
        let mut entries = self.entries();
        entries.come += 1;
        let number = entries.come;
        let entry = entries.kept.entry(address).or_insert(Entry { bytes: 0, used_at, holders: 0, number });
        let before = std::mem::replace(&mut entry.bytes, bytes);
        entry.used_at = used_at;
        entries.total = entries.total - before + bytes;
    }

    /// Notes that it was used, and holds it.
    pub(crate) fn hold(&self, address: Address, now: Timestamp) -> Option<Hold> {
        let mut entries = self.entries();
        let entry = entries.kept.get_mut(&address)?;
        entry.used_at = entry.used_at.max(now);
        entry.holders += 1;
        let number = entry.number;
        drop(entries);
        Some(Hold { index: self.clone(), address, number })
    }

    pub(crate) fn remove(&self, address: &Address) -> bool {
        let mut entries = self.entries();
        let removed = entries.kept.remove(address);
        entries.total -= removed.map_or(0, |entry| entry.bytes);
        removed.is_some()
    }

    /// Takes out what nobody has used for `keep`, and then what was used longest ago until `room` more bytes fit into
    /// `most`. What is held stays. Returns what is out.
    ///
    /// # Errors
    ///
    /// Even without all that is not held there would not be room enough. Nothing but what is too old is out then.
    pub(crate) fn make_room(
        &self,
        room: u64,
        most: u64,
        keep: Duration,
        now: Timestamp,
    ) -> (Vec<Address>, Result<(), Error>) {
        let mut entries = self.entries();
        let oldest = now.saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        let mut free: Vec<(Timestamp, Address, u64)> = entries
            .kept
            .iter()
            .filter(|(_, entry)| entry.holders == 0)
            .map(|(address, entry)| (entry.used_at, *address, entry.bytes))
            .collect();
        free.sort_unstable();
        let held: u64 = entries.total - free.iter().map(|(_, _, bytes)| bytes).sum::<u64>();
        let fits = held.saturating_add(room) <= most;
        let mut out = Vec::new();
        for (used_at, address, bytes) in free {
            let is_old = used_at < oldest;
            // Where nothing new is wanted, what can go goes even if that is not enough.
            let is_in_the_way = (fits || room == 0) && entries.total.saturating_add(room) > most;
            if is_old || is_in_the_way {
                entries.kept.remove(&address);
                entries.total -= bytes;
                out.push(address);
            }
        }
        (out, if fits { Ok(()) } else { Err(Error::Full) })
    }

    /// How many there are, and their bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        let entries = self.entries();
        (entries.kept.len(), entries.total)
    }
}
