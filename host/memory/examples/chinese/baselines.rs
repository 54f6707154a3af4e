//! What recall is held against: plain BM25, and SQLite's full-text index as it comes.

use std::collections::{BTreeMap, HashMap, HashSet};

use homeagent_language::text;
use rusqlite::Connection;

use crate::corpus::{Result, Said};

/// BM25 (Robertson and others, 1994) as textbooks give it, over terms of whatever kind.
pub(crate) struct Bm25 {
    terms: fn(&str) -> Vec<String>,
    /// For each term the passages that hold it, and how often.
    holding: HashMap<String, BTreeMap<usize, f64>>,
    lengths: Vec<f64>,
}

const K1: f64 = 1.2;
const B: f64 = 0.75;

impl Bm25 {
    pub(crate) fn over(said: &[Said], terms: fn(&str) -> Vec<String>) -> Self {
        let mut holding: HashMap<String, BTreeMap<usize, f64>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, said) in said.iter().enumerate() {
            let terms = terms(&said.text);
            lengths.push(terms.len() as f64);
            for term in terms {
                *holding.entry(term).or_default().entry(at).or_default() += 1.0;
            }
        }
        Self { terms, holding, lengths }
    }

    /// The best of those that may be seen, best first.
    pub(crate) fn rank(&self, question: &str, may_see: &dyn Fn(usize) -> bool, limit: usize) -> Vec<usize> {
        let all = self.lengths.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / all;
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for term in (self.terms)(question).into_iter().collect::<HashSet<_>>() {
            let Some(holding) = self.holding.get(&term) else { continue };
            let held = holding.len() as f64;
            let rarity = (1.0 + (all - held + 0.5) / (held + 0.5)).ln();
            for (at, times) in holding.iter().filter(|(at, _)| may_see(**at)) {
                let length = 1.0 - B + B * self.lengths[*at] / mean;
                *scores.entry(*at).or_default() += rarity * times * (K1 + 1.0) / (times + K1 * length);
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked.into_iter().take(limit).map(|(at, _)| at).collect()
    }
}

/// The letters, digits and Han characters of a text, each by itself.
pub(crate) fn characters(text: &str) -> Vec<String> {
    text::fold(text).chars().filter(|c| c.is_alphanumeric()).map(String::from).collect()
}

/// SQLite's FTS5 with the tokenizer it has by default.
pub(crate) struct PlainFts(Connection);

impl PlainFts {
    pub(crate) fn over(said: &[Said]) -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch("CREATE VIRTUAL TABLE said USING fts5(text)")?;
        for (at, said) in said.iter().enumerate() {
            connection.execute("INSERT INTO said (rowid, text) VALUES (?1, ?2)", (i64::try_from(at)?, &said.text))?;
        }
        Ok(Self(connection))
    }

    pub(crate) fn rank(&self, question: &str, may_see: &dyn Fn(usize) -> bool, limit: usize) -> Result<Vec<usize>> {
        let runs = question.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
        let any: Vec<String> = runs.map(|run| format!("\"{run}\"")).collect();
        let mut found = self.0.prepare("SELECT rowid FROM said WHERE said MATCH ?1 ORDER BY rank")?;
        let rows = found.query_map([any.join(" OR ")], |row| row.get::<_, i64>(0))?;
        let mut ranked = Vec::new();
        for row in rows {
            let at = usize::try_from(row?)?;
            if may_see(at) && ranked.len() < limit {
                ranked.push(at);
            }
        }
        Ok(ranked)
    }
}
