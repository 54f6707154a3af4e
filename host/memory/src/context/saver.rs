//! The thread that saves contexts: some seconds after their last change, and in the order in which nothing is lost. What
//! left a window is in a document before the context is saved without it; documents that came back go only after what
//! holds their events is saved.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use homeagent_settings::DatabaseError;
use homeagent_types::now;
use tokio::sync::oneshot;

use super::entry::Entry;
use super::explain::{Choice, Choices};
use super::file::{Files, Saved, returned};
use crate::documents::{Document, DocumentError, DocumentVector, Documents};

/// How long a context rests before it is saved.
const REST: Duration = Duration::from_secs(5);

/// How long one that changes all the time is put off.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long is waited after something could not be written.
const AGAIN: Duration = Duration::from_secs(15);

/// How long why something was chosen waits for company.
const GATHERING: Duration = Duration::from_millis(500);

/// Makes the vector of a document, where its texts have some.
pub(crate) type VectorOf = Arc<dyn Fn(&Document) -> Option<DocumentVector> + Send + Sync>;

/// What the thread is told.
enum Told {
    /// Something waits.
    Look,
    /// Save everything now, and say so.
    Flush(oneshot::Sender<()>),
}

/// The handle of the thread, which saves what waits and ends when the last handle is dropped.
#[derive(Clone)]
pub(crate) struct Saver {
    tell: Sender<Told>,
    desk: Arc<Desk>,
}

/// What is not on the disk yet.
#[derive(Default)]
struct Desk {
    contexts: Mutex<HashMap<String, Waiting>>,
    /// Grows each time words are taken out of contexts; only while `contexts` is held.
    edition: AtomicU64,
    chosen: Mutex<Vec<Choice>>,
}

/// What waits of one conversation.
#[derive(Clone, Debug)]
struct Waiting {
    saved: Option<Saved>,
    /// Exchanges that have left its window and are in no document yet.
    leaving: Vec<Vec<Entry>>,
    /// Grows with each change.
    version: u64,
    /// When it changed first since it was saved.
    since: Instant,
    /// When it is to be saved: not before there is a window to save.
    due: Option<Instant>,
}

impl Desk {
    fn contexts(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a change of a window of this edition. Of one that was loaded before words were taken out nothing is taken: the
    /// journal has what is left of it.
    fn change(&self, conversation: &str, edition: u64, now: Instant, change: impl FnOnce(&mut Waiting)) {
        let mut contexts = self.contexts();
        if edition != self.edition.load(Ordering::Acquire) {
            return;
        }
        let fresh = || Waiting { saved: None, leaving: Vec::new(), version: 0, since: now, due: None };
        let waiting = contexts.entry(conversation.to_owned()).or_insert_with(fresh);
        change(waiting);
        waiting.version += 1;
        if waiting.saved.is_some() {
            waiting.due = Some((now + REST).min(waiting.since + PATIENCE));
        }
    }
}

impl Saver {
    pub(crate) fn start(files: Files, documents: Documents, choices: Choices, vector_of: VectorOf) -> io::Result<Self> {
        let (tell, told) = channel();
        let desk = Arc::<Desk>::default();
        let mut work = Work { files, documents, choices, vector_of, desk: Arc::clone(&desk), failing: false };
        std::thread::Builder::new().name("context".to_owned()).spawn(move || work.run(&told))?;
        Ok(Self { tell, desk })
    }

    /// A context has changed.
    pub(crate) fn changed(&self, saved: Saved, edition: u64) {
        let conversation = saved.conversation.clone();
        self.desk.change(&conversation, edition, Instant::now(), |waiting| waiting.saved = Some(saved));
        self.look();
    }

    /// These exchanges have left a conversation's window.
    pub(crate) fn left(&self, conversation: &str, exchanges: Vec<Vec<Entry>>, edition: u64) {
        if exchanges.is_empty() {
            return;
        }
        self.desk.change(conversation, edition, Instant::now(), |waiting| waiting.leaving.extend(exchanges));
        self.look();
    }

    pub(crate) fn chosen(&self, choice: Choice) {
        self.desk.chosen.lock().unwrap_or_else(PoisonError::into_inner).push(choice);
        self.look();
    }

    /// Saves all that waits; returns when it is on the disk, or could not be written.
    pub(crate) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        // An error says that the thread is gone; it has said so itself.
        if self.tell.send(Told::Flush(done)).is_ok() {
            let _ = wait.await;
        }
    }

    /// What is to be saved of a conversation and is not yet, and the first messages of the exchanges that are leaving it.
    pub(crate) fn waiting(&self, conversation: &str) -> (Option<Saved>, HashSet<String>) {
        let contexts = self.desk.contexts();
        let Some(waiting) = contexts.get(conversation) else { return (None, HashSet::new()) };
        let heads = waiting.leaving.iter().filter_map(|exchange| exchange.first()).map(|first| first.id.clone());
        (waiting.saved.clone(), heads.collect())
    }

    /// Which windows are taken: those that were loaded since words were taken out last.
    pub(crate) fn edition(&self) -> u64 {
        self.desk.edition.load(Ordering::Acquire)
    }

