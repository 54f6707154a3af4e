//! The vectors of one model in memory, side by side, so that all are looked at in a few milliseconds.

use std::collections::{BTreeSet, HashMap, HashSet};

use homeagent_language::embed::int8::{Quantised, dot};

use crate::index::StoredVector;

/// Vectors, and what they are of.
#[derive(Default)]
pub(crate) struct Matrix {
    /// Whose vectors they are; none where there is no model.
    model: Option<String>,
    width: usize,
    rows: Vec<Row>,
    steps: Vec<i8>,
    places: HashMap<i64, usize>,
}

struct Row {
    chunk: i64,
    base: i64,
    scale: f32,
}

/// What the vectors say of a question.
#[derive(Default)]
pub(crate) struct Nearest {
    /// The nearest chunks with their cosines, the nearest first.
    pub(crate) chunks: Vec<(i64, f32)>,
    /// The mean cosine of all that were looked at: what is as far away as this has nothing to do with the question.
    pub(crate) mean: f32,
}

impl Matrix {
    /// The vectors of a model that are kept.
    pub(crate) fn of(model: &str, width: usize, kept: Vec<StoredVector>) -> Self {
        let mut matrix = Self { model: Some(model.to_owned()), width, ..Self::default() };
        for StoredVector { chunk, base, vector } in kept {
            matrix.put(chunk, base, &vector);
        }
        matrix
    }

    /// Whose vectors they are.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(crate) fn put(&mut self, chunk: i64, base: i64, vector: &Quantised) {
        if vector.values.len() != self.width {
            return;
        }
        let row = Row { chunk, base, scale: vector.scale };
        match self.places.get(&chunk) {
            Some(place) => {
                self.rows[*place] = row;
                self.steps[place * self.width..(place + 1) * self.width].copy_from_slice(&vector.values);
            }
            None => {
                self.places.insert(chunk, self.rows.len());
                self.rows.push(row);
                self.steps.extend_from_slice(&vector.values);
            }
        }
    }

    pub(crate) fn remove(&mut self, chunk: i64) {
        let Some(place) = self.places.remove(&chunk) else { return };
        let last = self.rows.len() - 1;
        self.rows.swap_remove(place);
        if place != last {
            self.steps.copy_within(last * self.width..(last + 1) * self.width, place * self.width);
            self.places.insert(self.rows[place].chunk, place);
        }
        self.steps.truncate(last * self.width);
    }

    /// Removes the vectors of all chunks but these.
    pub(crate) fn keep_only(&mut self, chunks: &BTreeSet<i64>) {
        let gone: Vec<i64> = self.places.keys().filter(|chunk| !chunks.contains(chunk)).copied().collect();
        gone.into_iter().for_each(|chunk| self.remove(chunk));
    }

    /// The chunks of these bases that are nearest to a question.
    #[allow(clippy::cast_precision_loss, reason = "products of bytes stay far below 2^24 for each dimension")]
    pub(crate) fn nearest(&self, question: &Quantised, bases: &HashSet<i64>, most: usize) -> Nearest {
        if question.values.len() != self.width || self.width == 0 {
            return Nearest::default();
        }
        let (mut chunks, mut sum) = (Vec::new(), 0.0_f64);
        for (row, steps) in self.rows.iter().zip(self.steps.chunks_exact(self.width)) {
            if bases.contains(&row.base) {
                let cosine = dot(steps, &question.values) as f32 * row.scale * question.scale;
                sum += f64::from(cosine);
                chunks.push((row.chunk, cosine));
            }
        }
        #[allow(clippy::cast_possible_truncation, reason = "a mean of cosines")]
        let mean = if chunks.is_empty() { 0.0 } else { (sum / chunks.len() as f64) as f32 };
        let nearer = |a: &(i64, f32), b: &(i64, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if chunks.len() > most {
            chunks.select_nth_unstable_by(most, nearer);
            chunks.truncate(most);
        }
        chunks.sort_unstable_by(nearer);
        Nearest { chunks, mean }
    }
}

#[cfg(test)]
mod tests {
    use homeagent_language::embed::int8::quantise_direction;

    use super::*;

    #[test]
    fn the_nearest_of_what_may_be_seen_are_found_and_what_is_removed_is_not() {
        let vector = |angle: f32| quantise_direction(&[angle.cos(), angle.sin()]);
        let kept = (0..10_u8).map(|at| StoredVector {
            chunk: i64::from(at),
            base: i64::from(at % 2),
            vector: vector(f32::from(at) / 10.0),
        });
        let mut matrix = Matrix::of("m", 2, kept.collect());
        let even = HashSet::from([0]);
        let ids = |nearest: Nearest| nearest.chunks.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(matrix.nearest(&vector(0.5), &even, 2)), [4, 6]);
        matrix.remove(4);
        matrix.remove(9);
        matrix.put(6, 0, &vector(3.0));
        assert_eq!(ids(matrix.nearest(&vector(0.5), &even, 9)), [2, 8, 0, 6]);
        assert_eq!(ids(matrix.nearest(&quantise_direction(&[1.0]), &even, 9)), [0_i64; 0], "another model's question");
    }
}
