//! Finding passages: by words and by vectors, both scores brought to one scale and added.

use std::collections::{HashMap, HashSet};

use homeagent_language::embed::int8::Quantised;
use homeagent_language::text::{fold, query_terms};
use homeagent_settings::DatabaseError;

use crate::index::{BaseRow, Index, Stored};
use crate::matrix::{Matrix, Nearest};
use homeagent_types::knowledge::Passage;

/// How many chunks each way of searching brings.
const CANDIDATES: usize = 100;

/// How many words of a question are looked for.
const TERMS: usize = 64;

/// How much the words of a passage count, where its vector counts the rest.
const KEYWORD_SHARE: f64 = 0.5;

/// How many neighbours become one passage.
const MERGED: usize = 3;

/// A chunk with its scores.
#[derive(Clone, Copy, Default)]
struct Score {
    keyword: f64,
    vector: f64,
}

/// What is looked for.
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    /// Its vector, where there is a model.
    pub(crate) vector: Option<&'a Quantised>,
    /// Where it is looked for.
    pub(crate) bases: &'a [BaseRow],
    /// How many passages are wanted.
    pub(crate) limit: usize,
}

/// The passages that fit a question best.
pub(crate) fn search(index: &Index, matrix: &Matrix, question: &Question<'_>) -> Result<Vec<Passage>, DatabaseError> {
    let ids: Vec<i64> = question.bases.iter().map(|base| base.id).collect();
    let mut terms = query_terms(question.text);
    terms.truncate(TERMS);
    let words = index.with_terms(&terms, &ids, CANDIDATES)?;
    let near = question.vector.map(|vector| matrix.nearest(vector, &ids.iter().copied().collect(), CANDIDATES));
    let mut scores: HashMap<i64, Score> = HashMap::new();
    let best = words.first().map_or(1.0, |found| found.score).max(f64::MIN_POSITIVE);
    for found in &words {
        scores.entry(found.chunk).or_default().keyword = (found.score / best).clamp(0.0, 1.0);
    }
    for (chunk, nearness) in near.iter().flat_map(spread) {
        scores.entry(chunk).or_default().vector = nearness;
    }
    // Where there are no vectors at all, words are all that counts.
    let share = if near.is_some_and(|near| !near.chunks.is_empty()) { KEYWORD_SHARE } else { 1.0 };
    let total = |score: &Score| share * score.keyword + (1.0 - share) * score.vector;
    let mut ranked: Vec<(i64, Score)> = scores.into_iter().collect();
    ranked.sort_by(|(a, x), (b, y)| total(y).total_cmp(&total(x)).then(a.cmp(b)));
    ranked.truncate(question.limit.saturating_mul(2 * MERGED));
    let wanted: Vec<i64> = ranked.iter().map(|(id, _)| *id).collect();
    let mut stored: HashMap<i64, Stored> = index.chunks(&wanted)?.into_iter().map(|chunk| (chunk.id, chunk)).collect();
    let hits = ranked
        .into_iter()
        .filter_map(|(id, score)| Some(Hit { chunk: stored.remove(&id)?, score, total: total(&score) }));
    let groups = group(distinct(hits.collect()));
    let passages = groups.into_iter().take(question.limit).filter_map(|group| passage(question.bases, group));
    Ok(passages.collect())
}

/// Cosines between 0, as far as all are on average, and 1, the nearest.
fn spread(near: &Nearest) -> Vec<(i64, f64)> {
    let best = near.chunks.first().map_or(0.0, |(_, cosine)| *cosine);
    let width = f64::from(best - near.mean);
    let nearness = |cosine: f32| if width > f64::EPSILON { f64::from(cosine - near.mean) / width } else { 1.0 };
    near.chunks.iter().map(|(chunk, cosine)| (*chunk, nearness(*cosine).clamp(0.0, 1.0))).collect()
}

struct Hit {
    chunk: Stored,
    score: Score,
    total: f64,
}

/// Leaves out what says the same as something better: the same file in two bases, a page's footer.
fn distinct(hits: Vec<Hit>) -> Vec<Hit> {
    let mut seen = HashSet::new();
    let said = |text: &str| fold(text).split_whitespace().collect::<Vec<_>>().join(" ");
    hits.into_iter().filter(|hit| seen.insert(said(&hit.chunk.text))).collect()
}

/// Puts together what stands side by side below one heading, where the best of it stands.
fn group(hits: Vec<Hit>) -> Vec<Vec<Hit>> {
    let mut groups: Vec<Vec<Hit>> = Vec::new();
    for hit in hits {
        let beside = |group: &&mut Vec<Hit>| {
            let near = |other: &Hit| {
                (other.chunk.position - hit.chunk.position).abs() == 1
                    && (other.chunk.base, &other.chunk.headings) == (hit.chunk.base, &hit.chunk.headings)
            };
            group.len() < MERGED && group.iter().any(near)
        };
        match groups.iter_mut().find(beside) {
            Some(group) => group.push(hit),
            None => groups.push(vec![hit]),
        }
    }
    groups
}

fn passage(bases: &[BaseRow], mut group: Vec<Hit>) -> Option<Passage> {
    let best = group.iter().max_by(|a, b| a.total.total_cmp(&b.total))?;
    let (score, total) = (best.score, best.total);
    let base = bases.iter().find(|base| base.id == best.chunk.base)?;
    group.sort_by_key(|hit| hit.chunk.position);
    let first = &group.first()?.chunk;
    let mut text = match &first.lead {
        Some(lead) => format!("{lead}\n"),
        None => String::new(),
    };
    let mut end = first.start;
    for Hit { chunk, .. } in &group {
        // A sentence may be in both of two neighbours.
        let common = end.saturating_sub(chunk.start).min(chunk.text.len());
        text.push_str(if chunk.start > end { "\n\n" } else { "" });
        text.push_str(chunk.text.get(common..).unwrap_or(&chunk.text));
        end = end.max(chunk.start + chunk.text.len());
    }
    Some(Passage {
        base: base.name.to_string(),
        headings: first.headings.clone(),
        first_line: first.lines.0,
        last_line: group.last()?.chunk.lines.1,
        text,
        score: rounded(total),
        keyword: rounded(score.keyword),
        vector: rounded(score.vector),
        version: base.version(),
    })
}

/// As many digits as say something.
fn rounded(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}
