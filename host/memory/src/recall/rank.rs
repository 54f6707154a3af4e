//! Adds up what each part says.

use std::collections::{HashMap, HashSet};

use homeagent_language::text::fold;
use homeagent_language::text::time::TimeRange;
use homeagent_settings::DatabaseError;
use rustc_hash::FxHashMap;

use super::cues::{self, Cues};
use super::keyword::{ByWords, best_first, by_words};
use super::meaning::by_meaning;
use super::{Ask, Hit, Parts, QuestionVector, Recall, Weights};
use crate::index::{Columns, Filter, Head, Slot};

/// So many passages each of words and meaning are looked at further.
const CANDIDATES: usize = 1000;

/// The passages of so many sessions, the best, are all looked at, also those in which no word is found.
const SESSIONS: usize = 5;

/// So many passages of a session at most, around its best.
const OF_A_SESSION: usize = 100;

/// So many passages of an entity at most are looked at.
const OF_AN_ENTITY: usize = 200;

/// So many passages of a time that is named, the latest.
const OF_A_TIME: usize = 200;

/// How long after a time people still tell of it.
const TOLD: i64 = 7 * 24 * 60 * 60 * 1000;

impl Recall {
    /// Blocks.
    pub(super) fn rank(&self, ask: &Ask, question: Option<&QuestionVector>) -> Result<Vec<Hit>, DatabaseError> {
        let entities = self.entities_of(ask)?;
        let [by_words_alone, with_meaning] = &self.weights;
        let ranked = self.index.read("recalling", |columns, postings, connection| {
            let filter = Filter::new(columns, &ask.viewer, &ask.kinds, ask.conversation.as_deref());
            let cues = cues::read(ask, columns);
            // The vectors are read while the columns are held: an id means the same passage in both.
            let meaning =
                question.map(|question| by_meaning(question, self.index.vectors(), columns, &filter, CANDIDATES));
            let meaning = match meaning.transpose() {
                Ok(meaning) => meaning.unwrap_or_default(),
                Err(error) => return Ok(Err(error)),
            };
            let weights = if meaning.is_empty() { by_words_alone } else { with_meaning };
            let words = by_words(&cues.terms, &filter, weights, CANDIDATES, (columns, postings, connection))?;
            let mut ranking = Ranking { columns, filter: &filter, weights, found: room() };
            ranking.add_own(&words, &meaning);
            ranking.add_around(&words);
            ranking.add_entities(entities);
            ranking.add_times(&cues);
            ranking.add_speakers(&cues);
            // Some more, of which equal ones fall out.
            Ok(Ok(ranking.best(ask.limit.saturating_mul(2).saturating_add(10))))
        })??;
        self.hits(ask, ranked)
    }

    /// The passages that tell of what a question names, each with how surely that is meant.
    fn entities_of(&self, ask: &Ask) -> Result<HashMap<i64, f32>, DatabaseError> {
        let mut passages = HashMap::new();
        let Some(source) = self.entities.get() else { return Ok(passages) };
        for (entity, sureness) in source.mentioned(&ask.text, &ask.viewer) {
            let mut origins = source.passages_of(entity);
            // Of what is told of everywhere, nothing is told by its being named.
            origins.truncate(OF_AN_ENTITY);
            origins.sort_unstable();
            for same_kind in origins.chunk_by(|(a, _), (b, _)| a == b) {
                let Some((kind, _)) = same_kind.first() else { continue };
                let origins: Vec<String> = same_kind.iter().map(|(_, origin)| origin.clone()).collect();
                for id in self.index.ids(*kind, &origins)? {
                    let best: &mut f32 = passages.entry(id).or_default();
                    *best = best.max(sureness);
                }
            }
        }
        Ok(passages)
    }

    fn hits(&self, ask: &Ask, ranked: Vec<(i64, Parts)>) -> Result<Vec<Hit>, DatabaseError> {
        let ids: Vec<i64> = ranked.iter().map(|(id, _)| *id).collect();
        let mut passages: HashMap<i64, _> = self.index.passages(&ids)?.into_iter().collect();
        let mut texts = HashSet::new();
        let whole = ranked.into_iter().filter_map(|(id, parts)| {
            let passage = passages.remove(&id)?;
            Some(Hit { id, passage, score: parts.sum(), parts })
        });
        // What came between the two readings is seen as it is now.
        let seen = whole.filter(|hit| ask.viewer.may_see(&hit.passage.audience));
        Ok(seen.filter(|hit| texts.insert(fold(hit.passage.text.trim()))).take(ask.limit).collect())
    }
}

/// For the passages of words and meaning, and what stands around them.
fn room() -> FxHashMap<Slot, Parts> {
    FxHashMap::with_capacity_and_hasher(4 * CANDIDATES, rustc_hash::FxBuildHasher)
}

/// The passages found so far.
struct Ranking<'a> {
    columns: &'a Columns,
    filter: &'a Filter,
    weights: &'a Weights,
    found: FxHashMap<Slot, Parts>,
}

