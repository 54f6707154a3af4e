//! The working window of a conversation: always a valid sequence for a model.
//!
//! Valid means: each call of a tool is followed, before anything else, by its result; there is no result without its
//! call; what a model is shown begins with what a person said.

use std::collections::HashSet;
use std::ops::Range;

use homeagent_journal::Event;
use homeagent_types::ToolCall;
use homeagent_types::model::{ContentPart, Message};

use super::choose::Candidate;
use super::entry::Entry;

/// The result of a call that was cut off before it gave one.
pub const NO_RESULT: &str = "error: there is no result, because the turn was cut off while this call was open";

/// The messages of a conversation, oldest first.
///
/// They come in *exchanges*: what a person said and all that follows up to what a person said next. A window that has
/// lost any of its exchanges is as valid as before, so nothing is ever taken out or put in but whole ones. What a person
/// said is one *event*, all that the agent did and said in answer is another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    entries: Vec<Entry>,
    /// That of all contexts when it was loaded.
    edition: u64,
}

impl Window {
    pub(super) fn of_edition(self, edition: u64) -> Self {
        Self { edition, ..self }
    }

    /// That of all contexts when it was loaded: see [`super::RelevanceContext::edition`].
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Rebuilds a window from the journal. Calls that were cut off get a result that says so.
    #[must_use]
    pub fn from_history(events: &[Event]) -> Self {
        Self::from_entries(events.iter().filter_map(Entry::of_event))
    }

