//! What such a document says.

use std::collections::BTreeSet;

use crate::graph::{Entity, FOREIGN_LABEL, Relation};

/// What is told of an entity.
pub(super) struct Told {
    pub(super) entity: i64,
    pub(super) title: String,
    pub(super) text: String,
    /// The entities that are named.
    pub(super) speaks_of: BTreeSet<i64>,
    /// Whether something is said of it, and not only of others with it.
    pub(super) is_subject: bool,
    /// Whether others may have written some of it.
    pub(super) foreign: bool,
    /// When the first of it was said, and the last that was new.
    pub(super) times: (i64, i64),
}

impl Told {
    /// A sentence a line: what holds first, then what no longer does, each in the order in which it was learnt.
    pub(super) fn new(known: &Entity, relations: &[Relation]) -> Self {
        let mut told: Vec<&Relation> = relations.iter().filter(|relation| relation.retracted_at.is_none()).collect();
        told.sort_by_key(|relation| (!relation.is_current(), relation.learnt_at, relation.id));
        let times = told.iter().map(|relation| relation.learnt_at);
        let mut title = known.name.clone();
        if !known.aliases.is_empty() {
            title.push_str(&format!(" ({})", known.aliases.join(", ")));
        }
        Self {
            entity: known.id,
            title,
            text: told.iter().map(|relation| line(relation)).collect(),
            speaks_of: told
                .iter()
                .flat_map(|relation| [Some(relation.subject.0), relation.object_entity])
                .flatten()
                .chain([known.id])
                .collect(),
            is_subject: told.iter().any(|relation| relation.subject.0 == known.id),
            foreign: told.iter().any(|relation| relation.kinds.iter().any(|kind| kind == FOREIGN_LABEL)),
            times: (times.clone().min().unwrap_or(0), times.max().unwrap_or(0)),
        }
    }
}

fn line(relation: &Relation) -> String {
    let learnt = day(relation.learnt_at);
    match relation.valid_to {
        Some(until) if !relation.is_current() => format!("{} ({learnt} – {}).\n", relation.text, day(until)),
        _ if !relation.is_current() => format!("{} ({learnt}, no longer).\n", relation.text),
        _ => format!("{} ({learnt}).\n", relation.text),
    }
}

fn day(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%d").to_string()
}
