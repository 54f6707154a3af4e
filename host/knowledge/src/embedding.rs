//! Gives passages their vectors, in the background: what is new, and all anew when the model changes. Whoever searches
//! meanwhile has what is there.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use homeagent_language::embed::int8::{Quantised, quantise_direction};
use homeagent_language::embed::{CurrentEmbedder, Embedder, Purpose, embed_each};
use homeagent_settings::DatabaseError;

use crate::Error;
use crate::matrix::Matrix;
use crate::store::Store;

/// How many passages are embedded at one time. Between two of them others have their turn with the model.
const BATCH: usize = 16;

/// How long is waited after a failure, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));

/// Works until it is aborted, or there is no more model to come.
pub(crate) async fn run(store: Arc<Store>, mut embedder: CurrentEmbedder) {
    loop {
        let current = embedder.borrow_and_update().clone();
        let Some(current) = current else {
            if embedder.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            changed = embedder.changed() => {
                if changed.is_err() {
                    // Nobody is left who would bring another model; this one goes on.
                    return keep_up(&store, current.as_ref()).await;
                }
            }
            () = keep_up(&store, current.as_ref()) => {}
        }
    }
}

/// Embeds what has no vector of this model, now and whenever there is more. Does not end.
async fn keep_up(store: &Arc<Store>, embedder: &dyn Embedder) {
    let mut pause = PAUSE.0;
    // Passages that this model can't be asked for.
    let mut refused = HashSet::new();
    loop {
        match catch_up(store, embedder, &mut refused).await {
            Ok(()) => {
                pause = PAUSE.0;
                store.unembedded.notified().await;
            }
            Err(why) => {
                tracing::warn!(
                    why,
                    pause_seconds = pause.as_secs(),
                    "embedding the knowledge base failed and is tried again"
                );
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
        }
    }
}

/// Embeds all that has no vector of this model.
async fn catch_up(store: &Arc<Store>, embedder: &dyn Embedder, refused: &mut HashSet<i64>) -> Result<(), String> {
    let model = embedder.identity().to_string();
    let width = embedder.identity().dimensions;
    load(store, &model, width).await?;
    let (mut after, mut done) = (0, 0_usize);
    loop {
        let named = model.clone();
        let batch = on_disk(store, move |store| store.index.without_vector(&named, after, BATCH)).await?;
        let Some((last, _)) = batch.last() else { break };
        after = *last;
        let batch: Vec<(i64, String)> = batch.into_iter().filter(|(id, _)| !refused.contains(id)).collect();
        let vectors = embed(embedder, &batch, refused).await?;
        done += vectors.len();
        let named = model.clone();
        on_disk(store, move |store| keep(store, &named, &vectors)).await?;
    }
    if done > 0 {
        tracing::info!(passages = done, %model, "the knowledge base has its vectors");
    }
    Ok(())
}

/// Has the vectors of this model in memory.
async fn load(store: &Arc<Store>, model: &str, width: usize) -> Result<(), String> {
    if store.vectors().model() == Some(model) {
        return Ok(());
    }
    let model = model.to_owned();
    on_disk(store, move |store| {
        let kept = store.index.vectors(&model)?;
        store.change_vectors(|matrix| *matrix = Matrix::of(&model, width, kept));
        Ok(())
    })
    .await
}

/// A batch's vectors; what the model refuses is not asked for again.
async fn embed(
    embedder: &dyn Embedder,
    batch: &[(i64, String)],
    refused: &mut HashSet<i64>,
) -> Result<Vec<(i64, Quantised)>, String> {
    let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
    let made = embed_each(embedder, Purpose::Passage, texts).await.map_err(|error| error.to_string())?;
    let mut vectors = Vec::with_capacity(made.len());
    for ((id, _), made) in batch.iter().zip(made) {
        match made {
            Ok(vector) => vectors.push((*id, quantise_direction(&vector))),
            Err(_) => {
                refused.insert(*id);
            }
        }
    }
    Ok(vectors)
}

fn keep(store: &Store, model: &str, vectors: &[(i64, Quantised)]) -> Result<(), DatabaseError> {
    let bases = store.index.put_vectors(model, vectors)?;
    let bases: std::collections::HashMap<i64, i64> = bases.into_iter().collect();
    store.change_vectors(|matrix| {
        // Another model may have come meanwhile; its vectors are not mixed with these.
        if matrix.model() == Some(model) {
            for (chunk, vector) in vectors {
                if let Some(base) = bases.get(chunk) {
                    matrix.put(*chunk, *base, vector);
                }
            }
        }
    });
    store.tell_change();
    Ok(())
}

async fn on_disk<T: Send + 'static>(
    store: &Arc<Store>,
    work: impl FnOnce(&Store) -> Result<T, DatabaseError> + Send + 'static,
) -> Result<T, String> {
    let store = Arc::clone(store);
    let done = tokio::task::spawn_blocking(move || {
        work(&store).map_err(|error| {
            store.begin_anew(&error);
            Error::from(error).to_string()
        })
    });
    done.await.unwrap_or_else(|lost| Err(lost.to_string()))
}
