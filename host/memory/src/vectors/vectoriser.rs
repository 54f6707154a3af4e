//! Gives a vector of the current model to whatever lacks one, in the background.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use homeagent_language::embed::{CurrentEmbedder, EmbedError, Embedder, ModelIdentity, Purpose, embed_each};
use homeagent_settings::DatabaseError;
use tokio::sync::{Notify, watch};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::{Kind, Vectors};

/// So many texts are embedded at a time.
const BATCH: usize = 32;

/// How long it waits after an error before it goes on.
const PAUSE: Duration = Duration::from_secs(30);

/// Texts that are to have vectors.
pub trait TextSource: Send + Sync {
    /// What their vectors stand for.
    fn kind(&self) -> Kind;

    /// The first texts whose ids are above `id`, ascending, at most `limit`. May block.
    ///
    /// # Errors
    ///
    /// What the database answers.
    fn texts_after(&self, id: i64, limit: usize) -> Result<Vec<(i64, String)>, DatabaseError>;

    /// Told when there are new ones, or when some lost their vectors.
    fn changed(&self) -> Arc<Notify>;

    /// The lowest id of those that lost their vectors since this was asked last.
    fn changed_from(&self) -> Option<i64> {
        None
    }
}

/// How far a source is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The model that is at work; none while there is none.
    pub model: Option<String>,
    /// How many texts got a vector since it began.
    pub embedded: u64,
    /// How many texts the model refused since it began; they are found by their words alone.
    pub refused: u64,
    /// Whether everything has a vector but for what was refused.
    pub complete: bool,
    /// What went wrong last, if it did not go well since.
    pub error: Option<String>,
}

/// Why there was no vector.
#[derive(Debug, thiserror::Error)]
enum VectoriseError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("the work was broken off: {0}")]
    Broken(#[from] JoinError),
}

/// Follows one source. When the model changes it begins anew: everything lacks a vector of that model then.
pub struct Vectoriser {
    source: Arc<dyn TextSource>,
    vectors: Vectors,
    embedder: CurrentEmbedder,
    progress: watch::Sender<Progress>,
}

