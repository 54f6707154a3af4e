//! Distillation: what was said becomes what is known. Three loops of their own, none of which waits for a talk to end:
//! *archive* takes facts from new messages and triples from documents nobody reads any more, *merge* joins what has two
//! names, *review* looks once more at what stands on little. Each does a bounded piece of work at a time and keeps how far
//! it is in the database, so that being killed loses nothing, and what is done twice changes nothing.

mod archive;
mod claims;
mod judge;
mod merge;
mod near;
mod progress;
mod review;

use std::sync::Arc;
use std::time::{Duration, Instant};

use homeagent_journal::{Journal, JournalError};
use homeagent_language::parse::{Parser, RuleParser};
use homeagent_settings::{Database, DatabaseError, Settings, SettingsError};
use homeagent_types::Audience;
use tokio_util::sync::CancellationToken;

use crate::graph::{Graph, GraphError, NameVectors};

pub use archive::Archived;
pub use judge::{Judge, JudgeError, Question};
pub use merge::Merged;
pub use progress::Distilled;
pub use review::Reviewed;

use progress::Progress;

/// By this name the distiller signs what it changes in the graph.
pub const ACTOR: &str = "distiller";

/// How long a loop waits at most between looks at its setting.
const LOOK: Duration = Duration::from_secs(60);

/// A document that nobody reads any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColdDocument {
    /// Its id.
    pub id: String,
    /// What was written down in it. Not talk: what people said in it was read in the journal, and the agent's answers and
    /// tools' outputs would be learnt again from what was recalled into them.
    pub text: String,
    /// Who may see it.
    pub audience: Audience,
    /// When what it holds was said, in milliseconds since 1970 UTC.
    pub at_ms: i64,
}

/// Where cold documents come from. Calls read and write files and belong on a thread where that is allowed.
pub trait ColdDocuments: Send + Sync {
    /// Documents that are cold at this moment and were not distilled, at most `limit`.
    ///
    /// # Errors
    ///
    /// A sentence for the log.
    fn cold(&self, now_ms: i64, limit: usize) -> Result<Vec<ColdDocument>, String>;

    /// Notes that a document was distilled.
    ///
    /// # Errors
    ///
    /// A sentence for the log.
    fn distilled(&self, id: &str, now_ms: i64) -> Result<(), String>;
}

/// The loops.
#[derive(Clone, Copy, Debug)]
enum Work {
    Archive,
    Merge,
    Review,
}

impl Work {
    fn setting(self) -> &'static str {
        match self {
            Self::Archive => "core.memory.archive_minutes",
            Self::Merge => "core.memory.merge_minutes",
            Self::Review => "core.memory.review_minutes",
        }
    }
}

/// What a distiller is made of.
pub struct Parts {
    /// The memory's database; progress is kept in it.
    pub database: Database,
    /// What was said.
    pub journal: Journal,
    /// It reads `core.memory.archive_minutes` and its siblings.
    pub settings: Settings,
    /// Where what is known goes.
    pub graph: Graph,
    /// What finds names that mean the same, where vectors are made of them.
    pub names: Option<NameVectors>,
    /// Documents, where there are any.
    pub documents: Option<Arc<dyn ColdDocuments>>,
    /// Who judges, where somebody does.
    pub judge: Option<Arc<dyn Judge>>,
}

/// Why a loop could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DistillError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The database of how far it is.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The documents.
    #[error("the documents can't be read: {0}")]
    Documents(String),
    /// Whoever judges.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// A thread was broken off.
    #[error("the work was broken off: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

/// Makes knowledge of what was said. Clones share it.
#[derive(Clone)]
pub struct Distiller {
    journal: Journal,
    settings: Settings,
    graph: Graph,
    names: Option<NameVectors>,
    documents: Option<Arc<dyn ColdDocuments>>,
    judge: Option<Arc<dyn Judge>>,
    parser: Arc<dyn Parser>,
    progress: Progress,
}

impl Distiller {
    /// Opens it, with how far it is.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(parts: Parts) -> Result<Self, DistillError> {
        let Parts { database, journal, settings, graph, names, documents, judge } = parts;
        let progress = Progress::open(&database)?;
        Ok(Self { journal, settings, graph, names, documents, judge, parser: Arc::new(RuleParser), progress })
    }

    /// How far it is, and what came of it.
    ///
    /// # Errors
    ///
    /// What the database answers. Blocks.
    pub fn status(&self) -> Result<Distilled, DistillError> {
        Ok(self.progress.status()?)
    }

    /// Runs the three loops until it is told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let [archive, merge, review] = [Work::Archive, Work::Merge, Work::Review].map(|work| self.every(work, &stop));
        tokio::join!(archive, merge, review);
    }

    /// Does a piece of work, again at once where there is more, else after the minutes that a setting says; 0 switches the
    /// loop off. What fails is said and tried again after the same time.
    async fn every(&self, work: Work, stop: &CancellationToken) {
        let mut last: Option<Instant> = None;
        loop {
            let minutes = self.settings.integer(work.setting()).ok().and_then(|minutes| u64::try_from(minutes).ok());
            let interval = minutes.filter(|minutes| *minutes > 0).map(|minutes| Duration::from_secs(minutes * 60));
            let left =
                interval.map(|interval| last.map_or(Duration::ZERO, |last| interval.saturating_sub(last.elapsed())));
            if left == Some(Duration::ZERO) {
                let done = tokio::select! {
                    () = stop.cancelled() => return,
                    done = self.work(work) => done,
                };
                if let Err(DistillError::Judge(JudgeError::NotLive)) = &done {
                    // At the start whoever asks models comes a moment later than this.
                    tracing::debug!(work = ?work, "nobody asks models yet; it is tried again");
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = tokio::time::sleep(LOOK) => {}
                    }
                    continue;
                }
                if let Err(error) = &done {
                    tracing::warn!(work = ?work, %error, "the memory could not be distilled; it is tried again");
                }
                last = if matches!(done, Ok(true)) { None } else { Some(Instant::now()) };
            } else {
                // A changed setting counts within a minute.
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(left.unwrap_or(LOOK).min(LOOK)) => {}
                }
            }
        }
    }

    /// Does one piece of work; whether there is more to do at once.
    async fn work(&self, work: Work) -> Result<bool, DistillError> {
        match work {
            Work::Archive => self.archive_once().await.map(|done| done.more),
            Work::Merge => self.merge_once().await.map(|_| false),
            Work::Review => self.review_once().await.map(|_| false),
        }
    }

    fn limit(&self, setting: &str) -> Result<usize, DistillError> {
        Ok(usize::try_from(self.settings.integer(setting)?).unwrap_or(0))
    }
}
