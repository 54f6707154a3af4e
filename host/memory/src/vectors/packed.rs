//! The vectors of one kind and model, packed for scanning.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use homeagent_language::embed::int8::{Quantised, dot};

use super::signs::signs;

/// So many vectors lie in one piece of memory, so that adding one never copies all.
const SEGMENT: usize = 4096;

/// Above this many vectors only the likeliest are compared exactly.
const SCANNED: usize = 200_000;

/// So many times more than are asked for are compared exactly, and at least [`LEAST`].
const SHORTLIST: usize = 4;
const LEAST: usize = 4096;

#[derive(Default)]
struct Segment {
    ids: Vec<i64>,
    scales: Vec<f32>,
    data: Vec<i8>,
    signs: Vec<u64>,
}

/// Vectors of one length, found by their ids.
pub(super) struct Packed {
    dimensions: usize,
    segments: Vec<Segment>,
    places: HashMap<i64, u32>,
    /// What the signs are taken around. Sentence models' vectors all point much the same way: around zero most signs
    /// would tell nothing.
    centre: Vec<i8>,
}

/// No passage has this id: what lay here was removed.
const REMOVED: i64 = i64::MIN;

/// A vector's likeness and its place; ordered by likeness.
#[derive(PartialEq)]
struct Likeness(f32, usize);

impl Eq for Likeness {}

impl PartialOrd for Likeness {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Likeness {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl Packed {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, segments: Vec::new(), places: HashMap::new(), centre: vec![0; dimensions] }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn contains(&self, id: i64) -> bool {
        self.places.contains_key(&id)
    }

    /// The vector under an id.
    pub(super) fn of(&self, id: i64) -> Option<Quantised> {
        let place = *self.places.get(&id)? as usize;
        let (segment, at) = (self.segments.get(place / SEGMENT)?, place % SEGMENT);
        let values = segment.data.get(at * self.dimensions..(at + 1) * self.dimensions)?.to_vec();
        Some(Quantised { scale: *segment.scales.get(at)?, values })
    }

    /// Adds a vector, in the place of the one with this id.
    pub(super) fn put(&mut self, id: i64, vector: &Quantised) {
        if vector.values.len() != self.dimensions || id == REMOVED {
            return;
        }
        self.remove(id);
        if self.segments.last().is_none_or(|last| last.ids.len() == SEGMENT) {
            self.segments.push(Segment::default());
        }
        let at = (self.segments.len() - 1) * SEGMENT;
        let Some(last) = self.segments.last_mut() else { return };
        self.places.insert(id, (at + last.ids.len()) as u32);
        last.ids.push(id);
        last.scales.push(vector.scale);
        last.data.extend_from_slice(&vector.values);
        last.signs.extend(signs(&vector.values, &self.centre));
    }

    pub(super) fn remove(&mut self, id: i64) {
        let Some(place) = self.places.remove(&id) else { return };
        let (segment, at) = (place as usize / SEGMENT, place as usize % SEGMENT);
        let Some(segment) = self.segments.get_mut(segment) else { return };
        if let Some(id) = segment.ids.get_mut(at) {
            *id = REMOVED;
        }
        let range = at * self.dimensions..(at + 1) * self.dimensions;
        if let Some(data) = segment.data.get_mut(range) {
            data.fill(0);
        }
    }

    /// Takes the signs around the middle of the vectors that are there.
    pub(super) fn centre(&mut self) {
        let sample = self.segments.iter().take(4);
        let mut sums = vec![0i64; self.dimensions];
        let mut count = 0i64;
        for vector in sample.flat_map(|segment| segment.data.chunks_exact(self.dimensions)) {
            sums.iter_mut().zip(vector).for_each(|(sum, x)| *sum += i64::from(*x));
            count += 1;
        }
        self.centre = sums.into_iter().map(|sum| (sum / count.max(1)) as i8).collect();
        for segment in &mut self.segments {
            segment.signs.clear();
            let vectors = segment.data.chunks_exact(self.dimensions);
            segment.signs.extend(vectors.flat_map(|vector| signs(vector, &self.centre)));
        }
    }

    /// The `k` nearest of those that `allow` lets through, nearest first, and the mean likeness of a sample of them.
    pub(super) fn nearest(&self, query: &Quantised, k: usize, allow: &dyn Fn(i64) -> bool) -> (Vec<(i64, f32)>, f32) {
        if query.values.len() != self.dimensions || k == 0 {
            return (Vec::new(), 0.0);
        }
        let best = if self.len() > SCANNED { self.shortlisted(query, k, allow) } else { self.scanned(query, k, allow) };
        let best = best.into_iter().filter_map(|Likeness(likeness, place)| Some((self.id(place)?, likeness)));
        (best.collect(), self.mean(query, allow))
    }

