//! All parts of the memory, opened together, and what the agent sees of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use homeagent_journal::{Journal, Seq};
use homeagent_language::embed::CurrentEmbedder;
use homeagent_settings::{Bindings, Database, DatabaseError, Settings};
use homeagent_types::ports::Toolbox;
use homeagent_types::{Viewer, now};
use jiff::tz::TimeZone;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Audiences;
use crate::follower::{Follower, Following};
use crate::index::{Index, PassageKind};
use crate::nearness::Nearness;
use crate::recall::{Ask, Hit, Recall, RecallError};
use crate::recollection::{Occasion, Recalled, Recollection, Remembers};
use crate::said::Said;
use crate::vectors::{Progress, Vectoriser, Vectors};

/// The memory's file in the home folder.
const FILE: &str = "memory.db";

/// So many times as many passages are looked for as are wanted: some stand in the window, or are gone from the journal.
const SPARE: usize = 4;

/// What the memory is made of.
pub struct Parts {
    /// The data folder.
    pub home: PathBuf,
    /// The record of everything.
    pub journal: Journal,
    /// The settings; it reads `core.memory.*`.
    pub settings: Settings,
    /// Who has which role.
    pub bindings: Bindings,
    /// What makes vectors.
    pub embedder: CurrentEmbedder,
}

/// The memory.
pub struct Memory {
    journal: Journal,
    settings: Settings,
    embedder: CurrentEmbedder,
    audiences: Audiences,
    index: Index,
    recall: Recall,
    nearness: Nearness,
    following: watch::Receiver<Following>,
    progress: watch::Receiver<Progress>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// How the memory is.
#[derive(Clone, Debug)]
pub struct MemoryStatus {
    /// How far the journal was read.
    pub following: Following,
    /// How many passages can be found.
    pub passages: u64,
    /// The model that makes vectors; none while words alone decide.
    pub model: Option<String>,
    /// How far it is with the passages.
    pub vectors: Progress,
}

impl Memory {
    /// Opens all parts and begins to read what the journal has more. Blocks; to be called inside a runtime.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(parts: Parts) -> Result<Arc<Self>, DatabaseError> {
        let Parts { home, journal, settings, bindings, embedder } = parts;
        let database = Database::open(home.join(FILE))?;
        let audiences = Audiences::open(&database, bindings)?;
        let vectors = Vectors::open(&database)?;
        let index = Index::open(&database, &vectors)?;
        let vectoriser = Vectoriser::new(Arc::new(index.clone()), vectors, embedder.clone());
        let recall = Recall::new(index.clone(), embedder.clone());
        let follower = Follower::open(&database, journal.clone(), settings.clone(), index.clone(), audiences.clone())?;
        let memory = Self {
            following: follower.state(),
            progress: vectoriser.progress(),
            nearness: Nearness::new(embedder.clone()),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            journal,
            settings,
            embedder,
            audiences,
            index,
            recall,
        };
        memory.tasks.spawn(follower.run(memory.stop.clone()));
        memory.tasks.spawn(vectoriser.run(memory.stop.clone()));
        Ok(Arc::new(memory))
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Who may see what.
    #[must_use]
    pub fn audiences(&self) -> &Audiences {
        &self.audiences
    }

    /// The one way to find what was said and written.
    #[must_use]
    pub fn recall(&self) -> &Recall {
        &self.recall
    }

    /// What its parts offer the agent's models.
    #[must_use]
    pub fn toolboxes(&self) -> Vec<Arc<dyn Toolbox>> {
        Vec::new()
    }

    /// How it is.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn status(&self) -> Result<MemoryStatus, RecallError> {
        let model = self.embedder.borrow().as_ref().map(|embedder| embedder.identity().name.clone());
        let index = self.index.clone();
        let passages = tokio::task::spawn_blocking(move || index.count()).await??;
        let (following, vectors) = (self.following.borrow().clone(), self.progress.borrow().clone());
        Ok(MemoryStatus { following, passages, model, vectors })
    }

