//! Pairs for the merge loop whose names mean the same and look nothing alike: "grandma Liu" and 刘奶奶.
//!
//! Each name is compared once with all there are, when it has got its vector; those that come later are compared with it. How
//! far that is stands in the database, for each model by itself: with another model all names are compared anew.

use std::collections::{HashMap, HashSet};

use homeagent_language::embed::ModelIdentity;
use homeagent_language::synonyms::{Candidate, Named, is_han, near_in_meaning};

use super::merge::{Pair, may_be_one};
use super::{DistillError, Distiller};
use crate::graph::{NameRow, NameVectors};

/// So many comparisons of two names are made at a time.
const COMPARED: usize = 50_000_000;

/// So many names are compared with all others at a time at least, and at most.
const LEAST: usize = 100;
const MOST: usize = 5_000;

/// So many of the nearest names of each writing are proposed at most.
const NEAREST: usize = 3;

/// What was found, and how far the names were compared.
#[derive(Default)]
pub(super) struct Near {
    pub(super) pairs: Vec<Pair>,
    /// To be noted once the pairs are judged: the name of the cursor, and the last row.
    pub(super) reached: Option<(String, i64)>,
}

/// The names that are compared.
pub(super) struct Names<'a> {
    pub(super) rows: &'a [NameRow],
    pub(super) named: &'a [Named],
    pub(super) by_entity: &'a HashMap<i64, Vec<&'a NameRow>>,
    pub(super) judged: &'a HashSet<(i64, i64)>,
}

impl Distiller {
    /// Pairs of names near in meaning, at most `room`, beginning with the names that were not compared yet.
    pub(super) fn near_pairs(&self, names: &Names<'_>, room: usize) -> Result<Near, DistillError> {
        let Some((vectors, model)) = self.names.as_ref().and_then(|names| Some((names, names.model()?))) else {
            return Ok(Near::default());
        };
        let cursor = format!("near/{model}");
        let after = self.progress.cursor(&cursor)?;
        let first = names.rows.partition_point(|row| row.row <= after);
        let some = (COMPARED / names.rows.len().max(1)).clamp(LEAST, MOST);
        let last = names.rows.len().min(first + some);
        let with_vectors = vectored(vectors, &model, names.rows.get(first..last).unwrap_or_default())?;
        let places: HashMap<i64, usize> = names.rows.iter().enumerate().map(|(place, row)| (row.row, place)).collect();
        let han: Vec<bool> = names.named.iter().map(|named| is_han(&named.name)).collect();
        let mut near = Near::default();
        let mut taken: HashSet<(i64, i64)> = HashSet::new();
        for place in first..first + with_vectors {
            let Some(row) = names.rows.get(place) else { break };
            for candidate in nearest_of(place, names, &han, &places, (vectors, &model))? {
                let key = (candidate.a, candidate.b);
                if names.judged.contains(&key) || !taken.insert(key) {
                    continue;
                }
                if near.pairs.len() >= room {
                    return Ok(near);
                }
                near.pairs.extend(self.pair(&candidate)?);
            }
            near.reached = Some((cursor.clone(), row.row));
        }
        Ok(near)
    }
}

/// How many rows can be compared: vectors are made in the order of the rows, so that one without a vector before one with one
/// was refused by the model, and the others are yet to come.
fn vectored(vectors: &NameVectors, model: &ModelIdentity, rows: &[NameRow]) -> Result<usize, DistillError> {
    let ids: Vec<i64> = rows.iter().map(|row| row.row).collect();
    let missing: HashSet<i64> = vectors.missing(&ids, model)?.into_iter().collect();
    Ok(ids.iter().rposition(|id| !missing.contains(id)).map_or(0, |last| last + 1))
}

/// The names nearest to one that may be of the same thing, of each writing by itself: names in another writing are all further
/// away than any in the own.
fn nearest_of(
    place: usize,
    names: &Names<'_>,
    han: &[bool],
    places: &HashMap<i64, usize>,
    (vectors, model): (&NameVectors, &ModelIdentity),
) -> Result<Vec<Candidate>, DistillError> {
    let Some(own) = names.rows.get(place) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for writing in [true, false] {
        let allow = |row: i64| {
            let other = places.get(&row).and_then(|at| Some((names.rows.get(*at)?, *han.get(*at)?)));
            other.is_some_and(|(other, is_han)| {
                is_han == writing
                    && other.entity != own.entity
                    && may_be_one(names.by_entity, (own.entity, other.entity))
            })
        };
        let near = vectors.near(own.row, model, &allow)?;
        let near: Vec<(usize, usize, f32)> =
            near.iter().filter_map(|(row, nearness)| Some((place, *places.get(row)?, *nearness))).collect();
        found.extend(near_in_meaning(names.named, &near).into_iter().take(NEAREST));
    }
    Ok(found)
}
