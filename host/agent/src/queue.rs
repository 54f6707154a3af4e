//! Inputs that wait for a turn: one lane for each conversation, and the choice of the next.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use homeagent_types::{Input, Payload, Principal, Role};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::commands;
use crate::config::Pace;
use crate::errands;
use crate::rights::{FORWARDED, is_forwarded};
use crate::watch::Watcher;

/// Messages that are answered together, at most.
const MOST_MERGED: usize = 32;

/// A person who goes on typing is waited for at most this many times the merging time.
const MOST_PATIENCE: u32 = 4;

/// How long a batch waits whose turn could not begin: at first, and at most.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// An input that is in the journal and waits.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) input: Input,
    /// Who waits for the result.
    pub(crate) watcher: Option<Watcher>,
    /// Its place in its channel's queue; free again when this is dropped. Recovered inputs have none.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    pub(crate) arrived: Instant,
    /// Its channel wants quick messages to be waited for.
    pub(crate) patient: bool,
    /// May start a turn although all places are taken.
    pub(crate) urgent: bool,
    /// Has a turn of its own: a crash gave it back, and if it is what the daemon died of, it takes no other along.
    pub(crate) alone: bool,
}

/// Inputs of one conversation that one turn takes.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) conversation: String,
    /// Not empty; oldest first.
    pub(crate) items: Vec<Queued>,
}

/// What there is to do.
#[derive(Debug)]
pub(crate) enum Next {
    /// A turn.
    Batch(Batch),
    /// Nothing before this moment, or before something changes.
    Wait(Option<Instant>),
}

#[derive(Default)]
struct Lane {
    items: VecDeque<Queued>,
    /// When it got in line, for the order among lanes of one class. Renewed after each turn, so that lanes take turns.
    stamp: u64,
}

/// All lanes.
#[derive(Default)]
pub(crate) struct Queue {
    lanes: HashMap<String, Lane>,
    /// Conversations that run a turn.
    running: HashSet<String>,
    clock: u64,
    closed: bool,
    /// Conversations whose turn could not begin.
    held: HashMap<String, Held>,
}

/// A lane that waits for better times.
#[derive(Clone, Copy)]
struct Held {
    until: Instant,
    pause: Duration,
}

/// Who goes first: owners, due timers, members, guests, the agent's own tasks.
fn class(input: &Input) -> u8 {
    match (input.source.as_str(), input.principal.role) {
        ("agent", _) => 4,
        _ if errands::is_errand(input) => 1,
        (_, Role::Owner) => 0,
        (_, Role::Member) => 2,
        (_, Role::Guest | Role::Plugin) => 3,
    }
}

impl Queue {
    /// Puts an input at the end of its lane; handed back when the agent takes none any more.
    pub(crate) fn push(&mut self, item: Queued) -> Result<(), Box<Queued>> {
        if self.closed {
            return Err(Box::new(item));
        }
        self.lane(&item).push_back(item);
        Ok(())
    }

    /// Puts inputs before all others of their lane, in their order.
    pub(crate) fn push_front(&mut self, items: Vec<Queued>) -> Result<(), Vec<Queued>> {
        if self.closed {
            return Err(items);
        }
        for item in items.into_iter().rev() {
            self.lane(&item).push_front(item);
        }
        Ok(())
    }

