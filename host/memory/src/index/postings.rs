//! Which passages hold a term: read from the full-text index, and kept in memory while there is room.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::fed::mark;
use super::{Columns, Slot};

/// How many entries are kept in all: 16 MB of them.
const ROOM: usize = 4 * 1024 * 1024;

/// So many lists are kept at most.
const LISTS: NonZeroUsize = NonZeroUsize::new(16 * 1024).expect("not zero");

/// A term that more passages hold is common. Reading so many takes some milliseconds.
const COMMON: usize = 16 * 1024;

/// A passage in a term's list.
#[derive(Clone, Copy)]
pub(crate) struct Holds(u32);

impl Holds {
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
pub(crate) type Posting = Arc<Vec<Holds>>;

/// The lists that were asked for lately.
pub(crate) struct PostingLists {
    kept: Mutex<Kept>,
    /// See [`COMMON`].
    common: usize,
}

struct Kept {
    lists: LruCache<String, Held>,
    entries: usize,
}

/// What is known of a term.
enum Held {
    List(Posting),
    /// Only that it is common.
    Common,
}

impl Held {
    fn entries(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Common => 0,
        }
    }
}

impl PostingLists {
    pub(super) fn new() -> Self {
        Self::with_common(COMMON)
    }

    /// Where terms that more than so many passages hold are common.
    pub(crate) fn with_common(common: usize) -> Self {
        Self { kept: Mutex::new(Kept { lists: LruCache::new(LISTS), entries: 0 }), common }
    }

    /// The passages that hold `term`, as far as `columns` know them.
    pub(crate) fn of(&self, term: &str, columns: &Columns, connection: &Connection) -> rusqlite::Result<Posting> {
        if let Some(Held::List(list)) = self.lock().lists.get(term) {
            return Ok(Arc::clone(list));
        }
        let (slots, _) = read(term, columns, connection, None)?;
        self.keep(term, slots, columns, connection)
    }

    /// The same for a term that is not common; none for one that is, without reading all of its list.
    pub(crate) fn rare(
        &self,
        term: &str,
        columns: &Columns,
        connection: &Connection,
    ) -> rusqlite::Result<Option<Posting>> {
        match self.lock().lists.get(term) {
            Some(Held::List(list)) => return Ok((list.len() <= self.common).then(|| Arc::clone(list))),
            Some(Held::Common) => return Ok(None),
            None => {}
        }
        let (slots, rows) = read(term, columns, connection, Some(self.common + 1))?;
        if rows > self.common {
            self.lock().keep(term, Held::Common);
            return Ok(None);
        }
        self.keep(term, slots, columns, connection).map(Some)
    }

    fn keep(
        &self,
        term: &str,
        slots: Vec<Slot>,
        columns: &Columns,
        connection: &Connection,
    ) -> rusqlite::Result<Posting> {
        let repeated: FxHashSet<Slot> = read(&mark(term), columns, connection, None)?.0.into_iter().collect();
        let list = slots.into_iter().map(|slot| Holds::new(slot, repeated.contains(&slot)));
        let list: Posting = Arc::new(list.collect());
        // The caller holds the columns: a passage that comes meanwhile is added to this list when they are let go.
        if list.len() <= ROOM / 4 {
            self.lock().keep(term, Held::List(Arc::clone(&list)));
        }
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
            let Some(Held::List(list)) = kept.lists.peek_mut(term.as_str()) else { continue };
            if list.last().is_none_or(|last| last.slot() < slot) {
                Arc::make_mut(list).push(Holds::new(slot, *repeated));
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
    fn keep(&mut self, term: &str, held: Held) {
        self.entries += held.entries();
        if let Some((_, old)) = self.lists.push(term.to_owned(), held) {
            self.entries -= old.entries().min(self.entries);
        }
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.entries > ROOM {
            let Some((_, old)) = self.lists.pop_lru() else { break };
            self.entries -= old.entries().min(self.entries);
        }
    }
}

/// The passages under a term as far as `columns` know them, and how many the index names: at most `limit`.
fn read(
    term: &str,
    columns: &Columns,
    connection: &Connection,
    limit: Option<usize>,
) -> rusqlite::Result<(Vec<Slot>, usize)> {
    let mut statement = connection.prepare_cached("SELECT doc FROM passage_vocabulary WHERE term = ?1 LIMIT ?2")?;
    let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
    let mut rows = statement.query(params![term, limit])?;
    let (mut slots, mut count) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        slots.extend(columns.slot_once(row.get(0)?));
        count += 1;
    }
    Ok((slots, count))
}
