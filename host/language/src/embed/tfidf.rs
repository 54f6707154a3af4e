//! Vectors of the words themselves, hashed into a fixed number of dimensions. They need no model and are always there;
//! they find what is said in the same words.
//!
//! A term's weight is `(1 + ln(occurrences)) * rarity`. The rarity is a constant of the term, not learnt from what was
//! seen: vectors of yesterday stay comparable with those of today.

use std::collections::HashMap;

use crate::text::{LEXICON, index_terms, is_stop_word, query_terms};

use super::hash::stable_hash;
use super::pool::Pool;
use super::session::{Session, normalise};
use super::{EmbedError, ModelIdentity, Purpose};

/// How long its vectors are.
const DIMENSIONS: usize = 512;
/// The version of how terms become vectors.
const VERSION: u32 = 1;
/// How much a word counts that any text may hold.
const COMMON: f32 = 0.2;
/// How much a single Han character counts, which is part of many words.
const CHARACTER: f32 = 0.4;
/// How many characters of a text are looked at.
const CHARACTERS: usize = 50_000;
/// What stands before a text of each purpose on its way to the session: the two are cut in different ways.
const QUERY: char = 'q';
const PASSAGE: char = 'p';

struct TfIdf;

/// Whose vectors they are.
pub(super) fn identity() -> ModelIdentity {
    ModelIdentity {
        name: "words".to_owned(),
        kind: "tf-idf".to_owned(),
        digest: format!("terms-{LEXICON}-weights-{VERSION}"),
        dimensions: DIMENSIONS,
        pooling: "sum".to_owned(),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalised: true,
    }
}

/// The embedder that is always there.
pub(super) fn open() -> Result<Pool, EmbedError> {
    let prepare = |purpose, text: &str| {
        let mark = if purpose == Purpose::Query { QUERY } else { PASSAGE };
        std::iter::once(mark).chain(text.chars().take(CHARACTERS)).collect()
    };
    Pool::start(identity(), Box::new(prepare), vec![Box::new(TfIdf)])
}

impl Session for TfIdf {
    fn encode(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(marked: &str) -> Vec<f32> {
    let terms = match marked.strip_prefix(QUERY) {
        Some(query) => query_terms(query),
        None => index_terms(marked.strip_prefix(PASSAGE).unwrap_or(marked)),
    };
    let mut occurrences: HashMap<&str, f32> = HashMap::new();
    for term in &terms {
        *occurrences.entry(term).or_default() += 1.0;
    }
    let mut counted: Vec<_> = occurrences.into_iter().collect();
    // Always in one order: a sum of floating-point numbers depends on it.
    counted.sort_unstable_by_key(|(term, _)| *term);
    let mut vector = vec![0.0; DIMENSIONS];
    for (term, occurrences) in counted {
        let hash = stable_hash(term.as_bytes());
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        vector[(hash % DIMENSIONS as u64) as usize] += sign * (1.0 + occurrences.ln()) * rarity(term);
    }
    normalise(&mut vector);
    vector
}

fn rarity(term: &str) -> f32 {
    if is_stop_word(term) {
        COMMON
    } else if term.chars().nth(1).is_none() {
        CHARACTER
    } else {
        1.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]
mod tests {
    use proptest::prelude::*;

    use super::super::Embedder as _;
    use super::*;

    fn cosine(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(a, b)| a * b).sum()
    }

    #[tokio::test]
    async fn a_text_in_the_same_words_is_nearer_than_any_other() {
        let embedder = open().unwrap();
        let passages = ["我把车钥匙放在玄关的抽屉里了", "周四上午九点看牙医", "Anna's flight lands at seven"];
        let passages = embedder.embed(Purpose::Passage, passages.map(str::to_owned).to_vec()).await.unwrap();
        let asked = ["车钥匙在哪里？", "牙医是什么时候", "When does the flight of Anna land?"];
        let asked = embedder.embed(Purpose::Query, asked.map(str::to_owned).to_vec()).await.unwrap();
        for (at, query) in asked.iter().enumerate() {
            let best = (0..3).max_by(|a, b| cosine(query, &passages[*a]).total_cmp(&cosine(query, &passages[*b])));
            assert_eq!(best, Some(at));
        }
    }

    proptest! {
        #[test]
        fn every_text_has_a_vector_of_numbers(text in any::<String>(), mark in prop::sample::select(vec!['q', 'p'])) {
            let vector = vector(&format!("{mark}{text}"));
            let length = cosine(&vector, &vector);
            prop_assert_eq!(vector.len(), DIMENSIONS);
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-3);
        }
    }
}
