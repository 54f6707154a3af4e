//! What is to go, found out before anything goes.

use std::collections::{BTreeSet, HashSet};

use homeagent_journal::{Event, EventFilter, EventKind, Seq};
use homeagent_types::memory::MemoryWhat;
use homeagent_types::{CallError, Viewer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::account::Account;
use super::words::Words;
use crate::context::Entry;
use crate::documents::{Document, Kind};
use crate::memory::Memory;
use crate::said::{Said, visible};

/// The shortest text that is looked for, in characters.
const SHORTEST: usize = 2;

/// The shortest message of which it is looked for where it was repeated, in bytes: shorter ones are said by everybody.
const SHORTEST_ECHO: usize = 16;

/// Words with which the record itself is written.
const RECORD: &str = "user assistant tool system text image audio other message owner member guest stranger person group \
    agent call name content failed role kind forgotten true false null";

/// What goes. It is on the disk until it is done, and so holds no more than what is needed to go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Texts that go wherever they stand.
    pub(super) texts: Vec<String>,
    /// How they are spelt in the journal.
    pub(super) spelt: Vec<String>,
    /// Events in which they stand.
    pub(super) touched: Vec<Seq>,
    /// Events whose words all go.
    pub(super) whole: Vec<Seq>,
    /// The messages of those, as windows and documents name them.
    pub(super) entries: HashSet<String>,
    /// Documents that go.
    pub(super) documents: Vec<String>,
    /// Notes of this stretch of time go.
    pub(super) notes: Option<(i64, i64, Option<String>)>,
    /// Entities that go.
    pub(super) entities: Vec<i64>,
    /// The account of a person who goes.
    pub(super) account: Option<Account>,
    /// Media of the store that nothing else mentions.
    #[serde(default)]
    pub(super) media: Vec<String>,
    /// What plugins keep goes too.
    #[serde(default)]
    pub(super) plugins: bool,
}

impl Plan {
    pub(super) fn words(&self) -> Words {
        Words::new(self.texts.iter().map(String::as_str))
    }

    /// Whether a document goes as a whole.
    pub(super) fn takes(&self, document: &Document) -> bool {
        let of_the_time = |(from, to, conversation): &(i64, i64, Option<String>)| {
            document.kind == Kind::Note
                && (*from..=*to).contains(&document.created_ms)
                && conversation.as_ref().is_none_or(|conversation| *conversation == document.conversation)
        };
        let all_of_it = !document.events.is_empty()
            && document.events.iter().all(|entry| self.entries.contains(&entry.id) || entry.id.is_empty());
        self.documents.contains(&document.id)
            || self.notes.as_ref().is_some_and(of_the_time)
            || self.account.as_ref().is_some_and(|account| document.audience == format!("person:{}", account.name()))
            || all_of_it
    }
}

/// Which events go as a whole.
#[derive(Default)]
struct Choice {
    span: Option<(i64, i64, Option<String>)>,
    account: Option<Account>,
    entries: HashSet<String>,
    runs: HashSet<String>,
    note: Words,
}

impl Choice {
    fn takes(&self, event: &Event) -> bool {
        let in_span = self.span.as_ref().is_some_and(|(from, to, conversation)| {
            (*from..=*to).contains(&event.at_ms)
                && conversation.as_ref().is_none_or(|conversation| *conversation == event.conversation)
        });
        let of_person = self.account.as_ref().is_some_and(|account| {
            event.audience == format!("person:{}", account.name())
                || (matches!(event.kind, EventKind::UserMessageAdded | EventKind::InputAccepted)
                    && account.is_named_in(&event.payload))
        });
        in_span
            || of_person
            || event.run.as_ref().is_some_and(|run| self.runs.contains(run))
            || (!self.entries.is_empty()
                && Entry::of_event(event).is_some_and(|entry| self.entries.contains(&entry.id)))
            || holds(&event.payload, &self.note)
    }
}

