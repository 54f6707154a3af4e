//! The contexts of all conversations: opened, pruned, saved, explained.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_journal::{Event, Journal, JournalError};
use homeagent_language::embed::{CurrentEmbedder, Embedder, Purpose};
use homeagent_settings::{Database, DatabaseError, Settings, SettingsError};
use homeagent_types::now;
use tokio::sync::watch;

use super::choose::{Budget, Verdict, choose};
use super::entry::Entry;
use super::explain::{Choice, Choices, Chosen, Explanation, Occasion};
use super::file::{Files, Saved};
use super::known::Known;
use super::relevance::{Features, Score, score, texts_of};
use super::saver::{Saver, VectorOf};
use super::window::Window;
use crate::documents::{Document, DocumentError, Documents, StoredVector};
use crate::vectors::Vectors;

/// How long pruning waits for vectors before it goes by the words alone.
const PATIENCE: Duration = Duration::from_millis(400);

/// The least of the journal that a window is rebuilt from, in messages.
const LEAST_HISTORY: usize = 400;

/// How many texts are embedded at one time.
const BATCH: usize = 16;

/// What the contexts are made of.
pub struct Parts {
    /// The data folder.
    pub home: PathBuf,
    /// The record of everything, from which a context is rebuilt.
    pub journal: Journal,
    /// The settings; `core.memory.context_events` and `core.agent.window_events` are read.
    pub settings: Settings,
    /// The memory's own database, `memory.db`.
    pub database: Database,
    /// Where what leaves a window goes.
    pub documents: Documents,
    /// What makes vectors, once it is loaded.
    pub embedder: CurrentEmbedder,
}

/// Why the contexts could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// What the database answered.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// What the documents answered.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The thread that saves could not be started.
    #[error("the thread that saves contexts can't be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// The most that stands before a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Events.
    pub events: usize,
    /// Messages.
    pub messages: usize,
}

impl Most {
    /// As the settings say.
    ///
    /// # Errors
    ///
    /// Settings that are not declared.
    pub fn read(settings: &Settings) -> Result<Self, SettingsError> {
        let size = |key: &str| settings.integer(key).map(|value| usize::try_from(value).unwrap_or(usize::MAX));
        Ok(Self { events: size("core.memory.context_events")?, messages: size("core.agent.window_events")? })
    }
}

/// The contexts. Clones share them.
#[derive(Clone)]
pub struct RelevanceContext {
    shared: Arc<Shared>,
}

struct Shared {
    files: Files,
    journal: Journal,
    settings: Settings,
    documents: Documents,
    choices: Choices,
    embedder: CurrentEmbedder,
    known: Arc<Known>,
    saver: Saver,
    /// What documents gave back in runs that go on, until their turn takes it.
    returned: Mutex<HashMap<String, Vec<Entry>>>,
    /// One text after the other is embedded beforehand.
    warming: tokio::sync::Mutex<()>,
}

