//! A model that knows letters alone: its vectors are the same whenever it is asked.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_language::embed::{EmbedError, Embedder, ModelIdentity, Purpose};

pub(crate) struct Letters {
    identity: ModelIdentity,
}

impl Letters {
    pub(crate) fn embedder() -> Arc<dyn Embedder> {
        let identity = ModelIdentity {
            name: "letters".to_owned(),
            kind: "static".to_owned(),
            digest: "1".to_owned(),
            dimensions: 32,
            pooling: "mean".to_owned(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: false,
        };
        Arc::new(Self { identity })
    }
}

#[async_trait]
impl Embedder for Letters {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &String| {
            let mut vector = vec![0.1; self.identity.dimensions];
            text.chars().take(2_000).for_each(|c| vector[c as usize % 32] += 1.0);
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}
