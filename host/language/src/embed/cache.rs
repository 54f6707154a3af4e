//! Vectors that were made lately, by what they were made of.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;

use super::{ModelIdentity, Purpose};

/// How many vectors are kept.
const KEPT: NonZeroUsize = NonZeroUsize::new(2_048).expect("it is not zero");

/// The last vectors of one model. A text is kept as two hashes under keys of this process, never as text.
pub(super) struct Cache {
    keys: [RandomState; 2],
    vectors: Mutex<LruCache<Key, Vec<f32>>>,
    identity: String,
}

/// What a vector was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u64; 2]);

impl Cache {
    /// For vectors of this model.
    pub(super) fn new(identity: &ModelIdentity) -> Self {
        let keys = [RandomState::new(), RandomState::new()];
        Self { keys, vectors: Mutex::new(LruCache::new(KEPT)), identity: identity.to_string() }
    }

    /// The key of a text.
    pub(super) fn key(&self, purpose: Purpose, text: &str) -> Key {
        Key(self.keys.each_ref().map(|key| key.hash_one((&self.identity, purpose, text))))
    }

    /// The vector of a key, which counts as used now.
    pub(super) fn get(&self, key: &Key) -> Option<Vec<f32>> {
        self.lock().get(key).cloned()
    }

    /// Keeps a vector; the one that was not used for the longest goes.
    pub(super) fn put(&self, key: Key, vector: Vec<f32>) {
        self.lock().put(key, vector);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<Key, Vec<f32>>> {
        self.vectors.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_known_by_its_text_and_purpose_and_the_oldest_goes() {
        let identity = super::super::tfidf::identity();
        let cache = Cache::new(&identity);
        let first = cache.key(Purpose::Query, "first");
        cache.put(first, vec![1.0]);
        assert_ne!(first, cache.key(Purpose::Passage, "first"));
        assert_eq!(cache.get(&first), Some(vec![1.0]));
        for number in 0..KEPT.get() {
            cache.put(cache.key(Purpose::Query, &number.to_string()), Vec::new());
        }
        assert_eq!(cache.get(&first), None);
    }
}