impl RelevanceContext {
    /// Opens the contexts. What a death of the daemon left half-done with documents is finished or taken back.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer.
    pub fn open(parts: Parts) -> Result<Self, OpenError> {
        let Parts { home, journal, settings, database, documents, embedder } = parts;
        let files = Files::new(&home);
        let choices = Choices::open(&database)?;
        for conversation in documents.unsettled()? {
            settle(&documents, &conversation, files.read(&conversation).as_ref(), true)?;
        }
        let known = Arc::<Known>::default();
        let saver = Saver::start(files.clone(), documents.clone(), choices.clone(), vector_of(&known, &embedder))?;
        let shared = Shared {
            files,
            journal,
            settings,
            documents,
            choices,
            embedder,
            known,
            saver,
            returned: Mutex::default(),
            warming: tokio::sync::Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens the contexts of a home folder with its documents, in its `memory.db`, without any vectors.
    ///
    /// # Errors
    ///
    /// As for [`RelevanceContext::open`].
    pub fn of_home(home: &Path, journal: &Journal, settings: &Settings) -> Result<Self, OpenError> {
        let database = Database::open(home.join("memory.db"))?;
        let documents = Documents::open(home, &database, &Vectors::open(&database)?)?;
        let (_, embedder) = watch::channel(None);
        let (home, journal, settings) = (home.to_owned(), journal.clone(), settings.clone());
        Self::open(Parts { home, journal, settings, database, documents, embedder })
    }

    /// The window of a conversation's session, as it was saved, with what the journal has had since; rebuilt from the
    /// journal where nothing is saved. What is saved of an earlier session goes to the documents.
    ///
    /// # Errors
    ///
    /// What the journal answers.
    pub async fn load(&self, conversation: &str, session: &str) -> Result<Window, JournalError> {
        let most = Most::read(&self.shared.settings).map_or(LEAST_HISTORY, |most| most.messages.max(LEAST_HISTORY));
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        let edition = self.edition();
        let history = self.shared.journal.conversation_history(conversation, limit).await?;
        let (context, conversation, session) = (self.clone(), conversation.to_owned(), session.to_owned());
        let work = move || context.load_blocking(&conversation, &session, &history, edition);
        match tokio::task::spawn_blocking(work).await {
            Ok(window) => Ok(window),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(JournalError::Closed),
        }
    }

    fn load_blocking(&self, conversation: &str, session: &str, history: &[Event], edition: u64) -> Window {
        let Shared { files, documents, saver, .. } = &*self.shared;
        let (waiting, leaving) = saver.waiting(conversation);
        let on_disk = waiting.is_none();
        let saved = waiting.or_else(|| files.read(conversation));
        if let Err(error) = settle(documents, conversation, saved.as_ref(), on_disk) {
            tracing::warn!(%error, conversation, "documents that were taken back are looked after later");
        }
        let (saved, earlier) = match saved {
            Some(saved) if saved.session == session => (Some(saved), None),
            other => (None, other),
        };
        if let Some(earlier) = earlier {
            let exchanges = Window::from_entries(earlier.entries).retain(|_| false);
            saver.left(conversation, exchanges, edition);
        }
        let (entries, strays) = go_on(saved.map(|saved| saved.entries).unwrap_or_default(), history);
        let mut window = Window::from_entries(entries).of_edition(edition);
        window.put_back(strays);
        self.leave_out_archived(&mut window, &leaving);
        window
    }

    /// Leaves out what is in a document already, or on its way to one: it left the window by choice.
    fn leave_out_archived(&self, window: &mut Window, leaving: &HashSet<String>) {
        let heads: Vec<Entry> =
            window.exchanges().iter().map(|exchange| window.entries()[exchange.start].clone()).collect();
        let archived = match self.shared.documents.holding(heads.iter().map(|head| head.id.as_str())) {
            Ok(archived) => archived,
            Err(error) => return tracing::warn!(%error, "a window may hold what documents hold, too"),
        };
        let is_gone =
            |head: &Entry| leaving.contains(&head.id) || (head.document.is_none() && archived.contains(&head.id));
        window.retain(|at| !heads.get(at).is_some_and(is_gone));
    }

    /// Notes that a run works with a window, and prunes it where it has grown above the limit: the last events stay, of
    /// the rest those that bear most on what is being said, in batches. What goes is on its way to the documents then.
    /// Called with no call open.
    pub async fn prune(&self, window: &mut Window, run: &str, most: Most) {
        let (events, messages) = window.size();
        if events <= most.events.max(super::PROTECTED) && messages <= most.messages {
            let choice = self.choice(window, run, Occasion::Fits, most);
            return self.shared.saver.chosen(choice);
        }
        self.shrink(window, run, Occasion::Full, most, Budget::below(most.events, most.messages)).await;
    }

    /// Prunes in the middle of a turn what has grown to twice the limit. Called with no call open.
    pub async fn prune_overgrown(&self, window: &mut Window, run: &str, most: Most) {
        let (events, messages) = window.size();
        let twice = |limit: usize| limit.saturating_mul(2);
        if (events > twice(most.events.max(super::PROTECTED)) || messages > twice(most.messages))
            && window.exchanges().len() > 1
        {
            self.shrink(window, run, Occasion::Forced, most, Budget::below(most.events, most.messages)).await;
        }
    }

    /// Leaves half of a window, for a model to which it was too long. False: there is nothing to leave out.
    pub async fn halve(&self, window: &mut Window, run: &str, most: Most) -> bool {
        let before = window.size();
        self.shrink(window, run, Occasion::TooLong, most, Budget::half_of(before.1)).await;
        window.size() != before
    }

    async fn shrink(&self, window: &mut Window, run: &str, occasion: Occasion, most: Most, budget: Budget) {
        let mut choice = self.choice(window, run, occasion, most);
        let (scores, model) = self.scores(window).await;
        let total = |at: usize| scores.get(at).map_or(0.0, Score::total);
        let verdicts = choose(&window.candidates(total), budget);
        choice.model = model;
        choice.exchanges = chosen(window, &verdicts, &scores);
        let conversation = choice.conversation.clone();
        let left = window.retain(|at| verdicts.get(at).is_some_and(|verdict| verdict.stays()));
        tracing::debug!(run, ?occasion, left = left.len(), by_vectors = choice.model.is_some(), "a window was pruned");
        self.shared.saver.left(&conversation, left, window.edition());
        self.shared.saver.chosen(choice);
    }

    fn choice(&self, window: &Window, run: &str, occasion: Occasion, most: Most) -> Choice {
        let (events, messages) = window.size();
        let last = window.entries().last();
        Choice {
            run: run.to_owned(),
            conversation: last.map(|entry| entry.conversation.clone()).unwrap_or_default(),
            audience: last.map(|entry| entry.audience.clone()).unwrap_or_default(),
            at_ms: now_ms(),
            occasion,
            most_events: most.events,
            most_messages: most.messages,
            events,
            messages,
            model: None,
            exchanges: Vec::new(),
        }
    }

    /// How much each exchange bears on what was said last, and the model by whose vectors that was found, too.
    async fn scores(&self, window: &Window) -> (Vec<Score>, Option<String>) {
        let ranges = window.exchanges();
        let exchange = |at: usize| ranges.get(at).map_or(&[][..], |range| &window.entries()[range.clone()]);
        let texts: Vec<Vec<String>> = (0..ranges.len()).map(|at| texts_of(exchange(at))).collect();
        let question = texts.last().and_then(|texts| texts.first()).cloned().unwrap_or_default();
        let query = self.vectors_for(&question, &texts).await;
        let known = Arc::clone(&self.shared.known);
        let work = move || {
            let (model, vector) = query.map_or((None, None), |stored| (Some(stored.model), Some(stored.vector)));
            let of = |texts: &Vec<String>| texts.iter().map(|text| known.features(text, model.as_deref())).collect();
            let features: Vec<Vec<Features>> = texts.iter().map(of).collect();
            let features: Vec<Vec<&Features>> = features.iter().map(|texts| texts.iter().collect()).collect();
            let scores = score(&question, vector.as_deref(), &features);
            let compared = scores.iter().any(|score| score.vector.is_some());
            (scores, model.filter(|_| compared))
        };
        // Cutting long texts takes its time. A panic there is no reason to keep everything.
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "how relevant exchanges are could not be computed");
            (Vec::new(), None)
        })
    }

    /// The vector of a question, where that and those of all texts can be had in time.
    async fn vectors_for(&self, question: &str, texts: &[Vec<String>]) -> Option<StoredVector> {
        let embedder = self.shared.embedder.borrow().clone()?;
        if question.is_empty() {
            return None;
        }
        let work = async {
            self.embed_missing(&*embedder, texts.iter().flatten().cloned().collect()).await?;
            let query = embedder.embed(Purpose::Query, vec![question.to_owned()]).await.ok()?.pop()?;
            Some(StoredVector { model: embedder.identity().to_string(), vector: query })
        };
        tokio::time::timeout(PATIENCE, work).await.ok().flatten()
    }

    async fn embed_missing(&self, embedder: &dyn Embedder, texts: Vec<String>) -> Option<()> {
        let model = embedder.identity().to_string();
        let missing: Vec<String> =
            texts.into_iter().filter(|text| self.shared.known.vector(text, &model).is_none()).collect();
        for batch in missing.chunks(BATCH) {
            let vectors = embedder.embed(Purpose::Passage, batch.to_vec()).await.ok()?;
            for (text, vector) in batch.iter().zip(vectors) {
                self.shared.known.put_vector(text, StoredVector { model: model.clone(), vector });
            }
        }
        Some(())
    }

    /// A turn gives its window back: it is saved some seconds after its last change, and what was said in it is embedded
    /// meanwhile. Called inside an asynchronous runtime.
    pub fn save(&self, conversation: &str, session: &str, window: &Window) {
        let saved = Saved::new(conversation, session, window.entries().to_vec());
        self.shared.saver.changed(saved, window.edition());
        let Some(embedder) = self.shared.embedder.borrow().clone() else { return };
        let texts: Vec<String> =
            window.exchanges().into_iter().flat_map(|exchange| texts_of(&window.entries()[exchange])).collect();
        let context = self.clone();
        tokio::spawn(async move {
            let _one_at_a_time = context.shared.warming.lock().await;
            context.embed_missing(&*embedder, texts).await;
        });
    }

    /// Events of documents come back in a run: its turn takes them into its window between two rounds.
    pub fn give_back(&self, run: &str, entries: Vec<Entry>) {
        self.returned().entry(run.to_owned()).or_default().extend(entries);
    }

    /// What came back in a run since this was asked last.
    #[must_use]
    pub fn take_back(&self, run: &str) -> Vec<Entry> {
        self.returned().remove(run).unwrap_or_default()
    }

    pub(super) fn saver(&self) -> &Saver {
        &self.shared.saver
    }

    pub(super) fn choices(&self) -> &Choices {
        &self.shared.choices
    }

    pub(super) fn files(&self) -> &Files {
        &self.shared.files
    }

    /// Another number each time words were taken out of contexts: a window that was loaded before is to be loaded again. It is
    /// not saved.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.shared.saver.edition()
    }

    /// Forgets what was computed on texts, and what came back to turns that have not taken it.
    pub(super) fn forget_computed(&self) {
        self.shared.known.clear();
        self.returned().clear();
    }

    fn returned(&self) -> MutexGuard<'_, HashMap<String, Vec<Entry>>> {
        self.shared.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why what stood before the model in a run did, and what did not. None: nothing is known of that run.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn explain(&self, run: &str) -> Result<Option<Explanation>, DatabaseError> {
        // What was chosen a moment ago is on its way.
        self.shared.saver.flush().await;
        let (choices, run) = (self.shared.choices.clone(), run.to_owned());
        match tokio::task::spawn_blocking(move || choices.explain(&run)).await {
            Ok(explanation) => explanation,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Ok(None),
        }
    }

    /// Where what leaves a window goes.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    /// Saves all that is not saved yet; returns when that is on the disk, or could not be written.
    pub async fn flush(&self) {
        self.shared.saver.flush().await;
    }
}