impl Memory {
    pub(super) async fn plan(&self, what: &MemoryWhat) -> Result<Plan, CallError> {
        let mut plan = Plan::default();
        let mut choice = Choice::default();
        match what {
            MemoryWhat::Text(text) => plan.texts.push(usable(text)?),
            MemoryWhat::Document(id) => self.plan_document(id, &mut plan, &mut choice).await?,
            MemoryWhat::Time { from_ms, to_ms, conversation } => {
                if from_ms > to_ms {
                    return Err(CallError::Invalid("the time ends before it begins".to_owned()));
                }
                choice.span = Some((*from_ms, *to_ms, conversation.clone()));
                plan.notes.clone_from(&choice.span);
            }
            MemoryWhat::Entity(name) => self.plan_entity(name, &mut plan).await?,
            MemoryWhat::Person(account) => {
                let account = Account::read(account)?;
                let (graph, of) = (self.graph().clone(), account.name());
                plan.entities = super::blocking(move || graph.entities_of(&of)).await?;
                plan.account = Some(account.clone());
                choice.account = Some(account);
            }
        }
        self.find_whole(&choice, &mut plan).await?;
        self.find_touched(&mut plan).await?;
        Ok(plan)
    }

    async fn plan_document(&self, id: &str, plan: &mut Plan, choice: &mut Choice) -> Result<(), CallError> {
        let (documents, of) = (self.context().documents().clone(), id.to_owned());
        // Its name becomes a path.
        if !of.chars().all(|char| char.is_ascii_alphanumeric() || char == '-' || char == '_') {
            return Err(CallError::NotFound(format!("there is no document {id}")));
        }
        let document = tokio::task::spawn_blocking(move || documents.read(&of)).await.map_err(super::failed)?;
        let document = document.map_err(|error| CallError::NotFound(error.to_string()))?;
        plan.documents.push(document.id.clone());
        choice.entries.extend(document.events.iter().map(|entry| entry.id.clone()).filter(|id| !id.is_empty()));
        choice.runs.extend(document.events.iter().filter_map(|entry| {
            let (run, _) = entry.id.rsplit_once('/')?;
            (run != "seq").then(|| run.to_owned())
        }));
        if document.text.len() >= SHORTEST_ECHO {
            choice.note = Words::new([document.text.as_str()]);
            plan.texts.push(document.text);
        }
        Ok(())
    }

    async fn plan_entity(&self, name: &str, plan: &mut Plan) -> Result<(), CallError> {
        let (graph, of) = (self.graph().clone(), name.to_owned());
        let found = super::blocking(move || match of.parse::<i64>() {
            Ok(id) => graph.entity(id, &Viewer::Everything).map(|entity| vec![entity]),
            Err(_) => graph.named(&of, &Viewer::Everything),
        })
        .await?;
        if found.is_empty() {
            return Err(CallError::NotFound(format!("the graph knows nothing that is called \"{name}\"")));
        }
        for entity in found {
            plan.entities.push(entity.id);
            plan.texts.extend([entity.name].into_iter().chain(entity.aliases).filter_map(|name| usable(&name).ok()));
        }
        plan.texts.sort();
        plan.texts.dedup();
        Ok(())
    }

