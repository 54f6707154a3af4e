//! The one way to recall: by words, meaning, neighbours, session, speaker, entities and time at once, over what the
//! viewer may see.

mod ask;
mod cues;
mod keyword;
mod meaning;
mod rank;
#[cfg(test)]
mod tests;
mod weights;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use homeagent_language::embed::{CurrentEmbedder, ModelIdentity, Purpose};
use homeagent_settings::DatabaseError;

pub(crate) use ask::asked;
pub use ask::{Ask, EntitySource, Hit, Parts};
pub use weights::Weights;

use crate::index::Index;

/// How long a question may take to become a vector. A busy model must not hold up an answer: then words alone decide.
const EMBEDDING: Duration = Duration::from_secs(2);

/// Finds passages. Clones share what it searches.
#[derive(Clone)]
pub struct Recall {
    index: Index,
    embedder: CurrentEmbedder,
    entities: Arc<OnceLock<Arc<dyn EntitySource>>>,
    /// With words alone, and with meaning.
    weights: [Weights; 2],
}

/// A question's vector, and whose it is.
pub(crate) struct QuestionVector {
    pub(crate) vector: Vec<f32>,
    pub(crate) model: ModelIdentity,
}

/// Why nothing could be recalled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecallError {
    /// The database did not answer.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The search was broken off, as happens when the program ends.
    #[error("the search was broken off: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

impl Recall {
    /// Over an index, with the embedder that is in use at each moment; while there is none, by words alone.
    #[must_use]
    pub fn new(index: Index, embedder: CurrentEmbedder) -> Self {
        Self { index, embedder, entities: Arc::default(), weights: [Weights::words(), Weights::meaning()] }
    }

    /// Also by the entities that a question names, from now on and for all clones. The first source given stays.
    pub fn set_entities(&self, source: Arc<dyn EntitySource>) {
        // Whoever comes second offers the same graph.
        let _ = self.entities.set(source);
    }

    /// The same with other weights, such as none for a part whose worth is measured: those for words alone and those for
    /// when the question has a vector.
    #[must_use]
    pub fn with_weights(&self, words: Weights, meaning: Weights) -> Self {
        Self { weights: [words, meaning], ..self.clone() }
    }

    /// The passages that answer a question best, best first; of equal texts only the best. Never one that the question's
    /// viewer may not see.
    ///
    /// # Errors
    ///
    /// [`RecallError::Database`] when the index can't be read. A model that fails is no error: then words alone decide.
    pub async fn recall(&self, ask: &Ask) -> Result<Vec<Hit>, RecallError> {
        let ask = Ask { text: asked(&ask.text).into_owned(), ..ask.clone() };
        let question = self.question_vector(&ask.text, ask.patience).await;
        let recall = self.clone();
        let hits = tokio::task::spawn_blocking(move || recall.rank(&ask, question.as_ref()));
        Ok(hits.await??)
    }

    async fn question_vector(&self, text: &str, patience: Option<Duration>) -> Option<QuestionVector> {
        if text.trim().is_empty() {
            return None;
        }
        let embedder = self.embedder.borrow().clone()?;
        // The other half is for the search itself.
        let most = patience.map_or(EMBEDDING, |patience| EMBEDDING.min(patience / 2));
        let made = tokio::time::timeout(most, embedder.embed(Purpose::Query, vec![text.to_owned()])).await;
        let vector = match made {
            Ok(Ok(vectors)) => vectors.into_iter().next()?,
            Ok(Err(error)) => {
                tracing::warn!(%error, "recalling by words alone");
                return None;
            }
            Err(_) => {
                tracing::debug!("recalling by words alone: the model takes too long");
                return None;
            }
        };
        Some(QuestionVector { vector, model: embedder.identity().clone() })
    }
}
