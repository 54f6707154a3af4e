//! `memory`, `knowledge` and `social`: what the agent remembers, before the eyes of those who read what comes of it.

use std::sync::Arc;

use homeagent_types::ports::PluginMemory;
use homeagent_types::recollection::{KnowledgeBase, KnowledgePassage, KnownPerson, Remembered};
use homeagent_types::{CallError, Cause, Denial, Meta};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::Accessor;

use crate::bindings::{knowledge, memory, social, types};
use crate::instance::{HostData, InstanceState};
use crate::registrations::OUTWARD;
use crate::slot::core::SlotCore;
use crate::wants::memory::{KnowledgeWant, MemoryWant, SocialWant};

/// The longest question, in bytes.
const LONGEST_QUESTION: usize = 4 << 10;
/// The longest text that the memory takes, in bytes.
const LONGEST_NOTE: usize = 16 << 10;
/// The longest text that a base takes at once, in bytes.
const LONGEST_ADDITION: usize = 256 << 10;
/// Hits of one question.
const MOST_HITS: u32 = 50;
/// People of one question.
const MOST_PEOPLE: usize = 100;

/// A question that may be asked.
struct Question {
    memory: Arc<dyn PluginMemory>,
    slot: Arc<SlotCore>,
    /// The call for which it is asked; none where it is the plugin's own.
    cause: Option<Cause>,
    /// What the guest said of that call.
    lent: Option<Meta>,
    /// Its place among the plugin's calls of others, and its room among what is under way.
    _place: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

/// Whether the package may ask of its own accord, and what that is called in a denial.
struct Reach {
    capability: &'static str,
    anytime: bool,
}

impl Question {
    /// What the guest says of the cause is not believed, only which of its own calls it stands for.
    fn new(
        state: &InstanceState,
        attempt: &str,
        reach: &Reach,
        cause: Option<&types::Cause>,
        bytes: usize,
    ) -> Result<Self, CallError> {
        let lent = cause.map(|cause| cause.meta.clone());
        let unknown =
            || CallError::Invalid("the cause is that of no call of this plugin's that is under way".to_owned());
        let cause = cause.map(|cause| state.slot.believed(&cause.meta).ok_or_else(unknown)).transpose()?;
        if cause.is_none() && !reach.anytime {
            return Err(CallError::Denied(Denial {
                capability: reach.capability.to_owned(),
                attempt: format!("{attempt}, of the plugin's own accord"),
                remedy: format!(
                    "hand over the cause of the call for which it is done, or ask for anytime = true in [wants.{}]",
                    reach.capability
                ),
            }));
        }
        let place = Arc::clone(&state.slot.calls_out).try_acquire_owned().map_err(|_| CallError::Busy)?;
        let room = state.slot.carry(bytes)?;
        Ok(Self {
            memory: state.services.plugin_memory()?,
            slot: Arc::clone(&state.slot),
            cause,
            lent,
            _place: (place, room),
        })
    }

    /// Notes that the guest is told this much: others may have written some of it, whoever said it to the agent.
    fn tells<T>(&self, found: &[T]) {
        if !found.is_empty() {
            self.slot.told_foreign(self.lent.as_deref());
        }
    }
}

/// Fails on a text that is empty or too long.
fn sized(what: &str, text: &str, most: usize) -> Result<(), CallError> {
    if text.trim().is_empty() || text.len() > most {
        return Err(CallError::Invalid(format!("{what} has 1 to {most} bytes, not {}", text.len())));
    }
    Ok(())
}

/// Fails where the package may only read.
fn may_write(write: bool, capability: &str, attempt: &str) -> Result<(), CallError> {
    if write {
        return Ok(());
    }
    Err(CallError::Denied(Denial {
        capability: capability.to_owned(),
        attempt: attempt.to_owned(),
        remedy: format!(
            "write = true in [wants.{capability}] of its plugin.toml asks for that, and the owner grants it"
        ),
    }))
}

fn limit(wanted: u32) -> usize {
    usize::try_from(wanted.clamp(1, MOST_HITS)).unwrap_or(1)
}

impl<T: Send + 'static> memory::HostWithStore<T> for HostData {
    async fn recall(
        accessor: &Accessor<T, Self>,
        question: String,
        most: u32,
        cause: Option<types::Cause>,
    ) -> Result<Vec<memory::Hit>, types::Error> {
        let asked = accessor.with(|mut access| {
            let (state, attempt) = (access.get(), "recalling from the memory");
            let MemoryWant { anytime, .. } = state.granted(attempt)?;
            sized("a question", &question, LONGEST_QUESTION)?;
            let reach = Reach { capability: "memory", anytime };
            Question::new(state, attempt, &reach, cause.as_ref(), question.len())
        })?;
        let hits = asked.memory.recall(question, limit(most), asked.cause.as_ref()).await?;
        asked.tells(&hits);
        Ok(hits.into_iter().map(Into::into).collect())
    }