    /// A window of these messages, as [`Window::push`] adds them. What comes before the first thing a person said is left
    /// out.
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut window = Self::default();
        entries.into_iter().for_each(|entry| window.push(entry));
        window.close();
        let start = window.entries.iter().position(Entry::is_said).unwrap_or(window.entries.len());
        window.entries.drain(..start);
        window
    }

    /// Adds a message. Whatever would break the sequence is mended: calls still open get a result before anything else
    /// follows, and a result without its call is left out.
    pub fn push(&mut self, entry: Entry) {
        if let Message::Tool { call, .. } = &entry.message {
            if self.open_calls().iter().any(|open| open.id == *call) {
                self.entries.push(entry);
            }
            return;
        }
        self.close();
        self.entries.push(entry);
    }

    /// Gives calls that are still open a result that says that there is none.
    pub fn close(&mut self) {
        for open in self.open_calls() {
            let Some(last) = self.entries.last() else { return };
            let closing = Entry {
                id: String::new(),
                message: tool_message(&open, NO_RESULT.to_owned(), true),
                foreign: false,
                time: None,
                no_memory: true,
                cleaner: None,
                ..last.clone()
            };
            self.entries.push(closing);
        }
    }

    /// The calls of the last assistant message that have no result yet.
    fn open_calls(&self) -> Vec<ToolCall> {
        let is_result = |entry: &&Entry| matches!(entry.message, Message::Tool { .. });
        let results = self.entries.iter().rev().take_while(is_result).count();
        let head = self.entries.len() - results;
        let Some(Message::Assistant { tool_calls, .. }) =
            head.checked_sub(1).and_then(|at| self.entries.get(at)).map(|entry| &entry.message)
        else {
            return Vec::new();
        };
        let answers = |entry: &Entry, id: &str| matches!(&entry.message, Message::Tool { call, .. } if call == id);
        let answered = |id: &str| self.entries[head..].iter().any(|entry| answers(entry, id));
        tool_calls.iter().filter(|call| !answered(&call.id)).cloned().collect()
    }

    /// Whether what others may have written stands in it.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.entries.iter().any(|entry| entry.foreign)
    }

    /// Takes out pictures and sounds, but those of the last so many messages of people and of the results behind them;
    /// where they were, the text names them.
    pub fn hide_media(&mut self, left: usize) {
        let mut left = left;
        for entry in self.entries.iter_mut().rev() {
            let is_said = entry.is_said();
            if let Message::User(parts) | Message::Tool { content: parts, .. } = &mut entry.message
                && left == 0
            {
                parts.retain(|part| matches!(part, ContentPart::Text(_)));
            }
            left = left.saturating_sub(usize::from(is_said));
        }
    }

    /// Notes that it is this time behind the last message. Called with no call open.
    pub fn note_time(&mut self, time: String) {
        if let Some(last) = self.entries.last_mut() {
            last.time = Some(time);
        }
    }

    /// All that it holds.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The messages alone.
    pub fn messages(&self) -> impl Iterator<Item = &Message> + Clone {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// The messages with the times between them, as the model is shown them.
    #[must_use]
    pub fn shown(&self) -> Vec<Message> {
        let mut shown = Vec::with_capacity(self.entries.len() * 3 / 2);
        for entry in &self.entries {
            shown.push(entry.message.clone());
            shown.extend(entry.time.as_ref().map(|time| Message::System(format!("It is {time}."))));
        }
        shown
    }

    /// The bytes that it holds, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// Where its exchanges are, oldest first.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Range<usize>> {
        let starts: Vec<usize> = (0..self.entries.len()).filter(|at| self.entries[*at].is_said()).collect();
        let ends = starts.iter().copied().skip(1).chain([self.entries.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Leaves the exchanges for which `keep` says so, by their place among [`Window::exchanges`]; returns the others.
    /// Called with no call open.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) -> Vec<Vec<Entry>> {
        let exchanges = self.exchanges();
        let Some(first) = exchanges.first() else { return Vec::new() };
        // What stands before the first thing that a person said belongs to no exchange, and to no valid window.
        let mut entries = std::mem::take(&mut self.entries).into_iter().skip(first.start);
        let mut left = Vec::new();
        for (at, exchange) in exchanges.iter().enumerate() {
            let members: Vec<Entry> = entries.by_ref().take(exchange.len()).collect();
            match keep(at) {
                true => self.entries.extend(members),
                false => left.push(members),
            }
        }
        left
    }

    /// Its exchanges as a choice sees them, each as relevant as `relevance` says, by its place.
    #[must_use]
    pub fn candidates(&self, relevance: impl Fn(usize) -> f64) -> Vec<Candidate> {
        let candidate = |(at, exchange): (usize, Range<usize>)| Candidate {
            events: exchange.len().min(2),
            messages: exchange.len(),
            relevance: relevance(at),
        };
        self.exchanges().into_iter().enumerate().map(candidate).collect()
    }

    /// How many events and messages it has.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.exchanges().iter().map(|exchange| exchange.len().min(2)).sum(), self.entries.len())
    }

    /// Puts messages back that were said before, each exchange of them where its time belongs, but before the exchange
    /// that is going on. What is there already, and what belongs to no exchange, is left out.
    pub fn put_back(&mut self, entries: Vec<Entry>) {
        let returned = Self::from_entries(entries);
        let mut known: HashSet<String> =
            self.entries.iter().filter(|entry| !entry.id.is_empty()).map(|entry| entry.id.clone()).collect();
        let mut exchanges = self.take_exchanges();
        let current = exchanges.pop();
        let said_at = |exchange: &[Entry]| exchange.first().map_or(i64::MIN, |entry| entry.at_ms);
        for exchange in { returned }.take_exchanges() {
            if exchange.iter().any(|entry| known.contains(&entry.id)) {
                continue;
            }
            known.extend(exchange.iter().filter(|entry| !entry.id.is_empty()).map(|entry| entry.id.clone()));
            let later = |there: &Vec<Entry>| said_at(there) > said_at(&exchange);
            let at = exchanges.iter().position(later).unwrap_or(exchanges.len());
            exchanges.insert(at, exchange);
        }
        exchanges.extend(current);
        self.entries = exchanges.into_iter().flatten().collect();
    }

    fn take_exchanges(&mut self) -> Vec<Vec<Entry>> {
        self.retain(|_| false)
    }
}

/// The message that answers a call.
#[must_use]
pub fn tool_message(call: &ToolCall, content: String, failed: bool) -> Message {
    Message::Tool { call: call.id.clone(), name: call.name.clone(), content: vec![ContentPart::Text(content)], failed }
}
