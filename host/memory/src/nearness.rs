//! How near short texts, such as the descriptions of tools, are to what somebody said.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_language::embed::{CurrentEmbedder, Embedder, Purpose};
use homeagent_language::text::{index_terms, query_terms};

use crate::recall::asked;

/// How long the query's own vector is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// Texts whose vectors are kept; beyond this all are made anew as they are needed.
const KEPT: usize = 4096;

/// By words, and by meaning where the vectors of all texts are there: those that are missing are made in the background,
/// for the next time.
#[derive(Clone)]
pub(crate) struct Nearness {
    embedder: CurrentEmbedder,
    known: Arc<Mutex<Known>>,
}

/// The vectors of one model.
#[derive(Default)]
struct Known {
    model: String,
    vectors: HashMap<String, Vec<f32>>,
    /// Somebody makes those that are missing.
    working: bool,
}

impl Nearness {
    pub(crate) fn new(embedder: CurrentEmbedder) -> Self {
        Self { embedder, known: Arc::default() }
    }

    /// A number for each text, the higher the nearer.
    pub(crate) async fn of(&self, query: &str, texts: Arc<[String]>) -> Vec<f32> {
        let query = &*asked(query);
        let by_words = lexical(query, &texts);
        let embedder = self.embedder.borrow().clone();
        let Some(embedder) = embedder else { return by_words };
        let Some(vectors) = self.vectors(&embedder, &texts) else { return by_words };
        let asked = embedder.embed(Purpose::Query, vec![query.to_owned()]);
        let Ok(Ok(asked)) = tokio::time::timeout(PATIENCE, asked).await else { return by_words };
        let Some(asked) = asked.first() else { return by_words };
        let cosines: Vec<f32> = vectors.iter().map(|vector| cosine(asked, vector)).collect();
        // Those of one model lie close together: what counts is how they differ.
        let (low, high) = cosines.iter().fold((f32::MAX, f32::MIN), |(low, high), at| (low.min(*at), high.max(*at)));
        let spread = (high - low).max(f32::EPSILON);
        by_words.iter().zip(cosines).map(|(words, cosine)| words + (cosine - low) / spread).collect()
    }

    /// The vectors of all texts; none while one is missing.
    fn vectors(&self, embedder: &Arc<dyn Embedder>, texts: &Arc<[String]>) -> Option<Vec<Vec<f32>>> {
        let model = embedder.identity().to_string();
        let mut known = self.known();
        if known.model != model || known.vectors.len() > KEPT {
            *known = Known { model, working: known.working, ..Known::default() };
        }
        let found: Option<Vec<Vec<f32>>> = texts.iter().map(|text| known.vectors.get(text).cloned()).collect();
        if found.is_none() && !known.working {
            known.working = true;
            let (this, embedder, texts) = (self.clone(), Arc::clone(embedder), Arc::clone(texts));
            tokio::spawn(async move { this.make(&embedder, &texts).await });
        }
        found
    }

    async fn make(&self, embedder: &Arc<dyn Embedder>, texts: &[String]) {
        let missing: Vec<String> = {
            let known = self.known();
            texts.iter().filter(|text| !known.vectors.contains_key(*text)).cloned().collect()
        };
        let made = embedder.embed(Purpose::Passage, missing.clone()).await;
        let mut known = self.known();
        known.working = false;
        match made {
            Ok(made) if known.model == embedder.identity().to_string() => {
                known.vectors.extend(missing.into_iter().zip(made));
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "texts are compared by their words alone"),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By words alone: the share of the query's words that a text has, of which those count most that few texts have.
#[must_use]
pub fn lexical(query: &str, texts: &[String]) -> Vec<f32> {
    let wanted: BTreeSet<String> = query_terms(query).into_iter().collect();
    let texts: Vec<BTreeSet<String>> = texts.iter().map(|text| index_terms(text).into_iter().collect()).collect();
    let count = |term: &String| texts.iter().filter(|text| text.contains(term)).count();
    #[expect(clippy::cast_precision_loss, reason = "there are some hundred texts")]
    let weight = |found: usize| ((1 + texts.len()) as f32 / found as f32).ln();
    let weights: BTreeMap<&String, f32> = wanted
        .iter()
        .map(|term| (term, count(term)))
        .filter(|(_, found)| *found > 0)
        .map(|(t, n)| (t, weight(n)))
        .collect();
    let all: f32 = weights.values().sum();
    if all <= 0.0 {
        return vec![0.0; texts.len()];
    }
    let share = |text: &BTreeSet<String>| -> f32 {
        weights.iter().filter(|(term, _)| text.contains(**term)).map(|(_, weight)| weight).sum::<f32>() / all
    };
    texts.iter().map(share).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let length = |vector: &[f32]| vector.iter().map(|at| at * at).sum::<f32>().sqrt();
    dot / (length(a) * length(b)).max(f32::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_rarer_words_of_a_query_is_nearer_in_both_languages() {
        let texts =
            ["lights_set: switches the lights", "weather: 查询天气预报", "send: sends a message, the weather too"];
        let texts = texts.map(str::to_owned);
        let best = |query: &str| {
            let near = lexical(query, &texts);
            let best = near.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).expect("there are some");
            (best.0, near)
        };
        assert_eq!(best("please switch the light off").0, 0);
        assert_eq!(best("明天天气怎么样").0, 1);
        assert_eq!(best("send a message").0, 2);
        assert_eq!(best("完全无关").1, [0.0; 3]);
        assert_eq!(lexical("x", &[]), Vec::<f32>::new());
    }
}
