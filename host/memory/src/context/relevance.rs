//! How much an exchange bears on what is being said: by the words that both have and, where there is an embedder, by
//! their vectors. One formula for all that is compared: either all have vectors of one model, or none is looked at.

use std::collections::HashMap;

use homeagent_language::text::{clean_template_text, index_terms, query_terms};
use homeagent_types::model::{ContentPart, Message};
use serde_json::Value;

use super::entry::Entry;

/// The most of a text that is computed on, in characters: its beginning says what it is about.
const LONGEST: usize = 4_000;

/// The most of a tool's result that is computed on, in characters.
const LONGEST_RESULT: usize = 1_000;

/// How soon further uses of a word in one text count less (BM25's `k1`), and how much a long text is held against itself
/// (its `b`); Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.4;

/// What the vectors count, beside the words.
const VECTOR_WEIGHT: f64 = 0.5;

/// The texts on which an exchange is computed, each by itself: what a person said, what the agent answered, what tools
/// gave. What came back from a document is computed on as a whole.
#[must_use]
pub fn texts_of(exchange: &[Entry]) -> Vec<String> {
    let mut texts: [String; 3] = Default::default();
    for entry in exchange {
        let (place, text) = match &entry.message {
            Message::System(_) => continue,
            Message::User(parts) => (0, clean_template_text(&text_of(parts)).into_owned()),
            Message::Assistant { text, .. } => (1, text.trim().to_owned()),
            Message::Tool { .. } if entry.no_memory => continue,
            Message::Tool { content, .. } => (2, result_text(&text_of(content), entry.cleaner.as_deref())),
        };
        if !text.is_empty() && texts[place].len() < LONGEST * 4 {
            let text = start(&text, LONGEST);
            texts[place] = if texts[place].is_empty() { text } else { format!("{}\n{text}", texts[place]) };
        }
    }
    let returned = exchange.iter().any(|entry| entry.document.is_some());
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    if returned { vec![start(&texts.collect::<Vec<_>>().join("\n"), LONGEST)] } else { texts.collect() }
}

/// What of a tool's result is computed on.
fn result_text(content: &str, cleaner: Option<&str>) -> String {
    let content = clean_template_text(content);
    let pointed = cleaner.and_then(|pointer| {
        let value: Value = serde_json::from_str(&content).ok()?;
        value.pointer(pointer).map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
    });
    start(pointed.as_deref().unwrap_or(&content), LONGEST_RESULT)
}

/// The texts among the parts of a message, one behind the other.
fn text_of(parts: &[ContentPart]) -> String {
    let texts =
        parts.iter().filter_map(|part| if let ContentPart::Text(text) = part { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// At most so many characters of a text's beginning.
fn start(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// What is known of a text that is compared.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// How often it has which term.
    terms: HashMap<String, u32>,
    /// How many terms it has.
    length: u32,
    /// Its vector, where there is one of the model that is in use.
    pub vector: Option<Vec<f32>>,
}

impl Features {
    /// Those of a text, without a vector.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut features = Self::default();
        for term in index_terms(text) {
            *features.terms.entry(term).or_default() += 1;
            features.length += 1;
        }
        features
    }
}

/// How relevant an exchange is, and by what.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// By its words: 1 is the most that any exchange reached, 0 is no word in common.
    pub words: f64,
    /// By its vectors: 1 is the nearest of all exchanges, 0 the farthest. None: there are no vectors to compare.
    pub vector: Option<f64>,
}

impl Score {
    /// Both together.
    #[must_use]
    pub fn total(&self) -> f64 {
        match self.vector {
            None => self.words,
            Some(vector) => (1.0 - VECTOR_WEIGHT) * self.words + VECTOR_WEIGHT * vector,
        }
    }
}

/// Scores exchanges, each by the best of its texts, against what is being said. `vector`: that of the query, of the
/// same model as all of the texts'.
#[must_use]
pub fn score(query: &str, vector: Option<&[f32]>, exchanges: &[Vec<&Features>]) -> Vec<Score> {
    let words = by_words(query, exchanges);
    let vectors = vector.and_then(|vector| by_vectors(vector, exchanges));
    let most = words.iter().copied().fold(0.0, f64::max);
    let scaled = |score: f64| if most > 0.0 { score / most } else { 0.0 };
    (0..exchanges.len())
        .map(|at| Score { words: scaled(words[at]), vector: vectors.as_ref().map(|vectors| vectors[at]) })
        .collect()
}

/// The BM25 of each exchange's best text.
fn by_words(query: &str, exchanges: &[Vec<&Features>]) -> Vec<f64> {
    let mut wanted = query_terms(&start(query, LONGEST));
    wanted.sort_unstable();
    wanted.dedup();
    let texts = || exchanges.iter().flatten();
    let count = texts().count().max(1) as f64;
    let mean = (texts().map(|text| f64::from(text.length)).sum::<f64>() / count).max(1.0);
    let rarity: Vec<f64> = wanted
        .iter()
        .map(|term| {
            let having = texts().filter(|text| text.terms.contains_key(term)).count() as f64;
            ((count - having + 0.5) / (having + 0.5)).ln_1p()
        })
        .collect();
    let of_text = |text: &Features| -> f64 {
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * f64::from(text.length) / mean);
        let of_term = |(term, rarity): (&String, &f64)| {
            let uses = f64::from(text.terms.get(term).copied().unwrap_or(0));
            rarity * uses * (SATURATION + 1.0) / (uses + norm)
        };
        wanted.iter().zip(&rarity).map(of_term).sum()
    };
    exchanges.iter().map(|texts| texts.iter().map(|text| of_text(text)).fold(0.0, f64::max)).collect()
}

