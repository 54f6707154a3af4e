//! Ranking by words: BM25 over the passages a viewer may see, and over their sessions.

use std::collections::HashMap;

use rusqlite::Connection;

use super::Weights;
use crate::index::{Columns, Filter, PostingLists, Slot};

/// How sessions are ranked, whose lengths differ more than passages' do.
const SESSION_SATURATION: f32 = 1.2;
const SESSION_LENGTH: f32 = 0.75;

/// What words say of each passage, the best first, and of each session.
#[derive(Default)]
pub(super) struct ByWords {
    pub(super) passages: Vec<(Slot, f32)>,
    pub(super) sessions: HashMap<u32, f32>,
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
    let visible = filter.count(columns).max(1) as f32;
    let mean = columns.mean_length().max(1.0);
    let (sessions, session_mean) = columns.sessions();
    let mut scores = vec![0.0f32; columns.len()];
    let mut touched = Vec::new();
    let mut by_session: HashMap<u32, f32> = HashMap::new();
    for term in terms {
        let list = postings.of(term, columns, connection)?;
        let seen = list.iter().filter_map(|held| columns.entry(held.slot()).map(|entry| (*held, entry)));
        let seen: Vec<_> = seen.filter(|(_, entry)| filter.allows(entry)).collect();
        let rarity = rarity(visible, seen.len() as f32);
        let mut in_sessions = Tally::default();
        for (held, entry) in seen {
            let (slot, count) = (held.slot(), held.count());
            let Some(score) = scores.get_mut(slot as usize) else { continue };
            if *score == 0.0 {
                touched.push(slot);
            }
            let length = 1.0 - weights.length + weights.length * f32::from(entry.length) / mean;
            *score += rarity * count * (weights.saturation + 1.0) / (count + weights.saturation * length);
            in_sessions.count(entry.session);
        }
        let in_sessions = in_sessions.finish();
        let rarity = self::rarity(sessions as f32, in_sessions.len() as f32);
        for (session, count) in in_sessions {
            let length = columns.session_length(session) as f32 / session_mean.max(1.0);
            let length = 1.0 - SESSION_LENGTH + SESSION_LENGTH * length;
            let count = count as f32;
            let score = rarity * count * (SESSION_SATURATION + 1.0) / (count + SESSION_SATURATION * length);
            *by_session.entry(session).or_default() += score;
        }
    }
    let score = |slot: &Slot| scores.get(*slot as usize).copied().unwrap_or_default();
    let mut passages: Vec<(Slot, f32)> = touched.iter().map(|slot| (*slot, score(slot))).collect();
    best_first(&mut passages, limit);
    let best = passages.first().map_or(1.0, |(_, score)| *score);
    passages.iter_mut().for_each(|(_, score)| *score /= best);
    let best = by_session.values().copied().fold(f32::MIN_POSITIVE, f32::max);
    by_session.values_mut().for_each(|score| *score /= best);
    Ok(ByWords { passages, sessions: by_session })
}

/// Counts passages by session. Those of a session mostly follow each other, and are looked up once.
#[derive(Default)]
struct Tally {
    counts: HashMap<u32, u32>,
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

    fn finish(mut self) -> HashMap<u32, u32> {
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
