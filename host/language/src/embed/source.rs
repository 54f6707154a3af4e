//! Vectors by a source: an endpoint of a vendor or of a server at home.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_types::lines::{VectorRequest, Vectors};
use homeagent_types::model::EmbeddingPurpose;
use homeagent_types::ports::Models;
use homeagent_types::{Audience, Cause, Meta, Principal, Role};

use super::cache::Cache;
use super::session::{check, normalise};
use super::{EmbedError, Embedder, ModelIdentity, Purpose};

/// How long one request may take.
const DEADLINE_MS: u64 = 60_000;
/// The most bytes of one text that are sent; vendors refuse what is beyond their model's window.
const TEXT_BYTES: usize = 8 << 10;

/// A source's model, always the same: other sources of the line are asked only where they serve it too.
pub(super) struct SourceEmbedder {
    identity: ModelIdentity,
    models: Arc<dyn Models>,
    cache: Cache,
}

impl SourceEmbedder {
    /// Asks the line for a first vector, to learn which model it has.
    pub(super) async fn open(models: Arc<dyn Models>) -> Result<Self, EmbedError> {
        let first = ask(models.as_ref(), EmbeddingPurpose::Document, &["a".to_owned()], None).await?;
        if first.dimensions == 0 {
            return Err(EmbedError(format!("The source {} makes vectors without a single number.", first.source)));
        }
        let identity = ModelIdentity {
            name: first.model.clone(),
            kind: "source".to_owned(),
            digest: first.model,
            dimensions: first.dimensions,
            pooling: "its own".to_owned(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: true,
        };
        let cache = Cache::new(&identity);
        Ok(Self { identity, models, cache })
    }
}

#[async_trait]
impl Embedder for SourceEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<String> = texts.into_iter().map(cut).collect();
        let keys: Vec<_> = texts.iter().map(|text| self.cache.key(purpose, text)).collect();
        let mut vectors: Vec<_> = keys.iter().map(|key| self.cache.get(key)).collect();
        // Vendors refuse a text without a character; it has the vector of nothing.
        for (vector, _) in vectors.iter_mut().zip(&texts).filter(|(_, text)| text.trim().is_empty()) {
            *vector = Some(vec![0.0; self.identity.dimensions]);
        }
        let missing: Vec<usize> = (0..texts.len()).filter(|at| vectors[*at].is_none()).collect();
        if !missing.is_empty() {
            let wanted: Vec<String> = missing.iter().map(|at| texts[*at].clone()).collect();
            let purpose = match purpose {
                Purpose::Query => EmbeddingPurpose::Query,
                Purpose::Passage => EmbeddingPurpose::Document,
            };
            let mut made = ask(self.models.as_ref(), purpose, &wanted, Some(&self.identity.name)).await?.vectors;
            check(&made, wanted.len(), self.identity.dimensions)?;
            for (at, vector) in missing.into_iter().zip(&mut made) {
                normalise(vector);
                self.cache.put(keys[at], vector.clone());
                vectors[at] = Some(std::mem::take(vector));
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES));
    text
}

async fn ask(
    models: &dyn Models,
    purpose: EmbeddingPurpose,
    texts: &[String],
    model: Option<&str>,
) -> Result<Vectors, EmbedError> {
    let cause = cause();
    let answer = models.embed(VectorRequest { texts, purpose, model, cause: &cause }).await;
    answer.map_err(|failure| EmbedError(failure.sentence))
}

/// It is the owner's memory that asks.
fn cause() -> Cause {
    Cause {
        run: None,
        conversation: None,
        principal: Principal {
            namespace: "host".to_owned(),
            user: "memory".to_owned(),
            role: Role::Owner,
            display_name: None,
            attested: true,
        },
        audience: Audience::Agent,
        deadline_ms: DEADLINE_MS,
        chain: Vec::new(),
        meta: Meta::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]
mod tests {
    use std::sync::Mutex;

    use homeagent_types::model::Completion;
    use homeagent_types::ports::{LineRequest, ModelsFailure, Progress};

    use super::*;

    /// A line whose vectors say how many bytes a text has, and which remembers what it was asked for.
    #[derive(Default)]
    struct Line {
        asked: Mutex<Vec<(Vec<String>, Option<String>)>>,
    }

    #[async_trait]
    impl Models for Line {
        async fn complete(&self, _: LineRequest<'_>, _: &dyn Progress) -> Result<Completion, ModelsFailure> {
            Err(ModelsFailure { sentence: "It only makes vectors.".to_owned(), tried: Vec::new(), partial: None })
        }

        async fn embed(&self, request: VectorRequest<'_>) -> Result<Vectors, ModelsFailure> {
            self.asked.lock().unwrap().push((request.texts.to_vec(), request.model.map(str::to_owned)));
            let vectors = request.texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect();
            Ok(Vectors { source: "home".into(), model: "bge-m3".into(), dimensions: 2, vectors, usage: None })
        }
    }

    #[tokio::test]
    async fn the_model_that_answered_first_is_the_only_one_asked_and_each_text_once() {
        let line = Arc::new(Line::default());
        let embedder = SourceEmbedder::open(Arc::clone(&line) as Arc<dyn Models>).await.unwrap();
        assert_eq!((embedder.identity().name.as_str(), embedder.identity().dimensions), ("bge-m3", 2));
        let texts = vec!["猫".to_owned(), "  ".to_owned(), "x".repeat(3 * TEXT_BYTES)];
        let first = embedder.embed(Purpose::Passage, texts.clone()).await.unwrap();
        let again = embedder.embed(Purpose::Passage, texts).await.unwrap();
        assert_eq!(first, again);
        assert_eq!(first[1], [0.0, 0.0]);
        let asked = line.asked.lock().unwrap();
        assert_eq!(asked.len(), 2, "the second time nothing is asked");
        assert_eq!(asked[1].1.as_deref(), Some("bge-m3"));
        assert_eq!(asked[1].0.iter().map(String::len).collect::<Vec<_>>(), [3, TEXT_BYTES]);
    }
}
