//! The sources, which come and go with the agent.

use std::sync::{PoisonError, RwLock, Weak};

use async_trait::async_trait;
use homeagent_types::lines::{VectorRequest, Vectors};
use homeagent_types::model::Completion;
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, Progress};

/// Asks whoever asks the sources now.
#[derive(Default)]
pub(crate) struct Line {
    models: RwLock<Option<Weak<dyn Models>>>,
}

impl Line {
    pub(crate) fn ask(&self, models: Weak<dyn Models>) {
        *self.models.write().unwrap_or_else(PoisonError::into_inner) = Some(models);
    }

    fn models(&self) -> Result<std::sync::Arc<dyn Models>, ModelsFailure> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.as_ref().and_then(Weak::upgrade).ok_or_else(|| ModelsFailure {
            sentence: "The agent is stopped, so no source is asked.".to_owned(),
            tried: Vec::new(),
            partial: None,
        })
    }
}

#[async_trait]
impl Models for Line {
    async fn complete(&self, request: LineRequest<'_>, pieces: &dyn Progress) -> Result<Completion, ModelsFailure> {
        self.models()?.complete(request, pieces).await
    }

    async fn embed(&self, request: VectorRequest<'_>) -> Result<Vectors, ModelsFailure> {
        self.models()?.embed(request).await
    }
}
