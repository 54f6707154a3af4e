//! Ranking by meaning: how near a passage's vector is to the question's.

use homeagent_settings::DatabaseError;

use super::QuestionVector;
use crate::index::{Columns, Filter, Slot};
use crate::vectors::{Kind, Vectors};

/// How near the nearest `limit` passages are, nearest first: the nearest with 1, one that is as near as any passage with
/// 0. A sentence model's cosines lie close together and high; only so can they be added to anything.
pub(super) fn by_meaning(
    question: &QuestionVector,
    vectors: &Vectors,
    columns: &Columns,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<(Slot, f32)>, DatabaseError> {
    // The vectoriser reads them; an answer that waits for a million vectors would come too late.
    if !vectors.is_loaded(Kind::Passage, &question.model) {
        return Ok(Vec::new());
    }
    let seen =
        |id: i64| columns.slot(id).and_then(|slot| columns.entry(slot)).is_some_and(|entry| filter.allows(entry));
    let found = vectors.nearest(Kind::Passage, &question.vector, &question.model, limit, &seen)?;
    let nearest = found.best.first().map_or(0.0, |(_, likeness)| *likeness);
    let range = nearest - found.mean;
    if range <= f32::EPSILON {
        // One passage alone, or all alike.
        return Ok(found.best.iter().filter_map(|(id, _)| Some((columns.slot(*id)?, 1.0))).collect());
    }
    let scaled = found.best.iter().map(|(id, likeness)| (id, (likeness - found.mean) / range));
    Ok(scaled
        .filter(|(_, nearness)| *nearness > 0.0)
        .filter_map(|(id, near)| Some((columns.slot(*id)?, near)))
        .collect())
}
