//! What can be undone: changes, their steps, closings and merges. A change is taken as far as what it changed is here
//! because of the file; what was decided here stands.

use std::collections::HashMap;

use rusqlite::{OptionalExtension as _, params};

use super::fields::Fields;
use super::{Joining, Place};
use crate::graph::error::Stop;

pub(super) struct TheirClosing {
    relation: i64,
    by: i64,
    change: i64,
    undone: i64,
}

pub(super) struct TheirChange {
    id: i64,
    kind: String,
    at: i64,
    actor: Option<String>,
    /// The number here.
    audience: i64,
    undone_at: Option<i64>,
}

pub(super) struct TheirStep {
    what: String,
    row: i64,
    before: Option<i64>,
}

/// Changes of the file, by its numbers: what they are here.
type Changes = HashMap<i64, i64>;

impl Joining<'_, '_> {
    pub(super) fn read_closing(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        self.closings.push(TheirClosing {
            relation: row.number("relation")?,
            by: row.number("by_relation")?,
            change: row.number("change")?,
            undone: row.number("undone")?,
        });
        Ok(())
    }

    pub(super) fn read_change(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        self.changes.push(TheirChange {
            id: row.number("id")?,
            kind: row.text("kind")?,
            at: row.number("at")?,
            actor: row.optional_text("actor")?,
            audience: self.circle(row)?.id,
            undone_at: row.optional_number("undone_at")?,
        });
        Ok(())
    }

    pub(super) fn read_step(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        let step =
            TheirStep { what: row.text("what")?, row: row.number("row")?, before: row.optional_number("before")? };
        self.steps.entry(row.number("change")?).or_default().push(step);
        Ok(())
    }

    pub(super) fn take_changes(&mut self) -> Result<(), Stop> {
        let mut closings: HashMap<i64, Vec<TheirClosing>> = HashMap::new();
        for closing in std::mem::take(&mut self.closings) {
            closings.entry(closing.change).or_default().push(closing);
        }
        let mut here = Changes::new();
        for change in std::mem::take(&mut self.changes) {
            let steps = self.steps.remove(&change.id).unwrap_or_default();
            let closings = closings.remove(&change.id).unwrap_or_default();
            if let Some(known) = self.known_change(&change)? {
                here.insert(change.id, known);
                self.forget_merges(&steps);
                for closing in closings {
                    self.take_closing(&closing, known)?;
                }
                continue;
            }
            self.take_change(&change, &steps, &closings, &mut here)?;
        }
        // Those of which no change tells, such as after what it changed was deleted in part.
        let rest: Vec<(i64, i64)> = std::mem::take(&mut self.merges).into_iter().collect();
        for (from, into) in rest {
            if self.entities.get(&from).copied().flatten().is_some_and(|from| self.made_entities.contains(&from)) {
                self.merge(from, into)?;
            }
        }
        for (name, theirs) in std::mem::take(&mut self.preferred) {
            let preferred = preference(theirs, &here);
            if preferred != 0 {
                let sql = "UPDATE names SET preferred = ?2 WHERE id = ?1";
                self.writing.connection.prepare_cached(sql)?.execute([name, preferred])?;
            }
        }
        Ok(())
    }

    fn known_change(&self, change: &TheirChange) -> Result<Option<i64>, Stop> {
        if let Some(place) = self.known("change", change.id, change.at)? {
            return Ok(Some(place.id));
        }
        let sql = "SELECT id FROM graph_changes WHERE id = ?1 AND kind = ?2 AND at = ?3";
        let row = params![change.id, change.kind, change.at];
        let same = self.writing.connection.prepare_cached(sql)?.query_row(row, |row| row.get(0)).optional()?;
        Ok(same.filter(|_| self.is_kin))
    }

    /// Whether a merge that was taken before still holds is decided here.
    fn forget_merges(&mut self, steps: &[TheirStep]) {
        for step in steps.iter().filter(|step| step.what == "merged") {
            self.merges.remove(&step.row);
        }
    }

    fn take_change(
        &mut self,
        change: &TheirChange,
        steps: &[TheirStep],
        closings: &[TheirClosing],
        here: &mut Changes,
    ) -> Result<(), Stop> {
        let connection = self.writing.connection;
        let sql = "INSERT INTO graph_changes (kind, at, actor, audience, undone_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = params![change.kind, change.at, change.actor, change.audience, change.undone_at];
        connection.prepare_cached(sql)?.execute(row)?;
        let id = connection.last_insert_rowid();
        let mut taken = 0;
        for step in steps {
            if let Some((row, before)) = self.step_here(step, change.undone_at.is_none(), here)? {
                self.writing.step(id, &step.what, row, before)?;
                taken += 1;
            }
        }
        for closing in closings {
            taken += self.take_closing(closing, id)?;
        }
        if taken == 0 {
            connection.prepare_cached("DELETE FROM graph_changes WHERE id = ?1")?.execute([id])?;
            return Ok(());
        }
        self.joined.rows += 1 + taken;
        here.insert(change.id, id);
        Ok(self.remember("change", change.id, change.at, Place { id, made: true })?)
    }

