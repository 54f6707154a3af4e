//! Ranking by words: BM25 over the passages a viewer may see, and over their sessions.

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::Weights;
use crate::index::{Columns, Filter, Head, Holds, PostingLists, Slot};

/// How sessions are ranked, whose lengths differ more than passages' do.
const SESSION_SATURATION: f32 = 1.2;
const SESSION_LENGTH: f32 = 0.75;

/// Where the rarer terms of a question find so many passages, those that are common are not looked up: a list of a hundred
/// thousand passages says little of each of them, and takes as long as all others together.
const ENOUGH: usize = 100;

/// What words say of each passage, the best first, and of each session.
#[derive(Default)]
pub(super) struct ByWords {
    pub(super) passages: Vec<(Slot, f32)>,
    pub(super) sessions: FxHashMap<u32, f32>,
}

/// BM25 of at most `limit` passages and of all their sessions, the best of each with 1. How rare a term is, is counted
/// among what may be seen.
pub(super) fn by_words(
    terms: &[String],
    filter: &Filter,
    weights: &Weights,
    limit: usize,
    (columns, postings, connection): (&Columns, &PostingLists, &Connection),
) -> rusqlite::Result<ByWords> {
    let mut scores = Scores::new(columns, filter, weights);
    let mut common = Vec::new();
    for term in terms {
        match postings.rare(term, columns, connection)? {
            Some(list) => scores.add(&list),
            None => common.push(term),
        }
    }
    if scores.touched.len() < ENOUGH {
        for term in common {
            scores.add(&postings.of(term, columns, connection)?);
        }
    }
    Ok(scores.best(limit))
}

/// What has been added up so far.
struct Scores<'a> {
    columns: &'a Columns,
    filter: &'a Filter,
    weights: &'a Weights,
    /// How many passages may be seen.
    visible: f32,
    mean_length: f32,
    sessions: f32,
    mean_session: f32,
    /// By slot.
    passages: Vec<f32>,
    /// Those that have a score.
    touched: Vec<Slot>,
    by_session: FxHashMap<u32, f32>,
    /// Empty between two terms: room for those of a list that may be seen.
    seen: Vec<(Holds, &'a Head)>,
}

impl<'a> Scores<'a> {
    fn new(columns: &'a Columns, filter: &'a Filter, weights: &'a Weights) -> Self {
        let (sessions, mean_session) = columns.sessions();
        Self {
            columns,
            filter,
            weights,
            visible: filter.count(columns).max(1) as f32,
            mean_length: columns.mean_length().max(1.0),
            sessions: sessions as f32,
            mean_session: mean_session.max(1.0),
            passages: vec![0.0; columns.len()],
            touched: Vec::new(),
            by_session: FxHashMap::default(),
            seen: Vec::new(),
        }
    }

    /// Adds what one term says.
    fn add(&mut self, list: &[Holds]) {
        let mut seen = std::mem::take(&mut self.seen);
        let there = list.iter().filter_map(|held| self.columns.entry(held.slot()).map(|entry| (*held, entry)));
        seen.extend(there.filter(|(_, entry)| self.filter.allows(entry)));
        let rarity = rarity(self.visible, seen.len() as f32);
        let Weights { saturation, length, .. } = *self.weights;
        let mut in_sessions = Tally::default();
        for (held, entry) in seen.drain(..) {
            let (slot, count) = (held.slot(), held.count());
            let Some(score) = self.passages.get_mut(slot as usize) else { continue };
            if *score == 0.0 {
                self.touched.push(slot);
            }
            let longer = 1.0 - length + length * f32::from(entry.length) / self.mean_length;
            *score += rarity * count * (saturation + 1.0) / (count + saturation * longer);
            in_sessions.count(entry.session);
        }
        self.seen = seen;
        let in_sessions = in_sessions.finish();
        let rarity = self::rarity(self.sessions, in_sessions.len() as f32);
        for (session, count) in in_sessions {
            let length = self.columns.session_length(session) as f32 / self.mean_session;
            let longer = 1.0 - SESSION_LENGTH + SESSION_LENGTH * length;
            let count = count as f32;
            let score = rarity * count * (SESSION_SATURATION + 1.0) / (count + SESSION_SATURATION * longer);
            *self.by_session.entry(session).or_default() += score;
        }
    }

