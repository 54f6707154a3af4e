//! Which passages hold a term: read from the full-text index, and kept in memory while there is room.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use rusqlite::Connection;

use super::fed::mark;
use super::{Columns, Slot};

/// How many entries are kept in all: 16 MB of them.
const ROOM: usize = 4 * 1024 * 1024;

/// So many lists are kept at most.
const LISTS: NonZeroUsize = NonZeroUsize::new(16 * 1024).expect("not zero");

/// A passage in a term's list.
#[derive(Clone, Copy)]
pub(crate) struct Entry(u32);

impl Entry {
    fn new(slot: Slot, repeated: bool) -> Self {
        Self(slot << 1 | u32::from(repeated))
    }

    /// The passage. It may have been removed meanwhile.
    pub(crate) fn slot(self) -> Slot {
        self.0 >> 1
    }

    /// How often it holds the term: once, or more than once, which counts as twice.
    pub(crate) fn count(self) -> f32 {
        if self.0 & 1 == 1 { 2.0 } else { 1.0 }
    }
}

/// A term's passages, ascending.
pub(crate) type Posting = Arc<Vec<Entry>>;

/// The lists that were asked for lately.
pub(crate) struct PostingLists {
    kept: Mutex<Kept>,
}

struct Kept {
    lists: LruCache<String, Posting>,
    entries: usize,
}

impl PostingLists {
    pub(super) fn new() -> Self {
        Self { kept: Mutex::new(Kept { lists: LruCache::new(LISTS), entries: 0 }) }
    }

    /// The passages that hold `term`, as far as `columns` know them.
    pub(crate) fn of(&self, term: &str, columns: &Columns, connection: &Connection) -> rusqlite::Result<Posting> {
        if let Some(list) = self.lock().lists.get(term) {
            return Ok(Arc::clone(list));
        }
        let slots = read(term, columns, connection)?;
        let repeated: HashSet<Slot> = read(&mark(term), columns, connection)?.into_iter().collect();
        let list = Arc::new(slots.into_iter().map(|slot| Entry::new(slot, repeated.contains(&slot))).collect());
        // The caller holds the columns: a passage that comes meanwhile is added to this list when they are let go.
        self.lock().keep(term, &list);
        Ok(list)
    }

    /// Forgets the lists: they are read again.
    pub(super) fn clear(&self) {
        let mut kept = self.lock();
        kept.lists.clear();
        kept.entries = 0;
    }

    /// Adds a passage to the lists that are kept.
    pub(super) fn add(&self, slot: Slot, terms: &[(String, bool)]) {
        let mut kept = self.lock();
        for (term, repeated) in terms {
            let Some(list) = kept.lists.peek_mut(term.as_str()) else { continue };
            if list.last().is_none_or(|last| last.slot() < slot) {
                Arc::make_mut(list).push(Entry::new(slot, *repeated));
                kept.entries += 1;
            }
        }
        kept.shrink();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn keep(&mut self, term: &str, list: &Posting) {
        if list.len() > ROOM / 4 {
            return;
        }
        if let Some((_, old)) = self.lists.push(term.to_owned(), Arc::clone(list)) {
            self.entries -= old.len().min(self.entries);
        }
        self.entries += list.len();
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.entries > ROOM {
            let Some((_, old)) = self.lists.pop_lru() else { break };
            self.entries -= old.len().min(self.entries);
        }
    }
}

fn read(term: &str, columns: &Columns, connection: &Connection) -> rusqlite::Result<Vec<Slot>> {
    let mut statement = connection.prepare_cached("SELECT doc FROM passage_vocabulary WHERE term = ?1")?;
    let mut rows = statement.query([term])?;
    let mut slots = Vec::new();
    while let Some(row) = rows.next()? {
        slots.extend(columns.slot(row.get(0)?));
    }
    Ok(slots)
}