impl Ranking<'_> {
    /// What each passage says by itself.
    fn add_own(&mut self, words: &ByWords, meaning: &[(Slot, f32)]) {
        for (slot, score) in &words.passages {
            self.found.entry(*slot).or_default().keyword = self.weights.keyword * score;
        }
        for (slot, nearness) in meaning {
            self.found.entry(*slot).or_default().vector = self.weights.vector * nearness;
        }
    }

    /// What the passages around it and its session say. Of those, only what may be seen counts.
    fn add_around(&mut self, words: &ByWords) {
        let own: Vec<(Slot, f32)> =
            self.found.iter().map(|(slot, parts)| (*slot, parts.keyword + parts.vector)).collect();
        let best = self.best_of_sessions(&own);
        self.add_members(words, &best);
        for (slot, score) in own {
            let after = (1..).zip(&self.weights.following);
            let before = (1..).zip(&self.weights.preceding).map(|(distance, weight)| (-distance, weight));
            for (distance, weight) in after.chain(before) {
                if let Some(near) = self.neighbour(slot, distance) {
                    self.found.entry(near).or_default().neighbours += weight * score;
                }
            }
        }
        let Self { columns, weights, .. } = *self;
        for (slot, parts) in &mut self.found {
            let Some(entry) = columns.entry(*slot) else { continue };
            let by_words = words.sessions.get(&entry.session).copied().unwrap_or_default();
            let by_best = best.get(&entry.session).map_or(0.0, |(score, _)| *score);
            parts.session = weights.session_words * by_words + weights.session_best * by_best;
        }
    }

    /// The mean of each session's best passages, the best session's being 1, and its best passage.
    fn best_of_sessions(&self, own: &[(Slot, f32)]) -> FxHashMap<u32, (f32, Slot)> {
        let mut sessions: FxHashMap<u32, Vec<(Slot, f32)>> = FxHashMap::default();
        for (slot, score) in own {
            if let Some(entry) = self.columns.entry(*slot) {
                sessions.entry(entry.session).or_default().push((*slot, *score));
            }
        }
        let of = self.weights.session_best_of.max(1);
        let mut best: FxHashMap<u32, (f32, Slot)> = FxHashMap::default();
        for (session, mut scores) in sessions {
            best_first(&mut scores, of);
            let mean = scores.iter().map(|(_, score)| score).sum::<f32>() / of as f32;
            if let Some((slot, _)) = scores.first() {
                best.insert(session, (mean, *slot));
            }
        }
        let highest = best.values().map(|(score, _)| *score).fold(f32::MIN_POSITIVE, f32::max);
        best.values_mut().for_each(|(score, _)| *score /= highest);
        best
    }

    /// Takes in the other passages of the best sessions.
    fn add_members(&mut self, words: &ByWords, best: &FxHashMap<u32, (f32, Slot)>) {
        let mut sessions: Vec<(Slot, f32)> = best
            .iter()
            .map(|(session, (score, slot))| {
                let by_words = words.sessions.get(session).copied().unwrap_or_default();
                (*slot, self.weights.session_best * score + self.weights.session_words * by_words)
            })
            .collect();
        best_first(&mut sessions, SESSIONS);
        for (slot, _) in sessions {
            for step in [1, -1] {
                for distance in 1..=(OF_A_SESSION / 2) as i64 {
                    match self.columns.neighbour(slot, step * distance) {
                        Some(near) if self.same_session(slot, near) => {
                            if self.columns.entry(near).is_some_and(|entry| self.filter.allows(entry)) {
                                self.found.entry(near).or_default();
                            }
                        }
                        _ => break,
                    }
                }
            }
        }
    }

    fn add_entities(&mut self, passages: HashMap<i64, f32>) {
        for (id, sureness) in passages {
            let slot = self.columns.slot(id);
            let Some(slot) =
                slot.filter(|slot| self.columns.entry(*slot).is_some_and(|entry| self.filter.allows(entry)))
            else {
                continue;
            };
            self.found.entry(slot).or_default().entity = self.weights.entity * sureness;
        }
    }

    /// What was said at a time that is named, or in the days after it: people tell on Monday of their weekend.
    fn add_times(&mut self, cues: &Cues) {
        if cues.times.is_empty() {
            return;
        }
        for slot in self.columns.said_within(&cues.times, self.filter, OF_A_TIME) {
            self.found.entry(slot).or_default();
        }
        for (slot, parts) in &mut self.found {
            let Some(at_ms) = self.columns.at_ms(*slot) else { continue };
            let said = |range: &TimeRange| (range.from_ms..range.to_ms).contains(&at_ms);
            let told = |range: &TimeRange| (range.to_ms..range.to_ms.saturating_add(TOLD)).contains(&at_ms);
            if cues.times.iter().any(said) {
                parts.time = self.weights.time;
            } else if cues.times.iter().any(told) {
                parts.time = self.weights.time / 2.0;
            }
        }
    }

    fn add_speakers(&mut self, cues: &Cues) {
        for (slot, parts) in &mut self.found {
            if self.columns.speaker(*slot).is_some_and(|speaker| cues.speakers.contains(&speaker)) {
                parts.speaker = self.weights.speaker;
            }
        }
    }

    /// The passage so many places on, in the same session, if it may be seen.
    fn neighbour(&self, slot: Slot, distance: i64) -> Option<Slot> {
        let near = self.columns.neighbour(slot, distance)?;
        let seen = self.columns.entry(near).is_some_and(|entry| self.filter.allows(entry));
        (seen && self.same_session(slot, near)).then_some(near)
    }

    fn same_session(&self, a: Slot, b: Slot) -> bool {
        let session = |slot| self.columns.entry(slot).map(|entry: &Head| entry.session);
        session(a) == session(b)
    }

    fn best(self, limit: usize) -> Vec<(i64, Parts)> {
        let mut sums: Vec<(Slot, f32)> = self.found.iter().map(|(slot, parts)| (*slot, parts.sum())).collect();
        sums.retain(|(_, sum)| *sum > 0.0);
        best_first(&mut sums, limit);
        let whole = sums.into_iter().filter_map(|(slot, _)| Some((self.columns.id(slot)?, *self.found.get(&slot)?)));
        whole.collect()
    }
}