    /// Puts a batch whose turn could not begin back, and holds its lane for a while, longer each time. Returns whether
    /// this is the first time.
    pub(crate) fn hold(&mut self, batch: Batch) -> Result<bool, Vec<Queued>> {
        let Batch { conversation, items } = batch;
        self.push_front(items)?;
        let before = self.held.get(&conversation).map(|held| held.pause);
        let pause = before.map_or(SHORTEST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
        self.held.insert(conversation, Held { until: Instant::now() + pause, pause });
        Ok(before.is_none())
    }

    /// Takes out what this person has waiting in a conversation.
    pub(crate) fn withdraw(&mut self, conversation: &str, whose: &Principal) -> Vec<Queued> {
        let Some(lane) = self.lanes.get_mut(conversation) else { return Vec::new() };
        let (own, others) = std::mem::take(&mut lane.items).into_iter().partition::<VecDeque<_>, _>(|item| {
            let by = &item.input.principal;
            by.namespace == whose.namespace && by.user == whose.user
        });
        lane.items = others;
        if lane.items.is_empty() {
            self.lanes.remove(conversation);
            self.held.remove(conversation);
        }
        own.into()
    }

    /// A turn has begun there: its lane is not held any more.
    pub(crate) fn release(&mut self, conversation: &str) {
        self.held.remove(conversation);
    }

    fn lane(&mut self, item: &Queued) -> &mut VecDeque<Queued> {
        self.clock += 1;
        let stamp = self.clock;
        let fresh = || Lane { items: VecDeque::new(), stamp };
        &mut self.lanes.entry(item.input.conversation.to_string()).or_insert_with(fresh).items
    }

    /// Takes the next turn's inputs out, and holds their conversation's place until [`Queue::done`].
    pub(crate) fn next(&mut self, now: Instant, pace: Pace) -> Next {
        let free = self.running.len() < pace.parallel;
        // One place more than there are, for what can't wait.
        let urgent_free = self.running.len() <= pace.parallel;
        let mut wake: Option<Instant> = None;
        let mut best: Option<(u8, u64, &String)> = None;
        for (name, lane) in &self.lanes {
            let urgent = lane.items.iter().any(|item| item.urgent);
            if self.running.contains(name) || !(free || (urgent && urgent_free)) {
                continue;
            }
            let ready = ready_at(&lane.items, pace.merge);
            let ready = self.held.get(name).map_or(ready, |held| ready.max(held.until));
            if ready > now {
                wake = Some(wake.map_or(ready, |earlier| earlier.min(ready)));
                continue;
            }
            // An owner in a group is not held up by the guests before them.
            let first = lane.items.iter().map(|item| class(&item.input)).min().unwrap_or(u8::MAX);
            let key = (if urgent { 0 } else { first }, lane.stamp, name);
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        let Some(conversation) = best.map(|(_, _, name)| name.clone()) else { return Next::Wait(wake) };
        let items = self.take(&conversation, pace.merge);
        self.running.insert(conversation.clone());
        Next::Batch(Batch { conversation, items })
    }

    fn take(&mut self, conversation: &str, merge: Duration) -> Vec<Queued> {
        let Some(lane) = self.lanes.get_mut(conversation) else { return Vec::new() };
        self.clock += 1;
        lane.stamp = self.clock;
        let mut items: Vec<Queued> = Vec::new();
        while items.len() < MOST_MERGED {
            let fits = |next: &Queued| items.last().is_none_or(|last| merges(last, next, merge));
            let Some(next) = lane.items.pop_front_if(|next| fits(next)) else { break };
            items.push(next);
        }
        if lane.items.is_empty() {
            self.lanes.remove(conversation);
        }
        items
    }

    /// The conversation's turn has ended.
    pub(crate) fn done(&mut self, conversation: &str) {
        self.running.remove(conversation);
        // What was held has been given up, or was withdrawn.
        if !self.lanes.contains_key(conversation) {
            self.held.remove(conversation);
        }
    }

    /// Takes nothing any more; hands back all that waits.
    pub(crate) fn close(&mut self) -> Vec<Queued> {
        self.closed = true;
        let mut items: Vec<Queued> = self.lanes.drain().flat_map(|(_, lane)| lane.items).collect();
        items.sort_by_key(|item| item.arrived);
        items
    }

    /// How many inputs wait.
    pub(crate) fn len(&self) -> usize {
        self.lanes.values().map(|lane| lane.items.len()).sum()
    }
}

/// When the inputs at the head of a lane may be taken.
fn ready_at(items: &VecDeque<Queued>, merge: Duration) -> Instant {
    let Some(first) = items.front() else { return Instant::now() };
    if !first.patient || !is_mergeable(first) {
        return first.arrived;
    }
    let mut last = first;
    for next in items.iter().skip(1) {
        if !merges(last, next, merge) {
            // Somebody else is waiting behind: nothing more can join.
            return last.arrived;
        }
        last = next;
    }
    (last.arrived + merge).min(first.arrived + merge * MOST_PATIENCE)
}

fn is_mergeable(item: &Queued) -> bool {
    item.watcher.is_none()
        && !item.alone
        && item.input.kind == "message"
        && matches!(&item.input.payload, Payload::Text(text) if commands::parse(text).is_none())
}

/// Whether two neighbours are one thought of one person.
fn merges(last: &Queued, next: &Queued, merge: Duration) -> bool {
    let (a, b) = (&last.input, &next.input);
    let apart = Duration::from_millis(b.received_at.abs_diff(a.received_at));
    is_mergeable(last)
        && is_mergeable(next)
        && a.principal.namespace == b.principal.namespace
        && a.principal.user == b.principal.user
        && a.principal.role == b.principal.role
        && a.principal.attested == b.principal.attested
        // Two terminals of one person each get their own answer; a channel that waits for more knows its ways.
        && (last.patient || a.reply_route == b.reply_route)
        // Platforms that tell seconds put what came within one at the same moment.
        && !merge.is_zero()
        && apart <= merge
}

/// One input made of those that are answered together: the last one, with all texts and media.
pub(crate) fn merged(items: &[Queued]) -> Option<Input> {
    let mut input = items.last()?.input.clone();
    if items.len() > 1 {
        let texts: Vec<&str> = items.iter().map(|item| item.input.payload.text()).collect();
        input.payload = Payload::Text(texts.join("\n"));
        input.media = items.iter().flat_map(|item| item.input.media.iter().cloned()).collect();
        // What others wrote stays theirs among the words of who sends it on.
        if !is_forwarded(&input) && items.iter().any(|item| is_forwarded(&item.input)) {
            input.meta.push((FORWARDED.to_owned(), "true".to_owned()));
        }
    }
    Some(input)
}
