//! The vectors of one kind and model, packed for scanning.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use homeagent_language::embed::int8::{Quantised, dot};
use rustc_hash::FxHashMap;

use super::signs::signs;

/// So many vectors lie in one piece of memory, so that adding one never copies all.
const SEGMENT: usize = 4096;

/// Above this many vectors only the likeliest are compared exactly.
const SCANNED: usize = 200_000;

/// So many times more than are asked for are compared exactly, and at least [`LEAST`].
const SHORTLIST: usize = 4;
const LEAST: usize = 8 * 1024;

/// The mean likeness is that of about so many.
const SAMPLE: usize = 2048;

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
    places: FxHashMap<i64, u32>,
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
        Self { dimensions, segments: Vec::new(), places: FxHashMap::default(), centre: vec![0; dimensions] }
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
        let signs = signs(&vector.values, &self.centre);
        let values = vector.values.iter().copied();
        if let Some(segment) = self.append(id, vector.scale, values) {
            segment.signs.extend(signs);
        }
    }

    /// The same while all are being read: [`Self::centre`] gives them their signs.
    pub(super) fn put_unsigned(&mut self, id: i64, scale: f32, values: &[u8]) {
        if values.len() == self.dimensions && id != REMOVED {
            self.append(id, scale, values.iter().map(|value| value.cast_signed()));
        }
    }

    fn append(&mut self, id: i64, scale: f32, values: impl Iterator<Item = i8>) -> Option<&mut Segment> {
        self.remove(id);
        if self.segments.last().is_none_or(|last| last.ids.len() == SEGMENT) {
            self.segments.push(Segment::default());
        }
        let at = (self.segments.len() - 1) * SEGMENT;
        let last = self.segments.last_mut()?;
        self.places.insert(id, (at + last.ids.len()) as u32);
        last.ids.push(id);
        last.scales.push(scale);
        last.data.extend(values);
        Some(last)
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
        let best = if self.len() > SCANNED {
            self.shortlisted(query, k, (k * SHORTLIST).max(LEAST), allow)
        } else {
            self.scanned(query, k, allow)
        };
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

    /// Compares the signs of all, and exactly only the `shortlist` of them that differ in fewest.
    fn shortlisted(&self, query: &Quantised, k: usize, shortlist: usize, allow: &dyn Fn(i64) -> bool) -> Vec<Likeness> {
        let mut best = Best::new(k);
        for place in self.likely(query, shortlist, allow) {
            if let Some(likeness) = self.likeness(place, query)
                && best.takes(likeness)
            {
                best.push(likeness, place);
            }
        }
        best.sorted()
    }

    /// The places of those whose signs differ in fewest, ascending.
    fn likely(&self, query: &Quantised, shortlist: usize, allow: &dyn Fn(i64) -> bool) -> Vec<usize> {
        let wanted = signs(&query.values, &self.centre);
        let mut nearest: BinaryHeap<(u32, usize)> = BinaryHeap::with_capacity(shortlist + 1);
        let mut differing = Vec::with_capacity(SEGMENT);
        // From here on a vector is too far.
        let mut bound = u32::MAX;
        for (number, segment) in self.segments.iter().enumerate() {
            // First all numbers, which a processor does many of at once, and then the few that are low.
            differing.clear();
            let vectors = segment.signs.chunks_exact(wanted.len());
            differing.extend(vectors.map(|vector| {
                vector.iter().zip(&wanted).map(|(signs, wanted)| (signs ^ wanted).count_ones()).sum::<u32>()
            }));
            for (at, (differing, id)) in differing.iter().zip(&segment.ids).enumerate() {
                if *differing < bound && *id != REMOVED && allow(*id) {
                    nearest.push((*differing, number * SEGMENT + at));
                    if nearest.len() > shortlist {
                        nearest.pop();
                        bound = nearest.peek().map_or(u32::MAX, |(differing, _)| *differing);
                    }
                }
            }
        }
        // In the order in which they lie in memory.
        let mut places: Vec<usize> = nearest.into_iter().map(|(_, place)| place).collect();
        places.sort_unstable();
        places
    }

    /// The mean likeness of some thousand vectors, spread evenly, of those that may be seen.
    fn mean(&self, query: &Quantised, allow: &dyn Fn(i64) -> bool) -> f32 {
        let all = self.segments.iter().map(|segment| segment.ids.len()).sum::<usize>();
        let (mut sum, mut count) = (0.0, 0.0);
        for place in (0..all).step_by((all / SAMPLE).max(1)) {
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

    /// Vectors as sentence models make them: all around one direction, those of a topic nearer to each other.
    fn topical(count: u64) -> impl Iterator<Item = Vec<f32>> {
        // A linear congruential generator, with the numbers of Knuth's MMIX.
        fn part(state: &mut u64) -> f32 {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        }
        (0..count).map(|number| {
            let (mut common, mut topic, mut own) = (1, number % 61 + 2, number + 1000);
            (0..192).map(|_| 1.5 * part(&mut common) + part(&mut topic) + part(&mut own)).collect()
        })
    }

    #[test]
    fn the_shortlist_holds_nearly_all_of_the_nearest_and_nothing_else_than_what_may_be_seen() {
        let mut packed = Packed::new(192);
        for (id, vector) in (0..).zip(topical(6000)) {
            let vector = quantise_direction(&vector);
            let values: Vec<u8> = vector.values.iter().map(|value| value.cast_unsigned()).collect();
            packed.put_unsigned(id, vector.scale, &values);
        }
        packed.centre();
        // One that comes later has its signs at once.
        let late = quantise_direction(&topical(6001).last().expect("a vector"));
        packed.put(6000, &late);
        (0..6000).step_by(7).for_each(|id| packed.remove(id));
        let allow = |id: i64| id % 3 != 1;
        let (mut found, mut wanted) = (0, 0);
        for query in topical(6040).skip(6000) {
            let query = quantise_direction(&query);
            let places =
                |likeness: Vec<Likeness>| likeness.into_iter().map(|Likeness(_, place)| place).collect::<Vec<_>>();
            let exact = places(packed.scanned(&query, 10, &allow));
            let listed = places(packed.shortlisted(&query, 10, 300, &allow));
            assert!(
                listed.iter().all(|place| packed.id(*place).is_some_and(|id| allow(id) && (id == 6000 || id % 7 != 0)))
            );
            assert_eq!(listed.len(), 10);
            wanted += exact.len();
            found += exact.iter().filter(|place| listed.contains(place)).count();
        }
        assert!(found * 100 >= wanted * 95, "{found} of {wanted}");
        let own = packed.shortlisted(&late, 1, 300, &|_| true);
        assert_eq!(packed.id(own.first().expect("the nearest").1), Some(6000));
    }
}
