//! The embedding models of a home: what is in the folder `models`, which of them is used, and how others get there. It
//! binds the embedders of `language` to the settings, the sources and the network. It does not know what vectors are for.

mod download;
mod install;
mod line;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use homeagent_language::embed::{
    Choice, CurrentEmbedder, EmbedError, Manager, ModelFolder, Purpose, SOURCE, State, WORDS, Wishes,
};
use homeagent_network::Network;
use homeagent_settings::{Settings, SourceLine, Sources};
use homeagent_types::CallError;
use homeagent_types::embedding::{
    EmbedderListing, EmbedderStatus, Embedders, EmbeddingTrial, InstalledModel, OfferedModel,
};
use homeagent_types::ports::{EmbeddingModels, Models};
use tokio::sync::{Mutex, broadcast, watch};
use tokio_util::task::AbortOnDropHandle;

use self::line::Line;

/// The folder of models, in the data folder.
const FOLDER: &str = "models";
/// How often is looked whether there is a source for vectors: sources tell nobody that they changed.
const LOOK: Duration = Duration::from_secs(10);

/// What it needs.
pub struct Parts {
    /// The data folder.
    pub home: PathBuf,
    /// The settings.
    pub settings: Settings,
    /// The sources.
    pub sources: Sources,
    /// The way to the Internet, for models that are fetched; none where there is none.
    pub network: Option<Network>,
}

/// The embedding models at work. Dropping it ends the embedder.
pub struct LocalModels {
    folder: PathBuf,
    settings: Settings,
    network: Option<Network>,
    manager: Manager,
    line: Arc<Line>,
    /// One at a time: two of one name would meet in one folder.
    installing: Mutex<()>,
    _following: AbortOnDropHandle<()>,
}

impl LocalModels {
    /// Begins to load the best embedder and returns at once. To be called within a tokio runtime.
    #[must_use]
    pub fn start(parts: Parts) -> Self {
        let Parts { home, settings, sources, network } = parts;
        let folder = home.join(FOLDER);
        let changes = settings.subscribe();
        let wishes = Wanted { folder: folder.clone(), settings: settings.clone(), sources };
        let (tell, told) = watch::channel(wishes.now());
        let line = Arc::<Line>::default();
        let manager = Manager::start(told, Some(Arc::clone(&line) as Arc<dyn Models>));
        let following = AbortOnDropHandle::new(tokio::spawn(wishes.follow(tell, changes)));
        let installing = Mutex::default();
        Self { folder, settings, network, manager, line, installing, _following: following }
    }

    /// The embedder at work, for whoever keeps vectors.
    #[must_use]
    pub fn current(&self) -> CurrentEmbedder {
        self.manager.current()
    }

    /// Has the sources asked by these from now on. They are not kept alive.
    pub fn ask(&self, models: Weak<dyn Models>) {
        self.line.ask(models);
        self.manager.look_again();
    }

    fn status(&self) -> EmbedderStatus {
        let status = self.manager.status();
        let state = match status.state {
            State::Loading => "loading",
            State::Ready => "ready",
            State::Without => "without",
        };
        EmbedderStatus {
            state: state.to_owned(),
            name: status.name,
            kind: status.identity.as_ref().map(|identity| identity.kind.clone()),
            dimensions: status.identity.as_ref().map(|identity| identity.dimensions),
            why: status.why,
            complaint: status.complaint,
            runtime: status.runtime.map(|runtime| runtime.to_string()),
            sessions: status.sessions,
        }
    }
}

/// Reads what the owner wants, and tells of changes.
struct Wanted {
    folder: PathBuf,
    settings: Settings,
    sources: Sources,
}

impl Wanted {
    fn now(&self) -> Wishes {
        let text =
            |key| self.settings.text(key).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let sessions = self.settings.integer("core.models.sessions").unwrap_or(1);
        Wishes {
            models: self.folder.clone(),
            embedder: text("core.models.embedder"),
            onnx_runtime: text("core.models.onnx_runtime").map(PathBuf::from),
            sessions: usize::try_from(sessions).unwrap_or(1),
            source: self.sources.line(SourceLine::Embedding).iter().any(|source| source.enabled),
        }
    }

    async fn follow(self, tell: watch::Sender<Wishes>, mut changes: broadcast::Receiver<Arc<str>>) {
        loop {
            tokio::select! {
                change = changes.recv() => if matches!(change, Err(broadcast::error::RecvError::Closed)) { return },
                () = tokio::time::sleep(LOOK) => {}
                () = tell.closed() => return,
            }
            let wishes = self.now();
            tell.send_if_modified(|told| {
                let changed = *told != wishes;
                *told = wishes;
                changed
            });
        }
    }
}

#[async_trait]
impl EmbeddingModels for LocalModels {
    async fn list(&self) -> Embedders {
        let status = self.status();
        let wishes = Wishes { models: self.folder.clone(), source: true, ..Wishes::default() };
        let used = status.name.clone();
        let looked = tokio::task::spawn_blocking(move || {
            Choice::all(&wishes).iter().map(|choice| listing(choice, &used)).collect()
        });
        let offered = download::OFFERED.iter().map(|offer| OfferedModel {
            name: offer.name.to_owned(),
            about: offer.about.to_owned(),
            url: offer.page(),
        });
        Embedders { status, embedders: looked.await.unwrap_or_default(), offered: offered.collect() }
    }

