//! Vectors of text, whoever makes them.

mod cache;
mod choice;
mod each;
mod folder;
mod hash;
pub mod int8;
mod manager;
mod onnx;
mod open;
mod pool;
mod runtime;
mod session;
mod source;
mod statics;
mod tfidf;
mod tract;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use choice::{Choice, SOURCE, WORDS, Wishes};
pub use each::embed_each;
pub use folder::{CARD, GRAPH, ModelFolder, Pooling, TOKENIZER_FILES, Usage};
pub use manager::{Manager, State, Status};
pub use open::{open_folder, open_in_rust, open_model};
pub use runtime::{Places, Runtime};
pub use statics::StaticVectors;

/// What a text is embedded for. Many models want to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Something that is looked for.
    Query,
    /// Something that is to be found.
    Passage,
}

/// Everything on which it depends what a vector means. Vectors of two identities are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The model's name, for people.
    pub name: String,
    /// What made its vectors: `onnx`, `tract`, `source`, `static`, `tf-idf`.
    pub kind: String,
    /// The SHA-256 of the model's files, in hexadecimal digits; the source's own name of the model where there are none.
    pub digest: String,
    /// How long a vector is.
    pub dimensions: usize,
    /// How the vectors of a text's tokens become one.
    pub pooling: String,
    /// What is put before a query.
    pub query_prefix: String,
    /// What is put before a passage.
    pub passage_prefix: String,
    /// Whether a vector has the length 1.
    pub normalised: bool,
}

impl fmt::Display for ModelIdentity {
    /// The text under which its vectors are kept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, digest, dimensions, pooling, query_prefix, passage_prefix, normalised } = self;
        let digest = digest.get(..16).unwrap_or(digest);
        write!(f, "{kind}/{name}/{digest}/{dimensions}/{pooling}/{query_prefix}/{passage_prefix}/{normalised}")
    }
}

/// Why there is no vector.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(pub String);

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Whose vectors they are.
    fn identity(&self) -> &ModelIdentity;

    /// A vector for each text, in their order, each as long as the identity says.
    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// The embedder in use; none while it is being loaded. Whoever keeps vectors waits for changes of it.
pub type CurrentEmbedder = watch::Receiver<Option<Arc<dyn Embedder>>>;