    /// What a step changed here; none where that is not there because of the file.
    fn step_here(
        &mut self,
        step: &TheirStep,
        is_in_force: bool,
        here: &Changes,
    ) -> Result<Option<(i64, Option<i64>)>, Stop> {
        let made = |place: Option<Place>| place.filter(|place| place.made).map(|place| place.id);
        match step.what.as_str() {
            "merged" => {
                let entity = self.entities.get(&step.row).copied().flatten();
                let into = self.merges.get(&step.row).copied().filter(|_| is_in_force);
                let Some((entity, into)) = entity.zip(into) else { return Ok(None) };
                self.merges.remove(&step.row);
                Ok(self.merge_rows(entity, into)?.then_some((entity, None)))
            }
            "named" => Ok(made(self.names.get(&step.row).copied()).map(|row| (row, None))),
            "preferred" => {
                let before = preference(step.before.unwrap_or_default(), here);
                Ok(made(self.names.get(&step.row).copied()).map(|row| (row, Some(before))))
            }
            _ => {
                let relation = made(self.relations.get(&step.row).copied().flatten());
                if let Some(relation) = relation.filter(|_| step.what == "retracted" && is_in_force) {
                    self.retract_here(step.row, relation)?;
                }
                Ok(relation.map(|row| (row, step.before)))
            }
        }
    }

    /// A relation that an earlier import made was taken back there since.
    fn retract_here(&mut self, theirs: i64, ours: i64) -> Result<(), Stop> {
        if let Some(at) = self.retracted.get(&theirs) {
            let sql = "UPDATE relations SET retracted_at = ?2 WHERE id = ?1 AND retracted_at IS NULL";
            self.writing.connection.prepare_cached(sql)?.execute([ours, *at])?;
        }
        Ok(())
    }

    fn take_closing(&mut self, closing: &TheirClosing, change: i64) -> Result<usize, Stop> {
        let place = |theirs: i64| self.relations.get(&theirs).copied().flatten().map(|place| place.id);
        let Some((relation, by)) = place(closing.relation).zip(place(closing.by)) else { return Ok(0) };
        let sql = "INSERT OR IGNORE INTO closings (relation, by_relation, change, undone) VALUES (?1, ?2, ?3, ?4)";
        let row = [relation, by, change, closing.undone];
        Ok(self.writing.connection.prepare_cached(sql)?.execute(row)?)
    }

    fn merge(&mut self, from: i64, into: i64) -> Result<(), Stop> {
        if let Some(from) = self.entities.get(&from).copied().flatten() {
            self.merge_rows(from, into)?;
        }
        Ok(())
    }

    /// Points an entity at the one that another of the file became; false: they are one already, or can't be.
    fn merge_rows(&mut self, from: i64, into: i64) -> Result<bool, Stop> {
        let Some(into) = self.entities.get(&into).copied().flatten() else { return Ok(false) };
        if self.writing.merged.root(from) == self.writing.merged.root(into) {
            return Ok(false);
        }
        if self.writing.merged.root(from) != from {
            let why = format!("a merge: #{from} is one with another than #{into} here");
            self.joined.left.push(why);
            return Ok(false);
        }
        self.writing.point(from, Some(into))?;
        Ok(true)
    }

    /// Closes what no longer holds after what both knew came together; each closing can be undone by itself.
    pub(super) fn settle_touched(&mut self) -> Result<(), Stop> {
        for (subject, key, is_trait) in std::mem::take(&mut self.touched) {
            let mut pairs = self.writing.contradictions(subject, &key, None, is_trait)?;
            pairs.sort_by_key(|(older, newer)| (older.id, -newer.id));
            for (older, newer) in pairs {
                let sql = "SELECT last_at FROM relations WHERE id = ?1";
                let at = self.writing.connection.prepare_cached(sql)?.query_row([newer.id], |row| row.get(0))?;
                self.writing.close(older.id, newer.id, newer.audience, None, at)?;
            }
        }
        Ok(())
    }
}

/// How a name is preferred: 0 and 1 say the same everywhere, more is the number of a change and one.
fn preference(theirs: i64, here: &Changes) -> i64 {
    if theirs <= 1 { theirs } else { here.get(&(theirs - 1)).map_or(1, |change| change + 1) }
}
