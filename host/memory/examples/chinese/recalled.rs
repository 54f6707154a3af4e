//! The product's recall over a corpus.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use homeagent_language::embed::Embedder;
use homeagent_memory::index::{Index, Passage, PassageKind};
use homeagent_memory::recall::{Ask, Recall, Weights};
use homeagent_memory::vectors::{Vectoriser, Vectors};
use homeagent_settings::Database;
use homeagent_types::Viewer;
use jiff::tz::TimeZone;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::corpus::{Corpus, Question, Result, Said};
use crate::measure::{AT, Tally};

/// What may be found: what the asker may see, or everything that anybody said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Asker,
    Everything,
}

/// By what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// As the product does it.
    All,
    /// By the question's words alone.
    Keywords,
    /// By vectors alone.
    Vectors,
}

impl Scope {
    /// For people.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Asker => "among what the asker may see",
            Self::Everything => "among everything",
        }
    }
}

/// A memory that holds a corpus. It goes with this.
pub(crate) struct Recalled {
    recall: Recall,
    places: HashMap<String, usize>,
    _folder: TempDir,
}

impl Recalled {
    /// Feeds a new memory with a corpus, with vectors where there is a model.
    pub(crate) async fn over(corpus: &Corpus, model: Option<Arc<dyn Embedder>>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let database = Database::open(folder.path().join("memory.db"))?;
        let vectors = Vectors::open(&database)?;
        let index = Index::open(&database, &vectors)?;
        let passages: Vec<Passage> = corpus.said.iter().map(passage).collect();
        index.put(&passages)?;
        let (_keep, embedder) = watch::channel(model.clone());
        if model.is_some() {
            let vectoriser = Vectoriser::new(Arc::new(index.clone()), vectors, embedder.clone());
            let (mut progress, stop) = (vectoriser.progress(), CancellationToken::new());
            let work = tokio::spawn(vectoriser.run(stop.clone()));
            let progress = progress.wait_for(|progress| progress.complete || progress.error.is_some()).await?.clone();
            stop.cancel();
            work.await?;
            if let Some(error) = progress.error {
                return Err(error.into());
            }
        }
        let places = corpus.said.iter().enumerate().map(|(at, said)| (said.id.clone(), at)).collect();
        Ok(Self { recall: Recall::new(index, embedder), places, _folder: folder })
    }

    /// Asks all questions of the corpus.
    pub(crate) async fn measured(&self, corpus: &Corpus, scope: Scope, leg: Leg) -> Result<Tally> {
        let mut tally = Tally::default();
        for question in &corpus.questions {
            tally.count(question, &self.find(question, scope, leg, AT[AT.len() - 1]).await?);
        }
        Ok(tally)
    }

    /// What it finds for a question: indexes among what was said, best first.
    async fn find(&self, question: &Question, scope: Scope, leg: Leg, limit: usize) -> Result<Vec<usize>> {
        let viewer = match scope {
            Scope::Asker => Viewer::Only(BTreeSet::from([question.audience.clone()])),
            Scope::Everything => Viewer::Everything,
        };
        let ask = Ask {
            text: question.text.clone(),
            viewer,
            now_ms: question.asked_at_ms,
            time_zone: TimeZone::get("Asia/Shanghai")?,
            limit,
            conversation: None,
            speaker: Some(question.asker.clone()),
            kinds: Vec::new(),
            patience: None,
        };
        let hits = leg.of(&self.recall).recall(&ask).await?;
        Ok(hits.iter().filter_map(|hit| self.places.get(&hit.passage.origin).copied()).collect())
    }
}

fn passage(said: &Said) -> Passage {
    Passage {
        kind: if said.by_agent { PassageKind::Answered } else { PassageKind::Said },
        origin: said.id.clone(),
        part: 0,
        conversation: said.conversation.clone(),
        session: said.session.clone(),
        position: said.position,
        speaker: said.speaker.clone(),
        audience: said.audience.clone(),
        at_ms: said.at_ms,
        text: said.text.clone(),
    }
}

impl Leg {
    fn of(self, recall: &Recall) -> Recall {
        let alone = Weights {
            vector: 0.0,
            following: Vec::new(),
            preceding: Vec::new(),
            session_words: 0.0,
            session_best: 0.0,
            speaker: 0.0,
            entity: 0.0,
            time: 0.0,
            ..Weights::words()
        };
        let weights = match self {
            Self::All => return recall.clone(),
            Self::Keywords => alone,
            Self::Vectors => Weights { keyword: 0.0, vector: 1.0, ..alone },
        };
        recall.with_weights(weights.clone(), weights)
    }
}
