//! What no longer holds because of what was said later.

use rusqlite::{Row, params};

use super::commit::Told;
use super::error::Stop;
use super::model::{Closing, Holding};
use super::predicate;
use super::resolve::Context;
use super::writing::Writing;
use crate::social::TRAIT;

/// Below this a claim is too weak to end another.
pub(super) const SURE: f64 = 0.5;

/// How much less sure than the other it may be.
pub(super) const SLACK: f64 = 0.25;

/// Relations of a subject and a predicate that hold for somebody.
const IN_FORCE: &str = "SELECT id, object, object_key, last_at, valid_from, confidence, audience, kinds FROM relations
    WHERE subject = ?1 AND predicate = ?2 AND superseded_at IS NULL AND valid_to IS NULL AND retracted_at IS NULL";

/// A relation with the same subject and predicate.
pub(super) struct Other {
    pub(super) id: i64,
    object: Option<i64>,
    object_key: String,
    last_at: i64,
    valid_from: Option<i64>,
    confidence: f64,
    audience: i64,
    kinds: String,
}

/// One of two that can't both hold.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) id: i64,
    pub(super) audience: i64,
}

impl End {
    fn of(other: &Other) -> Self {
        Self { id: other.id, audience: other.audience }
    }
}

impl Other {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            object: row.get(1)?,
            object_key: row.get(2)?,
            last_at: row.get(3)?,
            valid_from: row.get(4)?,
            confidence: row.get(5)?,
            audience: row.get(6)?,
            kinds: row.get(7)?,
        })
    }

    /// Which of two says something newer, as (older, newer): what holds since later, where both say since when, and was not
    /// said before the other; else what was said later. Where the two disagree, neither.
    fn in_order<'a>(&'a self, other: &'a Self) -> Option<(&'a Self, &'a Self)> {
        let (older, newer) =
            if (self.last_at, self.id) < (other.last_at, other.id) { (self, other) } else { (other, self) };
        let agrees = older.valid_from.zip(newer.valid_from).is_none_or(|(older, newer)| older <= newer);
        agrees.then_some((older, newer))
    }

    fn may_close(&self, other: &Self) -> bool {
        self.confidence >= SURE && self.confidence + SLACK >= other.confidence
    }

    fn is_trait(&self) -> bool {
        self.kinds.split(' ').any(|kind| kind == TRAIT)
    }
}

