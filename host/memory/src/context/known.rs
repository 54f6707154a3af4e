//! What was computed on texts, kept for a while: their terms and vectors.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_language::embed::ModelIdentity;
use lru::LruCache;
use sha2::{Digest as _, Sha256};

use super::relevance::Features;
use crate::documents::{Document, DocumentVector, StoredVector};

/// How many texts it is kept of.
const MOST: NonZeroUsize = NonZeroUsize::new(2048).expect("it is not zero");

type Digest = [u8; 16];

/// Terms and vectors by text.
pub(crate) struct Known {
    texts: Mutex<LruCache<Digest, Held>>,
}

#[derive(Clone)]
struct Held {
    features: Arc<Features>,
    vector: Option<Arc<StoredVector>>,
}

impl Default for Known {
    fn default() -> Self {
        Self { texts: Mutex::new(LruCache::new(MOST)) }
    }
}

impl Known {
    /// The terms of a text, computed where they are not known, and its vector of this model, where that is.
    pub(crate) fn features(&self, text: &str, model: Option<&str>) -> Features {
        let digest = digest(text);
        let held = self.texts().get(&digest).cloned();
        let held = held.unwrap_or_else(|| {
            let held = Held { features: Arc::new(Features::of(text)), vector: None };
            self.texts().put(digest, held.clone());
            held
        });
        let vector = held.vector.filter(|stored| Some(stored.model.as_str()) == model);
        let mut features = (*held.features).clone();
        features.vector = vector.map(|stored| stored.vector.clone());
        features
    }

    /// The vector of a text by this model.
    pub(crate) fn vector(&self, text: &str, model: &str) -> Option<Arc<StoredVector>> {
        let vector = self.texts().peek(&digest(text))?.vector.clone()?;
        (vector.model == model).then_some(vector)
    }

    pub(crate) fn put_vector(&self, text: &str, vector: StoredVector) {
        let digest = digest(text);
        let known = self.texts().get(&digest).map(|held| Arc::clone(&held.features));
        let features = known.unwrap_or_else(|| Arc::new(Features::of(text)));
        self.texts().put(digest, Held { features, vector: Some(Arc::new(vector)) });
    }

    /// The vector of a document: the mean of those of its texts, which share the context's space. None, unless all have
    /// one of this model.
    pub(crate) fn vector_of(&self, document: &Document, model: &ModelIdentity) -> Option<DocumentVector> {
        let (texts, name) = (document.texts(), model.to_string());
        let vectors: Vec<Arc<StoredVector>> =
            texts.iter().map(|text| self.vector(text, &name)).collect::<Option<_>>()?;
        let mean = mean(vectors.iter().map(|stored| stored.vector.as_slice()))?;
        Some(DocumentVector { model: model.clone(), vector: mean })
    }

    pub(crate) fn clear(&self) {
        self.texts().clear();
    }

    fn texts(&self) -> MutexGuard<'_, LruCache<Digest, Held>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The mean direction of vectors, of the length 1.
pub(crate) fn mean<'a>(vectors: impl Iterator<Item = &'a [f32]>) -> Option<Vec<f32>> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in vectors {
        if sum.is_empty() {
            sum = vec![0.0; vector.len()];
        }
        if sum.len() != vector.len() {
            return None;
        }
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().zip(vector).for_each(|(total, number)| *total += number / length);
        }
    }
    let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
    (length > 0.0).then(|| sum.into_iter().map(|number| number / length).collect())
}

fn digest(text: &str) -> Digest {
    let whole = Sha256::digest(text.as_bytes());
    let mut digest = Digest::default();
    digest.copy_from_slice(&whole[..16]);
    digest
}