    fn best(self, limit: usize) -> ByWords {
        let score = |slot: &Slot| self.passages.get(*slot as usize).copied().unwrap_or_default();
        let mut passages: Vec<(Slot, f32)> = self.touched.iter().map(|slot| (*slot, score(slot))).collect();
        best_first(&mut passages, limit);
        let best = passages.first().map_or(1.0, |(_, score)| *score);
        passages.iter_mut().for_each(|(_, score)| *score /= best);
        let mut sessions = self.by_session;
        let best = sessions.values().copied().fold(f32::MIN_POSITIVE, f32::max);
        sessions.values_mut().for_each(|score| *score /= best);
        ByWords { passages, sessions }
    }
}

/// Counts passages by session. Those of a session mostly follow each other, and are looked up once.
#[derive(Default)]
struct Tally {
    counts: FxHashMap<u32, u32>,
    current: Option<(u32, u32)>,
}

impl Tally {
    fn count(&mut self, session: u32) {
        match &mut self.current {
            Some((current, count)) if *current == session => *count += 1,
            current => {
                if let Some((before, count)) = current.replace((session, 1)) {
                    *self.counts.entry(before).or_default() += count;
                }
            }
        }
    }

    fn finish(mut self) -> FxHashMap<u32, u32> {
        if let Some((last, count)) = self.current {
            *self.counts.entry(last).or_default() += count;
        }
        self.counts
    }
}

/// The inverse document frequency, as in BM25, never negative.
fn rarity(all: f32, with: f32) -> f32 {
    (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
}

/// Leaves the best `limit`, best first; of equals the one that was said last.
pub(super) fn best_first(scores: &mut Vec<(Slot, f32)>, limit: usize) {
    let order = |a: &(Slot, f32), b: &(Slot, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if scores.len() > limit && limit > 0 {
        scores.select_nth_unstable_by(limit - 1, order);
    }
    scores.truncate(limit);
    scores.sort_unstable_by(order);
}

#[cfg(test)]
mod tests {
    use homeagent_settings::Database;
    use homeagent_types::{Audience, Viewer};

    use super::*;
    use crate::index::{Index, Passage, PassageKind};
    use crate::vectors::Vectors;

    fn said(at: i64, text: &str) -> Passage {
        Passage {
            kind: PassageKind::Said,
            origin: at.to_string(),
            part: 0,
            conversation: "cli:me".into(),
            session: "1".into(),
            position: at,
            speaker: String::new(),
            audience: Audience::Person("cli:me".into()),
            at_ms: at,
            text: text.into(),
        }
    }

    #[test]
    fn a_common_term_counts_only_where_rarer_ones_find_too_few() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("memory.db")).expect("a database");
        let index = Index::open(&database, &Vectors::open(&database).expect("vectors")).expect("an index");
        let talk = (0..300).map(|at| said(at, if at < 120 { "cake" } else { "tea" }));
        let talk: Vec<Passage> = talk.chain((300..305).map(|at| said(at, "plum"))).collect();
        index.put(&talk).expect("put");
        let lists = PostingLists::with_common(150);
        let found = |terms: &[&str]| {
            let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
            let found = index.read("ranking", |columns, _, connection| {
                let filter = Filter::new(columns, &Viewer::Everything, &[], None);
                by_words(&terms, &filter, &Weights::words(), 1000, (columns, &lists, connection))
            });
            found.expect("an answer").passages.len()
        };
        assert_eq!(found(&["cake", "tea"]), 120, "only those with the rarer term");
        assert_eq!(found(&["plum", "tea"]), 185, "five are too few");
        assert_eq!(found(&["tea"]), 180, "there is no other");
        // Its list is in memory now, and the term as common as before.
        assert_eq!(found(&["tea", "cake"]), 120);
    }
}