    /// Compares all.
    fn scanned(&self, query: &Quantised, k: usize, allow: &dyn Fn(i64) -> bool) -> Vec<Likeness> {
        let mut best = Best::new(k);
        for (number, segment) in self.segments.iter().enumerate() {
            let vectors = segment.data.chunks_exact(self.dimensions).zip(&segment.scales).zip(&segment.ids);
            for (at, ((vector, scale), id)) in vectors.enumerate() {
                let likeness = dot(vector, &query.values) as f32 * scale * query.scale;
                // Whether it may be seen is asked only of those that are near enough, which is seldom.
                if best.takes(likeness) && *id != REMOVED && allow(*id) {
                    best.push(likeness, number * SEGMENT + at);
                }
            }
        }
        best.sorted()
    }

    /// Compares the signs of all, and exactly only those that differ in few.
    fn shortlisted(&self, query: &Quantised, k: usize, allow: &dyn Fn(i64) -> bool) -> Vec<Likeness> {
        let wanted = signs(&query.values, &self.centre);
        let words = wanted.len();
        let mut likely = Best::new((k * SHORTLIST).max(LEAST));
        for (number, segment) in self.segments.iter().enumerate() {
            for (at, (vector, id)) in segment.signs.chunks_exact(words).zip(&segment.ids).enumerate() {
                let differing: u32 = vector.iter().zip(&wanted).map(|(a, b)| (a ^ b).count_ones()).sum();
                let likeness = -(differing as f32);
                if likely.takes(likeness) && *id != REMOVED && allow(*id) {
                    likely.push(likeness, number * SEGMENT + at);
                }
            }
        }
        let mut best = Best::new(k);
        for Likeness(_, place) in likely.sorted() {
            if let Some(likeness) = self.likeness(place, query)
                && best.takes(likeness)
            {
                best.push(likeness, place);
            }
        }
        best.sorted()
    }

    /// The mean likeness of some four thousand vectors, spread evenly, of those that may be seen.
    fn mean(&self, query: &Quantised, allow: &dyn Fn(i64) -> bool) -> f32 {
        let all = self.segments.iter().map(|segment| segment.ids.len()).sum::<usize>();
        let (mut sum, mut count) = (0.0, 0.0);
        for place in (0..all).step_by((all / LEAST).max(1)) {
            if let Some(id) = self.id(place)
                && allow(id)
                && let Some(likeness) = self.likeness(place, query)
            {
                sum += likeness;
                count += 1.0;
            }
        }
        if count == 0.0 { 0.0 } else { sum / count }
    }

    fn id(&self, place: usize) -> Option<i64> {
        let id = *self.segments.get(place / SEGMENT)?.ids.get(place % SEGMENT)?;
        (id != REMOVED).then_some(id)
    }

    fn likeness(&self, place: usize, query: &Quantised) -> Option<f32> {
        let (segment, at) = (self.segments.get(place / SEGMENT)?, place % SEGMENT);
        let vector = segment.data.get(at * self.dimensions..(at + 1) * self.dimensions)?;
        Some(dot(vector, &query.values) as f32 * segment.scales.get(at)? * query.scale)
    }
}

/// The best so many.
struct Best {
    heap: BinaryHeap<Reverse<Likeness>>,
    room: usize,
}

impl Best {
    fn new(room: usize) -> Self {
        Self { heap: BinaryHeap::new(), room }
    }

    fn takes(&self, likeness: f32) -> bool {
        self.heap.len() < self.room || self.heap.peek().is_some_and(|Reverse(worst)| likeness > worst.0)
    }

    fn push(&mut self, likeness: f32, place: usize) {
        self.heap.push(Reverse(Likeness(likeness, place)));
        if self.heap.len() > self.room {
            self.heap.pop();
        }
    }

    fn sorted(self) -> Vec<Likeness> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(likeness)| likeness).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use homeagent_language::embed::int8::quantise_direction;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_are_those_of_all_that_may_be_seen(
            vectors in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 8), 1..60),
            removed in prop::collection::vec(0i64..60, 0..9),
            hidden in 1i64..5,
        ) {
            let mut packed = Packed::new(8);
            for (id, vector) in (0..).zip(&vectors) {
                packed.put(id, &quantise_direction(vector));
            }
            removed.iter().for_each(|id| packed.remove(*id));
            let query = quantise_direction(&[1.0, 0.5, -0.5, 0.1, 0.9, -1.0, 0.3, 0.2]);
            let allow = |id: i64| id % hidden == 0;
            let (found, _) = packed.nearest(&query, 5, &allow);
            let mut all: Vec<f32> = (0..).zip(&vectors).filter(|(id, _)| allow(*id) && !removed.contains(id)).map(|(_, vector)| {
                let vector = quantise_direction(vector);
                dot(&vector.values, &query.values) as f32 * vector.scale * query.scale
            }).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            all.truncate(5);
            prop_assert!(found.iter().all(|(id, _)| allow(*id) && !removed.contains(id)));
            prop_assert_eq!(found.into_iter().map(|(_, likeness)| likeness).collect::<Vec<_>>(), all);
        }
    }
}