    async fn note(
        accessor: &Accessor<T, Self>,
        text: String,
        cause: Option<types::Cause>,
    ) -> Result<String, types::Error> {
        let mut text = text;
        let mut asked = accessor.with(|mut access| {
            let (state, attempt) = (access.get(), "noting a text in the memory");
            let MemoryWant { write, anytime } = state.granted(attempt)?;
            may_write(write, "memory", attempt)?;
            sized("a note", &text, LONGEST_NOTE)?;
            // What is kept is shown to models later.
            text = state.services.secrets.redact(&text).into_owned();
            Question::new(state, attempt, &Reach { capability: "memory", anytime }, cause.as_ref(), text.len())
        })?;
        // What comes in from outside may be anybody's words.
        let is_outward = OUTWARD.iter().any(|capability| asked.slot.grants.allows(capability));
        if let Some(cause) = asked.cause.as_mut().filter(|_| is_outward) {
            cause.mark_foreign();
        }
        Ok(asked.memory.note(&asked.slot.name, text, asked.cause.as_ref()).await?)
    }
}

impl<T: Send + 'static> knowledge::HostWithStore<T> for HostData {
    async fn search(
        accessor: &Accessor<T, Self>,
        question: String,
        base: Option<String>,
        most: u32,
        cause: Option<types::Cause>,
    ) -> Result<Vec<knowledge::Passage>, types::Error> {
        let asked = accessor.with(|mut access| {
            let (state, attempt) = (access.get(), "searching the knowledge base");
            let KnowledgeWant { anytime, .. } = state.granted(attempt)?;
            sized("a question", &question, LONGEST_QUESTION)?;
            let reach = Reach { capability: "knowledge", anytime };
            Question::new(state, attempt, &reach, cause.as_ref(), question.len())
        })?;
        let found = asked.memory.search_knowledge(question, base, limit(most), asked.cause.as_ref()).await?;
        asked.tells(&found);
        Ok(found.into_iter().map(Into::into).collect())
    }

    async fn list(
        accessor: &Accessor<T, Self>,
        cause: Option<types::Cause>,
    ) -> Result<Vec<knowledge::Base>, types::Error> {
        let asked = accessor.with(|mut access| {
            let (state, attempt) = (access.get(), "listing the knowledge base");
            let KnowledgeWant { anytime, .. } = state.granted(attempt)?;
            Question::new(state, attempt, &Reach { capability: "knowledge", anytime }, cause.as_ref(), 0)
        })?;
        Ok(asked.memory.bases(asked.cause.as_ref()).await?.into_iter().map(Into::into).collect())
    }

    async fn append(accessor: &Accessor<T, Self>, base: String, text: String) -> Result<(), types::Error> {
        let mut text = text;
        let asked = accessor.with(|mut access| {
            let state = access.get();
            let attempt = format!("adding to the knowledge base {base}");
            let KnowledgeWant { write, .. } = state.granted(&attempt)?;
            may_write(write, "knowledge", &attempt)?;
            sized("an addition", &text, LONGEST_ADDITION)?;
            text = state.services.secrets.redact(&text).into_owned();
            // Nothing is shown, so that it needs nobody's call.
            Question::new(state, &attempt, &Reach { capability: "knowledge", anytime: true }, None, text.len())
        })?;
        Ok(asked.memory.append_knowledge(&base, text).await?)
    }
}

impl<T: Send + 'static> social::HostWithStore<T> for HostData {
    async fn people(
        accessor: &Accessor<T, Self>,
        name: String,
        cause: Option<types::Cause>,
    ) -> Result<Vec<social::Person>, types::Error> {
        let asked = accessor.with(|mut access| {
            let (state, attempt) = (access.get(), "asking who somebody is");
            let SocialWant { anytime } = state.granted(attempt)?;
            if name.len() > LONGEST_QUESTION {
                return Err(CallError::Invalid(format!("a name has at most {LONGEST_QUESTION} bytes")));
            }
            Question::new(state, attempt, &Reach { capability: "social", anytime }, cause.as_ref(), name.len())
        })?;
        let people = asked.memory.people(&name, asked.cause.as_ref()).await?;
        asked.tells(&people);
        Ok(people.into_iter().take(MOST_PEOPLE).map(Into::into).collect())
    }
}

impl memory::Host for &mut InstanceState {}
impl knowledge::Host for &mut InstanceState {}
impl social::Host for &mut InstanceState {}

impl From<Remembered> for memory::Hit {
    fn from(hit: Remembered) -> Self {
        let Remembered { id, kind, text, speaker, conversation, at, score } = hit;
        Self { id, kind, text, speaker, conversation, at, score, meta: Vec::new() }
    }
}

impl From<KnowledgePassage> for knowledge::Passage {
    fn from(passage: KnowledgePassage) -> Self {
        let KnowledgePassage { base, headings, text, line, score } = passage;
        Self { base, headings, text, line, score, meta: Vec::new() }
    }
}

impl From<KnowledgeBase> for knowledge::Base {
    fn from(base: KnowledgeBase) -> Self {
        Self { name: base.name, size: base.size, meta: Vec::new() }
    }
}

impl From<KnownPerson> for social::Person {
    fn from(person: KnownPerson) -> Self {
        let KnownPerson { name, aliases, accounts, traits, relations } = person;
        let said = |said: Vec<(String, String)>| {
            said.into_iter().map(|(name, value)| social::TraitOf { name, value }).collect()
        };
        Self { name, aliases, accounts, traits: said(traits), relations: said(relations), meta: Vec::new() }
    }
}
