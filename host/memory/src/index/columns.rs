//! What ranking asks of each passage, in memory: a few dozen bytes a passage, whatever its text.

use std::collections::BTreeSet;

use homeagent_language::text::time::TimeRange;
use rusqlite::{Connection, Row};
use rustc_hash::FxHashMap;

use super::Filter;
use super::ids::Ids;
use super::names::Names;

/// Where a passage stands in the columns. It stays the same while the program runs.
pub(crate) type Slot = u32;

/// One passage's row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) id: i64,
    pub(crate) kind: u8,
    pub(crate) conversation: u32,
    pub(crate) session: u32,
    pub(crate) speaker: u32,
    pub(crate) audience: u32,
    pub(crate) position: i64,
    pub(crate) at_ms: i64,
    pub(crate) length: u16,
}

impl Entry {
    pub(super) const COLUMNS: &str = "id, kind, conversation, session, speaker, audience, position, at_ms, length";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            kind: row.get(1)?,
            conversation: row.get(2)?,
            session: row.get(3)?,
            speaker: row.get(4)?,
            audience: row.get(5)?,
            position: row.get(6)?,
            at_ms: row.get(7)?,
            length: row.get(8)?,
        })
    }
}

/// What filtering and ranking by words ask of a passage. It is small, so that what is asked of a hundred thousand passages
/// is read from memory quickly. The kind of one that was removed is 0.
pub(crate) struct Head {
    pub(crate) conversation: u32,
    pub(crate) session: u32,
    pub(crate) audience: u32,
    pub(crate) length: u16,
    pub(crate) kind: u8,
}

/// What is asked only of what was found.
struct Rest {
    position: i64,
    at_ms: i64,
    speaker: u32,
}

/// So many passages have their earliest and latest time kept.
const STRETCH: usize = 1024;

/// The passages, in the order of their ids. One that was removed keeps its slot.
#[derive(Default)]
pub(crate) struct Columns {
    ids: Ids,
    heads: Vec<Head>,
    rest: Vec<Rest>,
    /// The earliest and the latest time of each [`STRETCH`] passages.
    times: Vec<(i64, i64)>,
    /// Each conversation's passages in the order of their positions.
    conversations: FxHashMap<u32, Vec<Slot>>,
    /// The passage's place in its conversation.
    places: Vec<u32>,
    speakers: BTreeSet<u32>,
    /// How many passages each audience has of each kind.
    pub(super) counts: FxHashMap<(u32, u8), usize>,
    /// The number of all terms.
    terms: u64,
    /// The number of terms of each session.
    sessions: FxHashMap<u32, u64>,
    pub(super) names: Names,
}

