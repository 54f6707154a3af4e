//! The graph as the recall of passages sees it, and its names as vectors.

use std::sync::Arc;
use std::time::Duration;

use homeagent_language::embed::{CurrentEmbedder, ModelIdentity, Purpose};
use homeagent_settings::DatabaseError;
use homeagent_types::Viewer;
use tokio::sync::Notify;

use super::{Graph, GraphError};
use crate::index::PassageKind;
use crate::recall::EntitySource;
use crate::vectors::{Kind, TextSource, Vectors};

/// Passages that are looked at for an entity, the last said first.
const PASSAGES: u32 = 250;

/// Entities that a text is taken to name.
const MENTIONED: usize = 16;

/// Names that are taken from a search for vectors.
const ALIKE: usize = 12;

/// How long a question may take to become a vector.
const EMBEDDING: Duration = Duration::from_secs(2);

impl EntitySource for Graph {
    fn mentioned(&self, text: &str, viewer: &Viewer) -> Vec<(i64, f32)> {
        let found = Graph::mentioned(self, text, viewer).inspect_err(|error| tracing::warn!(%error, "no entities"));
        found.unwrap_or_default().into_iter().take(MENTIONED).collect()
    }

    /// Whoever may not see a passage does not get it from recall, so here all are told.
    fn passages_of(&self, entity: i64) -> Vec<(PassageKind, String)> {
        let origins = self.origins_of(entity, PASSAGES, &Viewer::Everything);
        let origins =
            origins.inspect_err(|error| tracing::warn!(%error, "no passages of an entity")).unwrap_or_default();
        origins.iter().flat_map(|origin| passages(origin)).collect()
    }
}

/// The passages that an origin may be.
fn passages(origin: &str) -> Vec<(PassageKind, String)> {
    match origin.split_once(':') {
        Some(("journal", seq)) => {
            vec![(PassageKind::Said, seq.to_owned()), (PassageKind::Answered, seq.to_owned())]
        }
        Some(("document", id)) => vec![(PassageKind::Document, id.to_owned())],
        _ => Vec::new(),
    }
}

impl TextSource for Graph {
    fn kind(&self) -> Kind {
        Kind::Entity
    }

    fn texts_after(&self, id: i64, limit: usize) -> Result<Vec<(i64, String)>, DatabaseError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        match self.name_texts(id, limit) {
            Ok(texts) => Ok(texts),
            Err(GraphError::Database(error)) => Err(error),
            Err(other) => {
                tracing::warn!(error = %other, "names were not read");
                Ok(Vec::new())
            }
        }
    }

    fn changed(&self) -> Arc<Notify> {
        self.shared.changed.clone()
    }
}

/// Finds names that mean what a question asks for.
#[derive(Clone)]
pub struct NameVectors {
    graph: Graph,
    vectors: Vectors,
    embedder: CurrentEmbedder,
}

impl NameVectors {
    /// Over the vectors that a [`Vectoriser`](crate::vectors::Vectoriser) makes of the graph's names.
    #[must_use]
    pub fn new(graph: Graph, vectors: Vectors, embedder: CurrentEmbedder) -> Self {
        Self { graph, vectors, embedder }
    }

    /// The model of the vectors that are made; none while there is none.
    pub(crate) fn model(&self) -> Option<ModelIdentity> {
        self.embedder.borrow().as_ref().map(|embedder| embedder.identity().clone())
    }

    /// Those rows of names that have no vector of a model, in order. Blocks.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn missing(&self, rows: &[i64], model: &ModelIdentity) -> Result<Vec<i64>, GraphError> {
        Ok(self.vectors.missing(Kind::Entity, rows, model)?)
    }

    /// The rows of names whose vectors are nearest to that of one, of those that `allow` lets through; each with how far it is
    /// on the way from what means nothing (0) to the same (1). Of few nothing is known of what means nothing: then it is the
    /// cosine. Nothing where the row has no vector of the model. For the memory's own work, which shows them to nobody; blocks.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn near(
        &self,
        row: i64,
        model: &ModelIdentity,
        allow: &dyn Fn(i64) -> bool,
    ) -> Result<Vec<(i64, f32)>, GraphError> {
        let nearest = self.vectors.nearest_to(Kind::Entity, row, model, ALIKE, allow)?.unwrap_or_default();
        let nothing = if nearest.best.len() < ALIKE { 0.0 } else { nearest.mean };
        Ok(nearest.best.into_iter().map(|(row, cosine)| (row, above(cosine, nothing))).collect())
    }

    /// Rows of names that the viewer may see, with their likeness to a text from 0 to 1, for
    /// [`Question::alike`](super::Question::alike). Empty while there is no embedder, and when it takes too long.
    pub async fn alike(&self, text: &str, viewer: &Viewer) -> Vec<(i64, f32)> {
        let Some(embedder) = self.embedder.borrow().clone() else { return Vec::new() };
        let made = tokio::time::timeout(EMBEDDING, embedder.embed(Purpose::Query, vec![text.to_owned()])).await;
        let Some(vector) = made.ok().and_then(Result::ok).and_then(|vectors| vectors.into_iter().next()) else {
            return Vec::new();
        };
        let (own, viewer, model) = (self.clone(), viewer.clone(), embedder.identity().clone());
        let search = move || -> Result<Vec<(i64, f32)>, GraphError> {
            let visible = own.graph.visible_names(&viewer)?;
            let nearest = own.vectors.nearest(Kind::Entity, &vector, &model, ALIKE, &visible)?;
            Ok(nearest.best.into_iter().map(|(name, cosine)| (name, above(cosine, nearest.mean))).collect())
        };
        match tokio::task::spawn_blocking(search).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!(%error, "names were not compared");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }
}

/// How far a cosine is above what means nothing, from 0 to 1.
fn above(cosine: f32, nothing: f32) -> f32 {
    ((cosine - nothing) / (1.0 - nothing).max(0.05)).clamp(0.0, 1.0)
}