impl Writing<'_> {
    /// Closes what a relation that was just told ends, and the relation itself where something newer is known. Only a
    /// predicate that can have one value at a time does so, or a claim that something has ended.
    pub(super) fn close_others(
        &mut self,
        context: &Context<'_>,
        told: &Told<'_>,
        relation: i64,
    ) -> Result<Vec<Closing>, Stop> {
        let actor = context.source.speaker.as_ref().map(ToString::to_string);
        let mut closed = Vec::new();
        if told.valid_to.is_some() {
            if told.claim.holding == Holding::Now {
                return Ok(closed);
            }
            for other in self.of_same_object(context, told)? {
                if other != relation {
                    closed.extend(self.close(
                        other,
                        relation,
                        context.audience,
                        actor.as_deref(),
                        context.source.at_ms,
                    )?);
                }
            }
            return Ok(closed);
        }
        let is_trait = told.claim.kinds.iter().any(|kind| kind == TRAIT);
        if predicate::is_single_valued(&told.key) || is_trait {
            let pairs = self.contradictions(told.subject, &told.key, Some(relation), is_trait)?;
            for (older, newer) in pairs {
                let closing = self.close(older.id, newer.id, newer.audience, actor.as_deref(), context.source.at_ms)?;
                // Whoever is answered learns of what he may see alone.
                let is_seen = context.seen.holds(older.audience) && context.seen.holds(newer.audience);
                closed.extend(closing.filter(|_| is_seen));
            }
        }
        Ok(closed)
    }

    /// Relations in force that say the same, whoever heard them, and not after the claim.
    pub(super) fn of_same_object(&self, context: &Context<'_>, told: &Told<'_>) -> Result<Vec<i64>, Stop> {
        let sql = format!("{IN_FORCE} AND object_key = ?3");
        let objects = match told.object {
            Some(object) => self.merged.cluster(object).iter().map(i64::to_string).collect(),
            None => vec![told.object_key.clone()],
        };
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut same = Vec::new();
        for subject in self.merged.cluster(told.subject) {
            for object in &objects {
                for other in statement.query_map(params![subject, told.key, object], Other::read)? {
                    same.push(other?);
                }
            }
        }
        same.retain(|other| other.last_at <= context.source.at_ms && context.seen.holds(other.audience));
        Ok(same.into_iter().map(|other| other.id).collect())
    }

    /// Pairs of relations of a subject that can't both hold: (older, newer). Those with `around`, where it is given.
    pub(super) fn contradictions(
        &self,
        subject: i64,
        key: &str,
        around: Option<i64>,
        is_trait: bool,
    ) -> Result<Vec<(End, End)>, Stop> {
        let mut standing = self.in_force(subject, key)?;
        if is_trait && !predicate::is_single_valued(key) {
            standing.retain(Other::is_trait);
        }
        let alike = |one: &Other, two: &Other| {
            one.object_key == two.object_key
                || one.object.zip(two.object).is_some_and(|(a, b)| self.merged.root(a) == self.merged.root(b))
        };
        let pair = |one: &Other, two: &Other| {
            let (older, newer) = one.in_order(two)?;
            (!alike(one, two) && newer.may_close(older)).then_some((End::of(older), End::of(newer)))
        };
        if let Some(around) = around {
            let centre = standing.iter().find(|other| other.id == around);
            return Ok(centre.into_iter().flat_map(|one| standing.iter().filter_map(|two| pair(one, two))).collect());
        }
        let rest = |at: usize| standing.iter().skip(at + 1);
        let all = standing.iter().enumerate().flat_map(|(at, one)| rest(at).filter_map(|two| pair(one, two)));
        Ok(all.collect())
    }

    /// What is said of a subject with this predicate and was neither taken back nor ended. What was closed by something that
    /// everybody knows who knows it is left out: it is closed for all.
    pub(super) fn in_force(&self, subject: i64, key: &str) -> rusqlite::Result<Vec<Other>> {
        let mut statement = self.connection.prepare_cached(IN_FORCE)?;
        let mut all = Vec::new();
        for subject in self.merged.cluster(subject) {
            for other in statement.query_map(params![subject, key], Other::read)? {
                all.push(other?);
            }
        }
        Ok(all)
    }

    /// Closes one relation, unless the same pair was closed before, undone or not, or another of the same audience has
    /// closed it already. Each is a change of its own, so that it can be undone by itself.
    pub(super) fn close(
        &self,
        relation: i64,
        by: i64,
        audience: i64,
        actor: Option<&str>,
        at_ms: i64,
    ) -> Result<Option<Closing>, Stop> {
        let sql = "SELECT 1 FROM closings JOIN relations AS closer ON closer.id = by_relation
                   WHERE relation = ?1
                   AND (by_relation = ?2 OR (undone = 0 AND closer.audience = ?3 AND closer.retracted_at IS NULL))";
        if self.connection.prepare_cached(sql)?.exists([relation, by, audience])? {
            return Ok(None);
        }
        let change = self.change("closing", at_ms, actor, audience)?;
        self.insert_closing(relation, by, change)?;
        Ok(Some(Closing { relation, by, change }))
    }

    pub(super) fn insert_closing(&self, relation: i64, by: i64, change: i64) -> rusqlite::Result<()> {
        let sql = "INSERT INTO closings (relation, by_relation, change) VALUES (?1, ?2, ?3)";
        self.connection.prepare_cached(sql)?.execute([relation, by, change]).map(drop)
    }
}