pub(crate) fn now_ms() -> i64 {
    i64::try_from(now()).unwrap_or(i64::MAX)
}

/// Makes the vectors of documents from those of their texts.
fn vector_of(known: &Arc<Known>, embedder: &CurrentEmbedder) -> VectorOf {
    let (known, embedder) = (Arc::clone(known), embedder.clone());
    Arc::new(move |document: &Document| {
        let model = embedder.borrow().as_ref().map(|embedder| embedder.identity().clone())?;
        known.vector_of(document, &model)
    })
}

/// Ends what was begun with the documents that were taken into a conversation: those whose events stand in its saved
/// context go, where that is on the disk; the others are there as before.
pub(super) fn settle(
    documents: &Documents,
    conversation: &str,
    saved: Option<&Saved>,
    on_disk: bool,
) -> Result<(), DocumentError> {
    let held = saved.map(Saved::returned).unwrap_or_default();
    if on_disk {
        documents.settle(&held)?;
    }
    let released = documents.release(conversation, &held)?;
    if !released.is_empty() {
        tracing::info!(conversation, documents = released.len(), "a turn that was cut had taken these back; they stay");
    }
    Ok(())
}

/// What was saved, with what the journal has had since; and what had come back from documents and has no place in that.
/// Where the journal does not go on where what was saved ends - the daemon died, and a run gave its inputs back - what the
/// journal does not know any more is left out.
fn go_on(mut saved: Vec<Entry>, history: &[Event]) -> (Vec<Entry>, Vec<Entry>) {
    let told: Vec<Entry> = history.iter().filter_map(Entry::of_event).collect();
    let places: HashMap<&str, usize> = told.iter().enumerate().map(|(at, entry)| (entry.id.as_str(), at)).collect();
    let is_own = |entry: &Entry| entry.document.is_none() && !entry.id.is_empty();
    let last = saved.iter().rposition(|entry| is_own(entry) && places.contains_key(entry.id.as_str()));
    let Some(last) = last else {
        // Nothing in common: it is older than what the journal was asked for, or the journal does not know it any more.
        let begins = told.first().map_or(i64::MIN, |first| first.at_ms);
        saved.retain(|entry| entry.document.is_some() || entry.at_ms < begins);
        saved.extend(told);
        return (saved, Vec::new());
    };
    let after = places.get(saved[last].id.as_str()).map_or(0, |at| at + 1);
    // Calls that were cut off are closed anew where they still are.
    let more = saved[last + 1..].iter().position(|entry| !entry.id.is_empty());
    let unknown = saved.split_off(more.map_or(saved.len(), |more| last + 1 + more));
    saved.extend(told.into_iter().skip(after));
    (saved, unknown.into_iter().filter(|entry| entry.document.is_some()).collect())
}

/// What became of each exchange.
fn chosen(window: &Window, verdicts: &[Verdict], scores: &[Score]) -> Vec<Chosen> {
    let entries = window.entries();
    let ids = |range: Range<usize>| entries[range].iter().map(|entry| entry.id.as_str()).filter(|id| !id.is_empty());
    let one = |(at, range): (usize, Range<usize>)| {
        let first = &entries[range.start];
        let score = scores.get(at).copied().unwrap_or_default();
        Chosen {
            first: ids(range.clone()).next().unwrap_or_default().to_owned(),
            last: ids(range.clone()).next_back().unwrap_or_default().to_owned(),
            at_ms: first.at_ms,
            events: range.len().min(2),
            messages: range.len(),
            verdict: verdicts.get(at).copied().unwrap_or(Verdict::Current),
            words: score.words,
            vector: score.vector,
            document: first.document.clone(),
        }
    };
    window.exchanges().into_iter().enumerate().map(one).collect()
}