impl Columns {
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut columns = Self { names: Names::load(connection)?, ..Self::default() };
        let sql = format!("SELECT {} FROM passages ORDER BY id", Entry::COLUMNS);
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            columns.push(Entry::read(row)?);
        }
        Ok(columns)
    }

    /// Adds a passage whose id is higher than all there are.
    pub(super) fn push(&mut self, entry: Entry) {
        let Entry { id, kind, conversation, session, speaker, audience, position, at_ms, length } = entry;
        let slot = self.ids.push(id);
        let order = self.conversations.entry(conversation).or_default();
        let rest = &self.rest;
        let position_of = |slot: &Slot| rest.get(*slot as usize).map_or(i64::MAX, |rest| rest.position);
        // Nearly always the last.
        let place = match order.last() {
            Some(last) if position_of(last) > position => order.partition_point(|at| position_of(at) <= position),
            _ => order.len(),
        };
        order.insert(place, slot);
        self.places.push(place as u32);
        for (place, moved) in order.iter().enumerate().skip(place + 1) {
            if let Some(at) = self.places.get_mut(*moved as usize) {
                *at = place as u32;
            }
        }
        *self.sessions.entry(session).or_default() += u64::from(length);
        self.speakers.insert(speaker);
        self.terms += u64::from(length);
        *self.counts.entry((audience, kind)).or_default() += 1;
        self.heads.push(Head { conversation, session, audience, length, kind });
        self.rest.push(Rest { position, at_ms, speaker });
        match self.times.get_mut(slot as usize / STRETCH) {
            Some((first, last)) => (*first, *last) = (at_ms.min(*first), at_ms.max(*last)),
            None => self.times.push((at_ms, at_ms)),
        }
    }

    /// Takes a passage out; its neighbours become each other's.
    pub(super) fn remove(&mut self, id: i64) {
        let Some(slot) = self.slot(id) else { return };
        let Some(entry) = self.heads.get_mut(slot as usize) else { return };
        let removed = std::mem::replace(&mut entry.kind, 0);
        self.terms = self.terms.saturating_sub(u64::from(entry.length));
        if let Some(count) = self.counts.get_mut(&(entry.audience, removed)) {
            *count = count.saturating_sub(1);
        }
        if let Some(length) = self.sessions.get_mut(&entry.session) {
            *length = length.saturating_sub(u64::from(entry.length));
        }
        let Some(order) = self.conversations.get_mut(&entry.conversation) else { return };
        let place = self.places.get(slot as usize).map_or(usize::MAX, |place| *place as usize);
        if order.get(place) != Some(&slot) {
            return;
        }
        order.remove(place);
        for (place, moved) in order.iter().enumerate().skip(place) {
            if let Some(at) = self.places.get_mut(*moved as usize) {
                *at = place as u32;
            }
        }
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The slot of a passage that is there.
    pub(crate) fn slot(&self, id: i64) -> Option<Slot> {
        self.ids.slot(id).filter(|slot| self.entry(*slot).is_some())
    }

    /// The slot that a passage has or had, which is known without looking at the passage.
    pub(super) fn slot_once(&self, id: i64) -> Option<Slot> {
        self.ids.slot(id)
    }

    pub(crate) fn id(&self, slot: Slot) -> Option<i64> {
        self.ids.id(slot)
    }

    pub(crate) fn entry(&self, slot: Slot) -> Option<&Head> {
        self.heads.get(slot as usize).filter(|entry| entry.kind != 0)
    }

    /// When a passage was said, in milliseconds since 1970 UTC.
    pub(crate) fn at_ms(&self, slot: Slot) -> Option<i64> {
        self.rest.get(slot as usize).map(|rest| rest.at_ms)
    }

    pub(crate) fn speaker(&self, slot: Slot) -> Option<u32> {
        self.rest.get(slot as usize).map(|rest| rest.speaker)
    }

    /// The passage `distance` places after this one in its conversation, or before it.
    pub(crate) fn neighbour(&self, slot: Slot, distance: i64) -> Option<Slot> {
        let entry = self.entry(slot)?;
        let place = i64::from(*self.places.get(slot as usize)?) + distance;
        self.conversations.get(&entry.conversation)?.get(usize::try_from(place).ok()?).copied()
    }

    /// The last passages, at most `limit`, that were said within one of some times.
    pub(crate) fn said_within(&self, times: &[TimeRange], filter: &Filter, limit: usize) -> Vec<Slot> {
        let within = |rest: &Rest| times.iter().any(|time| (time.from_ms..time.to_ms).contains(&rest.at_ms));
        let stretches = self.times.iter().zip(self.heads.chunks(STRETCH).zip(self.rest.chunks(STRETCH))).enumerate();
        let overlap = stretches
            .rev()
            .filter(|(_, ((first, last), _))| times.iter().any(|time| time.from_ms <= *last && *first < time.to_ms));
        let seen = overlap.flat_map(|(number, (_, (heads, rest)))| {
            let newest = heads.iter().zip(rest).enumerate().rev();
            let seen = newest.filter(|(_, (head, rest))| head.kind != 0 && within(rest) && filter.allows(head));
            seen.map(move |(at, _)| (number * STRETCH + at) as Slot)
        });
        seen.take(limit).collect()
    }

    /// The id of the passage right before this one, in the same session and for the same readers.
    pub(crate) fn before(&self, slot: Slot) -> Option<i64> {
        let before = self.neighbour(slot, -1)?;
        let (entry, other) = (self.entry(slot)?, self.entry(before)?);
        (entry.session == other.session && entry.audience == other.audience).then(|| self.id(before)).flatten()
    }

    /// How many terms a session has.
    pub(crate) fn session_length(&self, session: u32) -> u64 {
        self.sessions.get(&session).copied().unwrap_or_default()
    }

    /// How many sessions there are, and their mean length in terms.
    pub(crate) fn sessions(&self) -> (usize, f32) {
        (self.sessions.len(), self.terms as f32 / self.sessions.len().max(1) as f32)
    }

    /// The mean number of a passage's terms.
    pub(crate) fn mean_length(&self) -> f32 {
        self.terms as f32 / self.counts.values().sum::<usize>().max(1) as f32
    }

    /// The passages of a conversation in their order.
    pub(crate) fn conversation(&self, conversation: u32) -> &[Slot] {
        self.conversations.get(&conversation).map_or(&[], Vec::as_slice)
    }

    /// The number of a name.
    pub(crate) fn name_id(&self, name: &str) -> Option<u32> {
        self.names.id(name)
    }

    /// The speakers of whom there are passages, each with their name.
    pub(crate) fn speakers(&self) -> impl Iterator<Item = (u32, &str)> {
        self.speakers.iter().map(|id| (*id, self.names.name(*id))).filter(|(_, name)| !name.is_empty())
    }
}