    /// Takes no more from windows that are loaded already, drops conversations, and has messages changed in what is not saved
    /// yet. What is being written meanwhile is on the disk once [`Saver::flush`] returns.
    pub(super) fn strike(&self, is_to_go: &dyn Fn(&str) -> bool, change: super::forget::Change<'_>) {
        let mut contexts = self.desk.contexts();
        self.desk.edition.fetch_add(1, Ordering::AcqRel);
        contexts.retain(|conversation, _| !is_to_go(conversation));
        for waiting in contexts.values_mut() {
            let saved = waiting.saved.iter_mut().flat_map(|saved| &mut saved.entries);
            let changed =
                saved.chain(waiting.leaving.iter_mut().flatten()).fold(false, |any, entry| change(entry) | any);
            waiting.version += u64::from(changed);
        }
    }

    fn look(&self) {
        if self.tell.send(Told::Look).is_err() {
            tracing::error!("contexts are not saved any more: their thread is gone; restart the daemon");
        }
    }
}

struct Work {
    files: Files,
    documents: Documents,
    choices: Choices,
    vector_of: VectorOf,
    desk: Arc<Desk>,
    /// It was said that writing fails.
    failing: bool,
}

impl Work {
    fn run(&mut self, told: &Receiver<Told>) {
        loop {
            let heard = match self.wait(Instant::now()) {
                None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => told.recv_timeout(wait),
            };
            match heard {
                Ok(Told::Look) => {}
                Ok(Told::Flush(done)) => {
                    self.remember();
                    self.save_due(|_| true);
                    // Whoever waited may have gone.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.remember();
                    let now = Instant::now();
                    self.save_due(|waiting| waiting.due.is_some_and(|due| due <= now));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.remember();
                    return self.save_due(|_| true);
                }
            }
        }
    }

    /// How long until something is to be done.
    fn wait(&self, now: Instant) -> Option<Duration> {
        let due = self.desk.contexts().values().filter_map(|waiting| waiting.due).min();
        let chosen = !self.desk.chosen.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let gathering = chosen.then_some(GATHERING);
        due.map(|due| due.saturating_duration_since(now)).into_iter().chain(gathering).min()
    }

    fn remember(&self) {
        let chosen = std::mem::take(&mut *self.desk.chosen.lock().unwrap_or_else(PoisonError::into_inner));
        if !chosen.is_empty()
            && let Err(error) = self.choices.remember(&chosen)
        {
            tracing::warn!(%error, "it is not noted why what stood before the model did");
        }
    }

    fn save_due(&mut self, is_due: impl Fn(&Waiting) -> bool) {
        let due: Vec<(String, Waiting)> = {
            let contexts = self.desk.contexts();
            let due = contexts.iter().filter(|(_, waiting)| is_due(waiting));
            due.map(|(conversation, waiting)| (conversation.clone(), waiting.clone())).collect()
        };
        for (conversation, waiting) in due {
            let outcome = self.save(&waiting);
            self.say(&conversation, outcome.as_ref().err());
            let mut contexts = self.desk.contexts();
            let Some(now) = contexts.get_mut(&conversation) else { continue };
            match outcome {
                Ok(()) if now.version == waiting.version => drop(contexts.remove(&conversation)),
                // It changed meanwhile: what came after is still to be saved.
                Ok(()) => drop(now.leaving.drain(..waiting.leaving.len().min(now.leaving.len()))),
                Err(_) => now.due = Some(Instant::now() + AGAIN),
            }
        }
    }

    /// Says once that writing fails, and once that it works again.
    fn say(&mut self, conversation: &str, error: Option<&SaveError>) {
        match error {
            Some(error) if !self.failing => tracing::error!(
                %error,
                conversation,
                "a context is not saved; it is tried again, and all that was said is in the journal"
            ),
            None if self.failing => tracing::info!("contexts are saved again"),
            _ => {}
        }
        self.failing = error.is_some();
    }

    fn save(&self, waiting: &Waiting) -> Result<(), SaveError> {
        let heads = waiting.leaving.iter().filter_map(|exchange| exchange.first());
        let held = self.documents.holding(heads.map(|first| first.id.as_str()))?;
        // What came back from a document is in that one as long as it is not settled, and still has to be kept.
        let is_kept = |first: &Entry| first.document.is_none() && held.contains(&first.id);
        let is_new = |exchange: &&Vec<Entry>| exchange.first().is_some_and(|first| !is_kept(first));
        let exchanges: Vec<Vec<Entry>> = waiting.leaving.iter().filter(is_new).cloned().collect();
        self.documents.archive(exchanges, &*self.vector_of, i64::try_from(now()).unwrap_or(i64::MAX))?;
        if let Some(saved) = &waiting.saved {
            self.files.write(saved)?;
            let entries = saved.entries.iter().chain(waiting.leaving.iter().flatten());
            self.documents.settle(&returned(entries))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "deaths.rs"]
mod deaths;

#[derive(Debug, thiserror::Error)]
enum SaveError {
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("writing the file of a context failed: {0}")]
    File(#[from] io::Error),
}