    /// Returns once all that the journal has at this moment can be found.
    pub async fn caught_up(&self) {
        let tip = *self.journal.tip().borrow();
        let mut following = self.following.clone();
        // An error only says that nobody follows any more.
        let _ = following.wait_for(|following| following.reached >= tip).await;
    }

    /// Finds passages, best first.
    ///
    /// # Errors
    ///
    /// As for [`Recall::recall`].
    pub async fn find(
        &self,
        text: &str,
        viewer: Viewer,
        limit: usize,
        kinds: Vec<PassageKind>,
    ) -> Result<Vec<Hit>, RecallError> {
        let ask = Ask {
            text: text.to_owned(),
            viewer,
            now_ms: i64::try_from(now()).unwrap_or(i64::MAX),
            time_zone: self.zone(),
            limit,
            conversation: None,
            speaker: None,
            kinds,
        };
        self.recall.recall(&ask).await
    }

    /// Stops its work in order: what is begun is finished.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn zone(&self) -> TimeZone {
        let name = self.settings.text("core.agent.time_zone").unwrap_or_default();
        if name.is_empty() { TimeZone::system() } else { TimeZone::get(&name).unwrap_or_else(|_| TimeZone::system()) }
    }

    /// What was said earlier, for a turn, in the order of time.
    async fn passages(&self, occasion: &Occasion, viewer: Viewer) -> Result<Vec<Recalled>, RecallError> {
        let kinds = vec![PassageKind::Said, PassageKind::Answered];
        let wanted = occasion.passages.saturating_mul(SPARE);
        let hits = self.find(&occasion.text, viewer.clone(), wanted, kinds).await?;
        let places: Vec<Seq> = hits.iter().filter_map(|hit| hit.passage.origin.parse().ok()).collect();
        // The journal has the last word: what is gone from it is not told any more, whoever still knows of it.
        let events = self.journal.events_at(places).await.unwrap_or_default();
        let said: HashMap<Seq, Said> = events.iter().filter_map(Said::read).map(|said| (said.seq, said)).collect();
        let mut left = occasion.characters;
        let mut passages: Vec<Recalled> = Vec::new();
        for hit in hits {
            let Some(said) = hit.passage.origin.parse().ok().and_then(|seq: Seq| said.get(&seq)) else { continue };
            let length = hit.passage.text.chars().count();
            let is_shown = occasion.window.contains(&said.trace) || said.run.as_ref() == Some(&occasion.run);
            if is_shown || !viewer.may_see(&said.audience) || length > left {
                continue;
            }
            left -= length;
            passages.push(recalled(hit, said, &occasion.conversation));
            if passages.len() >= occasion.passages {
                break;
            }
        }
        passages.sort_by_key(|passage| passage.at_ms);
        Ok(passages)
    }
}

fn recalled(hit: Hit, said: &Said, here: &str) -> Recalled {
    let kind = if said.name().is_none() { "answered" } else { "said" };
    Recalled {
        kind: kind.to_owned(),
        origin: hit.passage.origin,
        at_ms: said.at_ms,
        speaker: said.name(),
        here: said.conversation == here,
        foreign: said.foreign,
        score: hit.score,
        text: hit.passage.text,
    }
}

#[async_trait]
impl Remembers for Memory {
    async fn recollect(&self, occasion: Occasion) -> Recollection {
        let viewer = self.audiences.viewer(&occasion.audience);
        let mut found = Recollection::default();
        if occasion.passages > 0 && !occasion.text.trim().is_empty() {
            match self.passages(&occasion, viewer).await {
                Ok(passages) => found.passages = passages,
                Err(error) => {
                    tracing::warn!(%error, "nothing is recalled");
                    found.left_out.push("passages");
                }
            }
        }
        found
    }

    async fn nearness(&self, query: &str, texts: Arc<[String]>) -> Vec<f32> {
        self.nearness.of(query, texts).await
    }
}
