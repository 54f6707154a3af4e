//! Which embedder is the best at hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_types::ports::Models;

use super::folder::ModelFolder;
use super::open::open_model;
use super::runtime::Places;
use super::source::SourceEmbedder;
use super::statics::StaticVectors;
use super::{EmbedError, Embedder, tfidf};

/// The name by which an embedding source is chosen.
pub const SOURCE: &str = "source";
/// The name by which the words themselves are chosen.
pub const WORDS: &str = "tf-idf";

/// What the owner wants of embedders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// The folder of models.
    pub models: PathBuf,
    /// The name of a model in that folder, `source` or `tf-idf`; none: the best there is.
    pub embedder: Option<String>,
    /// The file or folder of ONNX Runtime.
    pub onnx_runtime: Option<PathBuf>,
    /// How many texts a sentence model embeds at one time, each on a thread of its own.
    pub sessions: usize,
    /// Whether there is a source on the embedding line.
    pub source: bool,
}

/// An embedder that could be used.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A sentence model.
    Sentences(ModelFolder),
    /// The sources of the embedding line.
    Source,
    /// Vectors of single words.
    Words(StaticVectors),
    /// The words themselves, without a model.
    TfIdf,
}

impl Choice {
    /// All there are, the best first: what the owner names, sentence models, a source, word vectors, words.
    pub fn all(wishes: &Wishes) -> Vec<Self> {
        let mut all: Vec<Self> = ModelFolder::all_in(&wishes.models).into_iter().map(Self::Sentences).collect();
        all.extend(wishes.source.then_some(Self::Source));
        all.extend(StaticVectors::all_in(&wishes.models).into_iter().map(Self::Words));
        all.push(Self::TfIdf);
        let named = wishes.embedder.as_deref();
        // A stable sort: what is not named keeps its order.
        all.sort_by_key(|choice| named != Some(choice.name()));
        all
    }

    /// The name by which it is chosen.
    pub fn name(&self) -> &str {
        match self {
            Self::Sentences(folder) => &folder.name,
            Self::Source => SOURCE,
            Self::Words(vectors) => &vectors.name,
            Self::TfIdf => WORDS,
        }
    }

    /// What it is, for people.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Sentences(_) => "sentence model",
            Self::Source => "source",
            Self::Words(_) => "word vectors",
            Self::TfIdf => "words",
        }
    }

    /// Whether it is the very same at work: the same files, used in the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sentences(one), Self::Sentences(other)) => one == other,
            (Self::Words(one), Self::Words(other)) => one == other,
            (Self::Source, Self::Source) | (Self::TfIdf, Self::TfIdf) => true,
            _ => false,
        }
    }

    /// Opens it.
    pub(super) async fn open(
        &self,
        wishes: &Wishes,
        models: Option<&Arc<dyn Models>>,
    ) -> Result<Arc<dyn Embedder>, EmbedError> {
        if let Self::Source = self {
            let nobody = || EmbedError("There is nothing here that asks sources.".to_owned());
            return Ok(Arc::new(SourceEmbedder::open(Arc::clone(models.ok_or_else(nobody)?)).await?));
        }
        let (choice, wishes) = (self.clone(), wishes.clone());
        let opened = tokio::task::spawn_blocking(move || choice.open_local(&wishes)).await;
        opened.unwrap_or_else(|_| Err(EmbedError("The embedding model failed within.".to_owned())))
    }

    /// Opens what needs no source. Slow.
    fn open_local(&self, wishes: &Wishes) -> Result<Arc<dyn Embedder>, EmbedError> {
        match self {
            Self::Sentences(folder) => open_model(folder, &wishes.places(), wishes.sessions.max(1)),
            Self::Words(vectors) => Ok(Arc::new(vectors.open()?)),
            Self::Source | Self::TfIdf => Ok(Arc::new(tfidf::open()?)),
        }
    }
}

impl Wishes {
    /// Where ONNX Runtime is looked for.
    fn places(&self) -> Places {
        Places {
            named: self.onnx_runtime.clone(),
            models: Some(self.models.clone()).filter(|path| path != Path::new("")),
        }
    }

    /// What is to be said where the named one is not there.
    pub(super) fn missing(&self, all: &[Choice]) -> Option<String> {
        let named = self.embedder.as_deref()?;
        let there = all.iter().any(|choice| choice.name() == named);
        let names: Vec<_> = all.iter().map(Choice::name).collect();
        (!there).then(|| format!("There is no embedder \"{named}\"; there are: {}.", names.join(", ")))
    }
}
