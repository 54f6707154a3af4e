//! Messages that wait until all of them can be read.
//!
//! They wait in the order in which they were said, each conversation for itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::event::Message;
use crate::fetch::{self, Fetched};
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

    fn weight(&self) -> usize {
        let to_come = |lookup: &&Lookup| match lookup {
            Lookup::Picture { url, .. } => self.open > 0 && !self.facts.pictures.contains_key(url),
            Lookup::Image(file) => self.open > 0 && !self.facts.files.contains_key(file),
            _ => false,
        };
        let to_come = self.asked.iter().filter(to_come).count() * fetch::LARGEST;
        to_come + self.facts.pictures.values().map(Fetched::weight).sum::<usize>()
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

    /// How many bytes of pictures are held for messages that wait, where each that is still to come is as large as one may
    /// be.
    pub(crate) fn weight(&self) -> usize {
        self.lanes.values().flatten().map(Draft::weight).sum()
    }

    /// Whether a picture is still wanted: its message waits, and has not waited too long.
    pub(crate) fn wants_picture(&self, number: u64, now: u64) -> bool {
        let draft = self.lanes.values().flatten().find(|draft| draft.number == number);
        draft.is_some_and(|draft| draft.open > 0 && now.saturating_sub(draft.since) <= PATIENCE)
    }

    /// Lets those go on as they are that have waited longer than anything they asked for may take.
    pub(crate) fn give_up(&mut self, now: u64) {
        let is_late = |draft: &&mut Draft| now.saturating_sub(draft.since) > PATIENCE + LOOKUP_TIME.max(fetch::TIME);
        self.lanes.values_mut().flatten().filter(is_late).for_each(|draft| draft.open = 0);
    }

    /// All that wait, in the order in which they came, with their frames.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&Message, &Value)> {
        let mut drafts: Vec<&Draft> = self.lanes.values().flatten().collect();
        drafts.sort_by_key(|draft| draft.number);
        drafts.into_iter().map(|draft| (&draft.message, &draft.frame))
    }

    /// The frames of all that wait.
    pub(crate) fn frames(&self) -> Vec<Value> {
        self.waiting().map(|(_, frame)| frame.clone()).collect()
    }
}
