//! Vectors of documents: in a file beside each, and in the memory's table, from which they are searched.

use std::io;

use homeagent_language::embed::{CurrentEmbedder, Embedder, ModelIdentity, Purpose};
use tokio_util::sync::CancellationToken;

use super::store::{DocumentError, Documents};
use super::table::Listed;
use super::vector_file::StoredVector;
use crate::context::mean;
use crate::vectors::Kind;

/// How many documents are looked at before others get their turn.
const PAGE: usize = 64;

/// The most texts of a document that its vector is made of.
const MOST_TEXTS: usize = 24;

/// A vector, and all on which it depends what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentVector {
    /// Whose it is.
    pub model: ModelIdentity,
    /// The vector.
    pub vector: Vec<f32>,
}

impl Documents {
    /// Keeps a document's vector, in the file beside it and in the table.
    pub(crate) fn keep_vector(&self, id: &str, number: i64, vector: &DocumentVector) -> Result<(), DocumentError> {
        let path = self.vector_path(id);
        let stored = StoredVector { model: vector.model.to_string(), vector: vector.vector.clone() };
        let written = {
            let _one_at_a_time = self.files();
            stored.write(&path)
        };
        written.map_err(|source| DocumentError::File { path, doing: "writing the vector of", source })?;
        self.vectors().put(Kind::Document, &[(number, vector.vector.clone())], &vector.model)?;
        Ok(())
    }

    /// Gives each document a vector of the current model, until it is told to stop: from the file beside it where that
    /// has one, else anew. A file that is damaged is written again.
    pub async fn keep_vectors(self, mut embedder: CurrentEmbedder, stop: CancellationToken) {
        loop {
            let current = embedder.borrow_and_update().clone();
            if let Some(current) = current {
                let pass = self.make_vectors(&*current);
                tokio::select! {
                    () = stop.cancelled() => return,
                    // Another model came: what was made for the old one is not needed.
                    Ok(()) = embedder.changed() => continue,
                    done = pass => if let Err(error) = done {
                        tracing::warn!(%error, "documents are found by their words alone");
                    },
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed().notified() => {}
                changed = embedder.changed() => if changed.is_err() {
                    // Nobody will ever load one; documents still come.
                    stop.cancelled().await;
                    return;
                },
            }
        }
    }

    /// Gives each document that has none a vector of this model.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer; what is done until then is kept.
    pub async fn make_vectors(&self, embedder: &dyn Embedder) -> Result<(), DocumentError> {
        let mut after = 0;
        loop {
            let (documents, model) = (self.clone(), embedder.identity().clone());
            let page = blocking(move || documents.page(after, &model)).await?;
            let Some(last) = page.last else { return Ok(()) };
            after = last;
            for (listed, texts) in page.missing {
                let Some(vector) = vector_of(embedder, texts).await else { continue };
                let documents = self.clone();
                blocking(move || documents.keep_vector(&listed.id, listed.number, &vector)).await?;
            }
        }
    }

    /// The next documents, and those of them for which a vector is to be made.
    fn page(&self, after: i64, model: &ModelIdentity) -> Result<Page, DocumentError> {
        let listed = self.after(after, PAGE)?;
        let numbers: Vec<i64> = listed.iter().map(|listed| listed.number).collect();
        let missing = self.vectors().missing(Kind::Document, &numbers, model)?;
        let mut page = Page { last: numbers.last().copied(), missing: Vec::new() };
        let mut restored = Vec::new();
        for listed in listed.into_iter().filter(|listed| missing.contains(&listed.number)) {
            match StoredVector::read(&self.vector_path(&listed.id)) {
                Ok(stored) if stored.model == model.to_string() && stored.vector.len() == model.dimensions => {
                    restored.push((listed.number, stored.vector));
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    tracing::info!(document = listed.id, "the vector of a document is damaged, and made anew");
                }
                // Of another model, or not there yet.
                _ => {}
            }
            if let Ok(document) = self.read(&listed.id) {
                page.missing.push((listed, document.texts()));
            }
        }
        self.vectors().put(Kind::Document, &restored, model)?;
        Ok(page)
    }
}

struct Page {
    /// The number of the last one; none: there are no more.
    last: Option<i64>,
    missing: Vec<(Listed, Vec<String>)>,
}

/// The mean of the vectors of a document's texts, as the context makes it, so that both share a space.
async fn vector_of(embedder: &dyn Embedder, mut texts: Vec<String>) -> Option<DocumentVector> {
    texts.truncate(MOST_TEXTS);
    let vectors = embedder.embed(Purpose::Passage, texts).await;
    let vectors = vectors.inspect_err(|error| tracing::debug!(%error, "a document got no vector")).ok()?;
    let vector = mean(vectors.iter().map(Vec::as_slice))?;
    Some(DocumentVector { model: embedder.identity().clone(), vector })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DocumentError> + Send + 'static,
) -> Result<T, DocumentError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(DocumentError::Missing("any more: the daemon ends".to_owned())),
    }
}