impl Vectoriser {
    /// For a source, with the embedder that is in use at each moment.
    #[must_use]
    pub fn new(source: Arc<dyn TextSource>, vectors: Vectors, embedder: CurrentEmbedder) -> Self {
        Self { source, vectors, embedder, progress: watch::Sender::default() }
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Works until it is told to stop, or until there will be no embedder any more.
    pub async fn run(mut self, stop: CancellationToken) {
        let changed = self.source.changed();
        let mut last = 0;
        loop {
            // Asked for before the work, so that what comes during it is not missed.
            let more = changed.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            let embedder = self.embedder.borrow_and_update().clone();
            let model = embedder.as_ref().map(|embedder| embedder.identity().to_string());
            if self.progress.borrow().model != model {
                self.progress.send_replace(Progress { model, ..Progress::default() });
                last = 0;
            }
            if let Some(first) = self.source.changed_from() {
                last = last.min(first - 1);
            }
            let mut pause = None;
            if let Some(embedder) = embedder {
                let worked = tokio::select! {
                    () = stop.cancelled() => return,
                    worked = self.catch_up(&embedder, &mut last) => worked,
                };
                let error = worked.err().map(|error| error.to_string());
                if let Some(error) = &error {
                    tracing::warn!(kind = ?self.source.kind(), error, "embedding pauses");
                    pause = Some(PAUSE);
                }
                // Where another model came, nothing is complete.
                let is_another = self.embedder.has_changed().unwrap_or(true);
                self.progress.send_modify(|progress| {
                    progress.complete = error.is_none() && !is_another;
                    progress.error = error;
                });
            }
            tokio::select! {
                () = stop.cancelled() => return,
                changed = self.embedder.changed() => if changed.is_err() { return },
                () = more, if pause.is_none() => {}
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
            }
        }
    }

    /// Embeds what comes after `last`, until nothing is left or the model changes.
    async fn catch_up(&self, embedder: &Arc<dyn Embedder>, last: &mut i64) -> Result<(), VectoriseError> {
        let kind = self.source.kind();
        // Recall never waits for this: until then it goes by words.
        let (vectors, model) = (self.vectors.clone(), embedder.identity().clone());
        tokio::task::spawn_blocking(move || vectors.load(kind, &model)).await??;
        while !self.embedder.has_changed().unwrap_or(true) {
            let (source, vectors, model, after) =
                (Arc::clone(&self.source), self.vectors.clone(), embedder.identity().clone(), *last);
            let batch = tokio::task::spawn_blocking(move || {
                let texts = source.texts_after(after, BATCH)?;
                let ids: Vec<i64> = texts.iter().map(|(id, _)| *id).collect();
                let missing = vectors.missing(kind, &ids, &model)?;
                Ok::<_, DatabaseError>((ids.last().copied(), lacking(texts, &missing)))
            });
            let (reached, lacking) = batch.await??;
            let Some(reached) = reached else { return Ok(()) };
            if !lacking.is_empty() {
                let texts = lacking.iter().map(|(_, text)| text.clone()).collect();
                let made = embed_each(embedder.as_ref(), Purpose::Passage, texts).await?;
                let made = self.made(lacking.into_iter().zip(made));
                let (source, vectors, model) =
                    (Arc::clone(&self.source), self.vectors.clone(), embedder.identity().clone());
                let kept = tokio::task::spawn_blocking(move || keep(source.as_ref(), &vectors, made, &model, after));
                let kept = kept.await?? as u64;
                self.progress.send_modify(|progress| progress.embedded += kept);
            }
            *last = reached;
        }
        Ok(())
    }

    /// What there is of a batch. That others were refused is said once for a model.
    fn made(&self, batch: impl Iterator<Item = ((i64, String), Result<Vec<f32>, EmbedError>)>) -> Vec<Made> {
        let mut kept = Vec::new();
        for ((id, text), made) in batch {
            match made {
                Ok(vector) => kept.push(Made { id, text, vector }),
                Err(error) => {
                    if self.progress.borrow().refused == 0 {
                        tracing::warn!(kind = ?self.source.kind(), id, %error, "a text is refused by the model and left out");
                    }
                    self.progress.send_modify(|progress| progress.refused += 1);
                }
            }
        }
        kept
    }
}

/// A text's vector.
struct Made {
    id: i64,
    text: String,
    vector: Vec<f32>,
}

fn lacking(texts: Vec<(i64, String)>, missing: &[i64]) -> Vec<(i64, String)> {
    texts.into_iter().filter(|(id, _)| missing.binary_search(id).is_ok()).collect()
}

/// Keeps vectors of texts that came after `after`, but for those whose texts were removed, or are others, since they were
/// read: what was forgotten meanwhile is to be in no vector. Returns how many were kept.
fn keep(
    source: &dyn TextSource,
    vectors: &Vectors,
    made: Vec<Made>,
    model: &ModelIdentity,
    after: i64,
) -> Result<usize, DatabaseError> {
    let (texts, made): (Vec<(i64, String)>, Vec<(i64, Vec<f32>)>) =
        made.into_iter().map(|made| ((made.id, made.text), (made.id, made.vector))).unzip();
    vectors.put(source.kind(), &made, model)?;
    // Whoever removes a text from now on removes the vector with it.
    let there: HashMap<i64, String> = source.texts_after(after, BATCH)?.into_iter().collect();
    let gone: Vec<i64> = texts.iter().filter(|(id, text)| there.get(id) != Some(text)).map(|(id, _)| *id).collect();
    if !gone.is_empty() {
        vectors.remove(source.kind(), &gone)?;
    }
    Ok(made.len() - gone.len())
}

#[cfg(test)]
#[path = "vectoriser_tests.rs"]
mod tests;