    /// Finds the events that go as a whole, and what was said in them, which may have been repeated elsewhere.
    async fn find_whole(&self, choice: &Choice, plan: &mut Plan) -> Result<(), CallError> {
        let mut inputs: HashSet<String> = HashSet::new();
        let mut accepted: Vec<(String, Seq)> = Vec::new();
        let mut echoes: BTreeSet<String> = BTreeSet::new();
        let mut media: Vec<(Seq, BTreeSet<String>)> = Vec::new();
        self.scan(|event| {
            let mut sent = BTreeSet::new();
            super::media::addresses(&event.payload, &mut sent);
            media.extend((!sent.is_empty()).then_some((event.seq, sent)));
            if event.kind == EventKind::InputAccepted
                && let Some(id) = event.payload["id"].as_str()
            {
                accepted.push((id.to_owned(), event.seq));
            }
            if !choice.takes(event) {
                return;
            }
            plan.whole.push(event.seq);
            // A message may name its input, and the beginning of a turn names all of them.
            let of_turn = event.payload["inputs"].as_array().into_iter().flatten();
            inputs.extend(of_turn.chain([&event.payload["input_id"]]).filter_map(Value::as_str).map(str::to_owned));
            if let Some(entry) = Entry::of_event(event) {
                let lines = visible(&entry.message);
                echoes.extend(lines.lines().chain([lines.as_str()]).map(|line| line.trim().to_owned()));
                plan.entries.insert(entry.id);
            }
            echoes.extend(Said::read(event).map(|said| said.text));
        })
        .await?;
        let of_those = accepted.into_iter().filter(|(id, _)| inputs.contains(id)).map(|(_, seq)| seq);
        plan.whole.extend(of_those);
        plan.whole.sort_unstable();
        plan.whole.dedup();
        let (going, staying): (Vec<_>, Vec<_>) =
            media.into_iter().partition(|(seq, _)| plan.whole.binary_search(seq).is_ok());
        let staying: BTreeSet<String> = staying.into_iter().flat_map(|(_, sent)| sent).collect();
        let going: BTreeSet<String> = going.into_iter().flat_map(|(_, sent)| sent).collect();
        plan.media = going.difference(&staying).cloned().collect();
        let (index, whole) = (self.index().clone(), super::origins(&plan.whole));
        let pieces = super::blocking(move || super::passages(&index, &whole)).await?;
        echoes.extend(pieces.into_iter().map(|passage| passage.text.trim().to_owned()));
        plan.texts.extend(echoes.into_iter().filter(|text| text.len() >= SHORTEST_ECHO));
        Ok(())
    }

    /// Finds the events in which texts stand, and how those are spelt there.
    async fn find_touched(&self, plan: &mut Plan) -> Result<(), CallError> {
        let words = plan.words();
        let whole: HashSet<Seq> = plan.whole.iter().copied().collect();
        let mut spelt: BTreeSet<String> = plan.texts.iter().cloned().collect();
        self.scan(|event| {
            if !whole.contains(&event.seq) && collect(&event.payload, &words, &mut spelt) {
                plan.touched.push(event.seq);
            }
        })
        .await?;
        // The longest first: of a text and a part of it the whole goes.
        plan.spelt = spelt.into_iter().collect();
        plan.spelt.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Ok(())
    }

    async fn scan(&self, mut each: impl FnMut(&Event) + Send) -> Result<(), CallError> {
        let mut place = 0;
        loop {
            let filter = EventFilter { hidden: true, ..EventFilter::default() };
            let tail = self.journal().events_after(place, filter).await.map_err(super::failed)?;
            if tail.reached == place {
                return Ok(());
            }
            place = tail.reached;
            tail.events.iter().for_each(&mut each);
        }
    }
}

/// A text that can be taken out of the record without taking the record apart.
fn usable(text: &str) -> Result<String, CallError> {
    let text = text.trim();
    if text.chars().count() < SHORTEST {
        return Err(CallError::Invalid(format!("a text to forget has at least {SHORTEST} characters")));
    }
    let lower = text.to_lowercase();
    if RECORD.split_whitespace().any(|word| word.contains(&lower)) {
        return Err(CallError::Invalid(format!("the record itself is written with \"{text}\"; say more of the text")));
    }
    Ok(text.to_owned())
}

fn holds(value: &Value, words: &Words) -> bool {
    match value {
        Value::String(text) => words.are_in(text),
        Value::Array(list) => list.iter().any(|value| holds(value, words)),
        Value::Object(fields) => fields.values().any(|value| holds(value, words)),
        _ => false,
    }
}

/// Notes how words are spelt in a document; false: they do not stand in it.
fn collect(value: &Value, words: &Words, spelt: &mut BTreeSet<String>) -> bool {
    match value {
        Value::String(text) => words.collect(text, spelt),
        Value::Array(list) => list.iter().fold(false, |any, value| collect(value, words, spelt) | any),
        Value::Object(fields) => fields
            .iter()
            .fold(false, |any, (name, value)| words.collect(name, spelt) | collect(value, words, spelt) | any),
        _ => false,
    }
}
