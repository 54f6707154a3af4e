//! Messages that wait until all of them can be read.
//!
//! They wait in the order in which they were said, each conversation for itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::event::Message;
use crate::fetch::Fetched;
use crate::group::Addressed;
use crate::lookup::{Facts, Lookup};

/// How long a client has for one look-up, in milliseconds.
pub(crate) const LOOKUP_TIME: u64 = 5_000;

/// After this time nothing further is looked up for a message, in milliseconds.
pub(crate) const PATIENCE: u64 = 8_000;

/// Look-ups for one message.
const MOST_LOOKUPS: usize = 16;

/// Messages of one conversation that wait; beyond, the first goes on as it is.
const MOST_WAITING: usize = 32;

/// Messages of all conversations that wait; beyond, the one that came first goes on as it is.
const MOST_IN_ALL: usize = 256;

/// A message that waits.
#[derive(Debug)]
pub(crate) struct Draft {
    number: u64,
    pub(crate) message: Message,
    /// As it came, for an instance that has to begin anew with it.
    pub(crate) frame: Value,
    pub(crate) facts: Facts,
    pub(crate) addressed: Addressed,
    /// When it came, in milliseconds.
    pub(crate) since: u64,
    asked: BTreeSet<Lookup>,
    /// Look-ups without an answer.
    open: usize,
}

/// All messages that wait, by account and conversation.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    lanes: BTreeMap<String, VecDeque<Draft>>,
    next: u64,
}

impl Draft {
    /// A message for which nothing has been looked up.
    pub(crate) fn new(message: Message, frame: Value, addressed: Addressed, since: u64) -> Self {
        let (facts, asked) = (Facts::default(), BTreeSet::new());
        Self { number: 0, message, frame, facts, addressed, since, asked, open: 0 }
    }

    fn lane(&self) -> String {
        format!("{}/{}", self.message.self_id, self.message.place.name())
    }

    /// Of what is wanted, that which has not been asked for.
    fn unasked(&mut self, wanted: BTreeSet<Lookup>) -> Vec<Lookup> {
        let room = MOST_LOOKUPS.saturating_sub(self.asked.len());
        let fresh: Vec<Lookup> = wanted.into_iter().filter(|it| !self.asked.contains(it)).take(room).collect();
        self.asked.extend(fresh.iter().cloned());
        fresh
    }
}

impl Drafts {
    /// Lets a message wait behind those of its conversation; what it is known by.
    pub(crate) fn push(&mut self, mut draft: Draft) -> u64 {
        self.next += 1;
        draft.number = self.next;
        let lane = self.lanes.entry(draft.lane()).or_default();
        lane.push_back(draft);
        if lane.len() > MOST_WAITING
            && let Some(first) = lane.front_mut()
        {
            first.open = 0;
        }
        if self.lanes.values().map(VecDeque::len).sum::<usize>() > MOST_IN_ALL
            && let Some(first) = self.lanes.values_mut().filter_map(VecDeque::front_mut).min_by_key(|it| it.number)
        {
            first.open = 0;
        }
        self.next
    }

    /// A message that waits.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Draft> {
        self.lanes.values_mut().flatten().find(|draft| draft.number == number)
    }

    /// What is to be asked for a message of what is wanted; it then waits for that many answers more.
    pub(crate) fn ask(&mut self, number: u64, wanted: BTreeSet<Lookup>) -> Vec<Lookup> {
        let Some(draft) = self.get_mut(number) else { return Vec::new() };
        let lookups = draft.unasked(wanted);
        draft.open += lookups.len();
        lookups
    }

    /// An answer, or that there will be none. True: it was the last that the message waited for.
    pub(crate) fn answered(&mut self, number: u64, learn: impl FnOnce(&mut Facts)) -> bool {
        let Some(draft) = self.get_mut(number) else { return false };
        learn(&mut draft.facts);
        draft.open = draft.open.saturating_sub(1);
        draft.open == 0
    }

    /// The messages that need not wait any more, in order.
    pub(crate) fn ready(&mut self) -> Vec<Draft> {
        let mut ready = Vec::new();
        for lane in self.lanes.values_mut() {
            while let Some(draft) = lane.pop_front_if(|draft| draft.open == 0) {
                ready.push(draft);
            }
        }
        self.lanes.retain(|_, lane| !lane.is_empty());
        ready
    }

    /// How many bytes of pictures are held for messages that wait.
    pub(crate) fn weight(&self) -> usize {
        self.lanes.values().flatten().flat_map(|draft| draft.facts.pictures.values()).map(Fetched::weight).sum()
    }

    /// The frames of all that wait.
    pub(crate) fn frames(&self) -> Vec<Value> {
        let mut drafts: Vec<&Draft> = self.lanes.values().flatten().collect();
        drafts.sort_by_key(|draft| draft.number);
        drafts.iter().map(|draft| draft.frame.clone()).collect()
    }
}