/// Where each exchange's nearest text lies between the nearest and the farthest. None, unless all have vectors.
fn by_vectors(query: &[f32], exchanges: &[Vec<&Features>]) -> Option<Vec<f64>> {
    let nearness = |text: &&Features| cosine(query, text.vector.as_deref()?);
    let mut scores: Vec<Option<f64>> = Vec::with_capacity(exchanges.len());
    for texts in exchanges {
        let each: Option<Vec<f64>> = texts.iter().map(nearness).collect();
        // One without any text is near to nothing.
        scores.push(each?.into_iter().reduce(f64::max));
    }
    let known = || scores.iter().flatten().copied();
    let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let span = if most > least { most - least } else { return Some(vec![0.0; scores.len()]) };
    Some(scores.into_iter().map(|score| score.map_or(0.0, |score| (score - least) / span)).collect())
}

/// The cosine of the angle between two vectors; none where they can't be compared.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let (mut product, mut of_a, mut of_b) = (0.0f64, 0.0f64, 0.0f64);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (f64::from(*x), f64::from(*y));
        product += x * y;
        of_a += x * x;
        of_b += y * y;
    }
    let length = (of_a * of_b).sqrt();
    (length.is_finite() && length > 0.0).then(|| product / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(query: &str, texts: &[&str]) -> Vec<Score> {
        let features: Vec<Features> = texts.iter().map(|text| Features::of(text)).collect();
        score(query, None, &features.iter().map(|one| vec![one]).collect::<Vec<_>>())
    }

    #[test]
    fn words_in_common_count_in_chinese_and_english() {
        let texts = ["猫粮该买了，还剩半袋", "I parked the car in the garage", "明天下午三点开家长会"];
        for (query, best) in [("家里的猫粮还有吗", 0), ("where is my car parked?", 1), ("家长会是几点", 2)]
        {
            let scores = scores(query, &texts);
            let most = (0..3).max_by(|a, b| scores[*a].total().total_cmp(&scores[*b].total()));
            assert_eq!(most, Some(best), "{query}: {scores:?}");
        }
        assert!(scores("完全无关", &texts).iter().all(|score| score.total() < 0.5 || score.words == 1.0));
    }

    #[test]
    fn vectors_count_only_where_all_have_one_of_the_same_length() {
        let with = |text: &str, vector: &[f32]| Features { vector: Some(vector.to_vec()), ..Features::of(text) };
        let (near, far) = (with("a", &[1.0, 0.0]), with("b", &[0.0, 1.0]));
        let all = score("c", Some(&[1.0, 0.1]), &[vec![&near], vec![&far]]);
        assert_eq!((all[0].vector, all[1].vector), (Some(1.0), Some(0.0)));
        let none = Features::of("d");
        let some = score("c", Some(&[1.0, 0.1]), &[vec![&near], vec![&none]]);
        assert!(some.iter().all(|score| score.vector.is_none()));
    }
}
