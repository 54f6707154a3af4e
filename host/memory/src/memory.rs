//! All parts of the memory, opened together, and what the agent sees of them.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use homeagent_journal::Journal;
use homeagent_language::embed::CurrentEmbedder;
use homeagent_settings::{Bindings, Database, DatabaseError, KeyValues, Settings};
use homeagent_types::memory::{Advice, MemoryRebuilding};
use homeagent_types::ports::{Adviser, Forgets, Toolbox};
use homeagent_types::{CallError, Viewer, now};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Audiences;
use crate::context::{self, RelevanceContext, SessionTools};
use crate::curated::Curated;
use crate::distill::{self, DistillError, Distiller};
use crate::documents::{DocumentTools, Documents};
use crate::follower::{Follower, Following};
use crate::graph::{Graph, GraphError, NameVectors};
use crate::index::{Index, PassageKind};
use crate::known::KnownDocuments;
use crate::nearness::Nearness;
use crate::own_model::OwnModel;
use crate::recall::{Ask, Hit, Recall, RecallError};
use crate::serving::{Cold, OwnRecall};
use crate::textlog::TextLog;
use crate::tools::GraphTools;
use crate::vectors::{Progress, Vectoriser, Vectors};
use crate::zone::zone;

/// The memory's file in the home folder.
const FILE: &str = "memory.db";

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
    /// What else is to forget what is forgotten here.
    pub elsewhere: Option<Arc<dyn Forgets>>,
    /// What plugins keep, which can be forgotten with all else.
    pub plugin_values: Option<KeyValues>,
}

