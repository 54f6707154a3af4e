//! What ranking asks of each passage, in memory: a few dozen bytes a passage, whatever its text.

use std::collections::{BTreeSet, HashMap};

use homeagent_language::text::time::TimeRange;
use homeagent_types::{Audience, Viewer};
use rusqlite::{Connection, Row};

use super::PassageKind;
use super::names::Names;

/// Where a passage stands in the columns. It stays the same while the program runs.
pub(crate) type Slot = u32;

/// One passage's row in the columns.
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

/// The passages, in the order of their ids. One that was removed keeps its slot, and its kind is 0.
#[derive(Default)]
pub(crate) struct Columns {
    entries: Vec<Entry>,
    /// Each conversation's passages in the order of their positions.
    conversations: HashMap<u32, Vec<Slot>>,
    /// The passage's place in its conversation.
    places: Vec<u32>,
    speakers: BTreeSet<u32>,
    /// How many passages each audience has of each kind.
    counts: HashMap<(u32, u8), usize>,
    /// The number of all terms.
    terms: u64,
    /// The number of terms of each session.
    sessions: HashMap<u32, u64>,
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
        let slot = self.entries.len() as Slot;
        let order = self.conversations.entry(entry.conversation).or_default();
        let entries = &self.entries;
        let position = |slot: &Slot| entries.get(*slot as usize).map_or(i64::MAX, |entry| entry.position);
        // Nearly always the last.
        let place = match order.last() {
            Some(last) if position(last) > entry.position => order.partition_point(|at| position(at) <= entry.position),
            _ => order.len(),
        };
        order.insert(place, slot);
        self.places.push(place as u32);
        for (place, moved) in order.iter().enumerate().skip(place + 1) {
            if let Some(at) = self.places.get_mut(*moved as usize) {
                *at = place as u32;
            }
        }
        *self.sessions.entry(entry.session).or_default() += u64::from(entry.length);
        self.speakers.insert(entry.speaker);
        self.terms += u64::from(entry.length);
        *self.counts.entry((entry.audience, entry.kind)).or_default() += 1;
        self.entries.push(entry);
    }

    /// Takes a passage out; its neighbours become each other's.
    pub(super) fn remove(&mut self, id: i64) {
        let Some(slot) = self.slot(id) else { return };
        let Some(entry) = self.entries.get_mut(slot as usize) else { return };
        let removed = std::mem::replace(&mut entry.kind, 0);
        let entry = *entry;
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
        self.entries.len()
    }

    /// The slot of a passage that is there.
    pub(crate) fn slot(&self, id: i64) -> Option<Slot> {
        // Without gaps in the ids it is found at once.
        let first = self.entries.first()?.id;
        let guess = usize::try_from(id.checked_sub(first)?).ok()?;
        let at = match self.entries.get(guess) {
            Some(entry) if entry.id == id => guess,
            _ => {
                let within = self.entries.get(..guess.min(self.entries.len()))?;
                within.binary_search_by_key(&id, |entry| entry.id).ok()?
            }
        };
        self.entries.get(at).filter(|entry| entry.kind != 0).map(|_| at as Slot)
    }

    pub(crate) fn entry(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(slot as usize).filter(|entry| entry.kind != 0)
    }

    /// The passage `distance` places after this one in its conversation, or before it.
    pub(crate) fn neighbour(&self, slot: Slot, distance: i64) -> Option<Slot> {
        let entry = self.entry(slot)?;
        let place = i64::from(*self.places.get(slot as usize)?) + distance;
        self.conversations.get(&entry.conversation)?.get(usize::try_from(place).ok()?).copied()
    }

    /// The last passages, at most `limit`, that were said within one of some times.
    pub(crate) fn said_within(&self, times: &[TimeRange], filter: &Filter, limit: usize) -> Vec<Slot> {
        let within = |entry: &Entry| times.iter().any(|time| (time.from_ms..time.to_ms).contains(&entry.at_ms));
        let newest = self.entries.iter().enumerate().rev();
        let seen = newest.filter(|(_, entry)| entry.kind != 0 && within(entry) && filter.allows(entry));
        seen.map(|(slot, _)| slot as Slot).take(limit).collect()
    }

    /// The id of the passage right before this one, in the same session and for the same readers.
    pub(crate) fn before(&self, slot: Slot) -> Option<i64> {
        let (entry, before) = (self.entry(slot)?, self.entry(self.neighbour(slot, -1)?)?);
        (entry.session == before.session && entry.audience == before.audience).then_some(before.id)
    }

    /// How many terms a session has.
    pub(crate) fn session_length(&self, session: u32) -> u64 {
        self.sessions.get(&session).copied().unwrap_or_default()
    }

    /// How many sessions there are, and their mean length in terms.
    pub(crate) fn sessions(&self) -> (usize, f32) {
        let all: u64 = self.sessions.values().sum();
        (self.sessions.len(), all as f32 / self.sessions.len().max(1) as f32)
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

/// Which passages a question may be answered with. What it lets through is all that ranking ever looks at.
pub(crate) struct Filter {
    /// By the number of the audience; nothing where all may be seen.
    audiences: Option<Vec<bool>>,
    kinds: [bool; 8],
    conversation: Option<u32>,
}

impl Filter {
    /// What `viewer` may see of `kinds` (all where there are none), in one conversation where one is named.
    pub(crate) fn new(columns: &Columns, viewer: &Viewer, kinds: &[PassageKind], conversation: Option<&str>) -> Self {
        let audiences = match viewer {
            Viewer::Everything => None,
            Viewer::Only(audiences) => {
                let visible = audiences.iter().filter(|audience| viewer.may_see(audience));
                Some(bitmap(visible.filter_map(|audience: &Audience| columns.name_id(&audience.to_string()))))
            }
        };
        let all = if kinds.is_empty() { &PassageKind::ALL } else { kinds };
        let mut kinds = [false; 8];
        for kind in all {
            if let Some(allowed) = kinds.get_mut(usize::from(kind.code())) {
                *allowed = true;
            }
        }
        // A conversation of which there is nothing has a number that no passage has.
        let conversation = conversation.map(|name| columns.name_id(name).unwrap_or(u32::MAX));
        Self { audiences, kinds, conversation }
    }

    /// How many passages it lets through; with a conversation, how many that has.
    pub(crate) fn count(&self, columns: &Columns) -> usize {
        if let Some(conversation) = self.conversation {
            return columns.conversation(conversation).len();
        }
        let counted = columns.counts.iter().filter(|((audience, kind), _)| self.shows(*audience, *kind));
        counted.map(|(_, count)| count).sum()
    }

    pub(crate) fn allows(&self, entry: &Entry) -> bool {
        let here = self.conversation.is_none_or(|conversation| conversation == entry.conversation);
        here && self.shows(entry.audience, entry.kind)
    }

    fn shows(&self, audience: u32, kind: u8) -> bool {
        let seen = self.audiences.as_ref().is_none_or(|seen| seen.get(audience as usize) == Some(&true));
        seen && self.kinds.get(usize::from(kind)) == Some(&true)
    }
}

fn bitmap(ids: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut bitmap = Vec::new();
    for id in ids {
        let id = id as usize;
        if bitmap.len() <= id {
            bitmap.resize(id + 1, false);
        }
        if let Some(bit) = bitmap.get_mut(id) {
            *bit = true;
        }
    }
    bitmap
}