    async fn install(&self, from: &str) -> Result<InstalledModel, CallError> {
        let _one = self.installing.lock().await;
        let path = Path::new(from);
        let installed = if path.is_absolute() {
            let (path, models) = (path.to_owned(), self.folder.clone());
            off_the_workers(move || install::from_disk(&path, &models)).await?
        } else {
            let offer = download::OFFERED.iter().find(|offer| offer.name == from).ok_or_else(|| {
                let names: Vec<_> = download::OFFERED.iter().map(|offer| offer.name).collect();
                CallError::NotFound(format!(
                    "there is no folder \"{from}\", and no model of this name can be fetched; those that can: {}",
                    names.join(", ")
                ))
            })?;
            install::check_name(offer.name, &self.folder)?;
            let partial = install::partial(offer.name, &self.folder)?;
            let network = self.network.as_ref().ok_or_else(|| CallError::Conflict("there is no network".to_owned()))?;
            download::fetch(network, offer, &partial).await?;
            let models = self.folder.clone();
            off_the_workers(move || install::finish(offer.name, &partial, &models)).await?
        };
        self.manager.look_again();
        Ok(installed)
    }

    async fn choose(&self, name: Option<&str>) -> Result<EmbedderStatus, CallError> {
        let (settings, models, name) = (self.settings.clone(), self.folder.clone(), name.map(str::to_owned));
        off_the_workers(move || {
            let key = "core.models.embedder";
            let set = match &name {
                None => settings.unset(key),
                Some(name) => {
                    known(name, models)?;
                    settings.set(key, name.as_str())
                }
            };
            set.map_err(|error| CallError::NotStored(error.to_string()))
        })
        .await?;
        Ok(self.status())
    }

    async fn try_texts(&self, question: String, answer: Option<String>) -> Result<EmbeddingTrial, CallError> {
        let embedder = self.current().borrow().clone();
        let embedder = embedder.ok_or_else(|| {
            let status = self.status();
            CallError::Conflict(format!("the embedder {} is {}; try again in a moment", status.name, status.state))
        })?;
        let mut vectors = Vec::new();
        let mut took_ms = Vec::new();
        for (purpose, text) in
            std::iter::once((Purpose::Query, question)).chain(answer.map(|it| (Purpose::Passage, it)))
        {
            let began = Instant::now();
            let made =
                embedder.embed(purpose, vec![text]).await.map_err(|error| CallError::Other(error.to_string()))?;
            took_ms.push(began.elapsed().as_secs_f64() * 1e3);
            vectors.extend(made);
        }
        let identity = embedder.identity();
        Ok(EmbeddingTrial {
            name: identity.name.clone(),
            kind: identity.kind.clone(),
            dimensions: identity.dimensions,
            took_ms,
            similarity: vectors.get(1).map(|other| cosine(&vectors[0], other)),
        })
    }
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let lengths = (product(one, one) * product(other, other)).sqrt();
    if lengths > 0.0 { product(one, other) / lengths } else { 0.0 }
}

fn known(name: &str, models: PathBuf) -> Result<(), CallError> {
    // A source may be named before it is there.
    let all = Choice::all(&Wishes { models, source: true, ..Wishes::default() });
    if all.iter().any(|choice| choice.name() == name) {
        return Ok(());
    }
    let names: Vec<_> = all.iter().map(Choice::name).collect();
    Err(CallError::NotFound(format!("there is no embedder \"{name}\"; there are: {}", names.join(", "))))
}

fn listing(choice: &Choice, used: &str) -> EmbedderListing {
    let files: Vec<PathBuf> = match choice {
        Choice::Sentences(folder) => install::files(folder),
        Choice::Words(vectors) => vectors.files().into_iter().map(Path::to_owned).collect(),
        Choice::Source | Choice::TfIdf => Vec::new(),
    };
    let path = match choice {
        Choice::Sentences(ModelFolder { path, .. }) => Some(path.display().to_string()),
        _ => files.first().map(|file| file.display().to_string()),
    };
    let bytes = files.iter().map(|file| std::fs::metadata(file).map_or(0, |found| found.len())).sum();
    EmbedderListing {
        name: choice.name().to_owned(),
        what: choice.describe().to_owned(),
        bytes: path.is_some().then_some(bytes),
        path,
        used: choice.name() == used,
    }
}

/// Whether a name means something else than a model's.
fn is_reserved(name: &str) -> bool {
    [SOURCE, WORDS].contains(&name)
}

async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CallError> + Send + 'static,
) -> Result<T, CallError> {
    let broke = |_| CallError::Other("the work broke off; the log says more".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(broke)?
}

fn unusable(error: EmbedError) -> CallError {
    CallError::Invalid(error.0)
}

#[cfg(test)]
mod tests;