/// Why the memory could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// What the database answered.
    #[error("the memory can't be opened: {0}")]
    Database(#[from] DatabaseError),
    /// What the contexts and documents answered.
    #[error("the memory can't be opened: {0}")]
    Context(#[from] context::OpenError),
    /// What the graph answered.
    #[error("the memory can't be opened: {0}")]
    Graph(#[from] GraphError),
    /// What the distiller answered.
    #[error("the memory can't be opened: {0}")]
    Distill(#[from] DistillError),
    /// The thread of the text log could not be started.
    #[error("the text log can't be started: {0}")]
    TextLog(#[from] std::io::Error),
}

/// The memory.
pub struct Memory {
    home: PathBuf,
    database: Database,
    /// One forgetting after the other: each rewrites the files.
    pub(crate) forgetting: tokio::sync::Mutex<()>,
    pub(crate) elsewhere: Option<Arc<dyn Forgets>>,
    journal: Journal,
    settings: Settings,
    plugin_values: Option<KeyValues>,
    embedder: CurrentEmbedder,
    audiences: Audiences,
    index: Index,
    recall: Recall,
    graph: Graph,
    curated: Curated,
    known: KnownDocuments,
    tools: Arc<GraphTools>,
    distiller: Distiller,
    text_log: TextLog,
    context: RelevanceContext,
    nearness: Nearness,
    own_model: OwnModel,
    following: watch::Receiver<Following>,
    progress: watch::Receiver<Progress>,
    rebuilding: watch::Sender<Option<MemoryRebuilding>>,
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
    /// What the database and the file system answer.
    pub fn open(parts: Parts) -> Result<Arc<Self>, OpenError> {
        let Parts { home, journal, settings, bindings, embedder, elsewhere, plugin_values } = parts;
        let database = Database::open(home.join(FILE))?;
        for remark in database.take_remarks() {
            tracing::warn!("{remark}");
        }
        let audiences = Audiences::open(&database, bindings)?;
        let vectors = Vectors::open(&database)?;
        let index = Index::open(&database, &vectors)?;
        let vectoriser = Vectoriser::new(Arc::new(index.clone()), vectors.clone(), embedder.clone());
        let recall = Recall::new(index.clone(), embedder.clone());
        let text_log = TextLog::start(&home, settings.clone())?;
        let follower = Follower::open(
            &database,
            journal.clone(),
            settings.clone(),
            index.clone(),
            audiences.clone(),
            text_log.clone(),
        )?;
        let own_model = OwnModel::open(&database, settings.clone())?;
        let graph = Graph::open(&database, audiences.clone())?;
        graph.set_vectors(vectors.clone());
        recall.set_entities(Arc::new(graph.clone()));
        let names = Vectoriser::new(Arc::new(graph.clone()), vectors.clone(), embedder.clone());
        let curated = Curated::open(&home);
        let tools = Arc::new(GraphTools::new(graph.clone(), curated.clone(), audiences.clone()));
        let name_vectors = NameVectors::new(graph.clone(), vectors.clone(), embedder.clone());
        tools.set_names(name_vectors.clone());
        let documents = Documents::open(&home, &database, &vectors)?;
        documents.set_index(index.clone());
        let known = KnownDocuments::open(&database, graph.clone(), documents.clone())?;
        tools.set_known(known.clone());
        let distiller = Distiller::open(distill::Parts {
            database: database.clone(),
            journal: journal.clone(),
            settings: settings.clone(),
            graph: graph.clone(),
            names: Some(name_vectors),
            known: Some(known.clone()),
            documents: Some(Arc::new(Cold { documents: documents.clone(), settings: settings.clone() })),
            judge: Some(Arc::new(own_model.clone())),
        })?;
        crate::transfer::prepare(&database)?;
        let context = RelevanceContext::open(context::Parts {
            home: home.clone(),
            journal: journal.clone(),
            settings: settings.clone(),
            database: database.clone(),
            documents: documents.clone(),
            embedder: embedder.clone(),
        })?;
        let memory = Self {
            home,
            database,
            forgetting: tokio::sync::Mutex::default(),
            elsewhere,
            following: follower.state(),
            progress: vectoriser.progress(),
            rebuilding: watch::Sender::new(None),
            nearness: Nearness::new(embedder.clone()),
            own_model,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            journal,
            settings,
            plugin_values,
            embedder,
            audiences,
            index,
            recall,
            graph,
            curated,
            known,
            tools,
            distiller,
            text_log,
            context,
        };
        memory.tasks.spawn(follower.run(memory.stop.clone()));
        let stop = || memory.stop.clone();
        memory.tasks.spawn(vectoriser.run(stop()));
        memory.tasks.spawn(names.run(stop()));
        memory.tasks.spawn(documents.clone().keep_vectors(memory.embedder.clone(), stop()));
        memory.tasks.spawn(memory.distiller.clone().run(stop()));
        let (looked_at, known) = (memory.database.clone(), memory.known.clone());
        memory.tasks.spawn_blocking(move || {
            if let Err(error) = known.catch_up() {
                tracing::warn!(%error, "documents may tell what the graph knows no more");
            }
            if let Err(error) = documents.look_through().and_then(|_| documents.offer_missing()) {
                tracing::warn!(%error, "the folder of documents can't be looked through");
            }
            match looked_at.damage() {
                Ok(findings) => findings.iter().for_each(|finding| tracing::error!("{finding}")),
                Err(error) => tracing::error!(%error, "the memory's file can't be looked through"),
            }
        });
        let memory = Arc::new(memory);
        let going_on = Arc::clone(&memory);
        memory.tasks.spawn(async move { going_on.go_on_forgetting().await });
        memory.tools.set_recaller(Arc::new(OwnRecall(Arc::downgrade(&memory))));
        Ok(memory)
    }

    /// What is being made anew, for whoever looks.
    pub(crate) fn rebuilding(&self) -> &watch::Sender<Option<MemoryRebuilding>> {
        &self.rebuilding
    }

    pub(crate) fn home(&self) -> &std::path::Path {
        &self.home
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What plugins keep, where there are plugins.
    pub(crate) fn plugin_values(&self) -> Option<&KeyValues> {
        self.plugin_values.as_ref()
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    pub(crate) fn text_log(&self) -> &TextLog {
        &self.text_log
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

    /// What stands before the model in each conversation, and the documents that left it.
    #[must_use]
    pub fn context(&self) -> &RelevanceContext {
        &self.context
    }

    /// Who and what was spoken of.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The facts that the agent and the owner keep by hand.
    #[must_use]
    pub fn curated(&self) -> &Curated {
        &self.curated
    }

    /// What the graph knows, as documents.
    #[must_use]
    pub fn known(&self) -> &KnownDocuments {
        &self.known
    }

    /// What its parts offer the agent's models.
    #[must_use]
    pub fn toolboxes(&self) -> Vec<Arc<dyn Toolbox>> {
        let (context, audiences, embedder) = (self.context.clone(), self.audiences.clone(), self.embedder.clone());
        let (recall, journal, settings) = (self.recall.clone(), self.journal.clone(), self.settings.clone());
        let sessions = SessionTools::new(recall, journal, audiences.clone(), settings);
        let documents = DocumentTools::new(context, audiences, embedder);
        vec![Arc::clone(&self.tools) as _, Arc::new(documents), Arc::new(sessions)]
    }

    /// From now on, models are asked by this one, for as long as it lives.
    pub fn set_adviser(&self, adviser: Weak<dyn Adviser>) {
        self.own_model.set_adviser(adviser);
    }

    /// Asks a model about what the memory keeps, behind all people; none when the day's budget is used up.
    ///
    /// # Errors
    ///
    /// As for [`Adviser::advise`]; [`CallError::NotLive`] while nobody asks models.
    pub async fn advise(&self, advice: Advice) -> Result<Option<String>, CallError> {
        self.own_model.ask(advice).await
    }

    pub(crate) async fn near(&self, query: &str, texts: Arc<[String]>) -> Vec<f32> {
        self.nearness.of(query, texts).await
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

    /// How far it is with the vectors of passages, as that changes.
    #[must_use]
    pub fn vectors(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Returns once all that the journal has at this moment can be found.
    pub async fn caught_up(&self) {
        let tip = *self.journal.tip().borrow();
        let mut following = self.following.clone();
        // An error only says that nobody follows any more.
        let _ = following.wait_for(|following| following.reached >= tip).await;
    }

    /// Finds passages, best first. `speaker` is who asks, as people call them; `patience` is as in [`Ask::patience`].
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
        speaker: Option<String>,
        patience: Option<Duration>,
    ) -> Result<Vec<Hit>, RecallError> {
        let ask = Ask {
            text: text.to_owned(),
            viewer,
            now_ms: i64::try_from(now()).unwrap_or(i64::MAX),
            time_zone: zone(&self.settings),
            limit,
            conversation: None,
            speaker,
            kinds,
            patience,
        };
        self.recall.recall(&ask).await
    }

    /// Stops its work in order: what is begun is finished.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.context.flush().await;
        self.text_log.flush().await;
    }
}
