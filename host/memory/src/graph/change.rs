//! Changes by hand or by judgement, and taking them back: merging two entities, retracting a relation, saying which name
//! is preferred. Closings are changes too.

use homeagent_types::{Audience, Viewer};
use rusqlite::{OptionalExtension as _, Row, params};
use serde::Serialize;

use super::error::{GraphError, Stop};
use super::model::{Claim, Closing, Source};
use super::resolve::{Context, proper_name};
use super::seen::Seen;
use super::writing::Writing;
use super::{Graph, predicate};

/// Who changes something, and where.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The account, or the part of the host.
    pub actor: &'a str,
    /// Before whom it is done: they may undo it.
    pub audience: &'a Audience,
    /// What they may see, and so change.
    pub viewer: &'a Viewer,
    /// When, in milliseconds since 1970 UTC.
    pub at_ms: i64,
}

/// Something that was changed and can be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its number.
    pub id: i64,
    /// `commit`, `closing`, `merge`, `retraction`, `edit`, `name`.
    pub kind: String,
    /// When.
    pub at: i64,
    /// Who did it.
    pub actor: Option<String>,
    /// When it was undone.
    pub undone_at: Option<i64>,
}

/// What came of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its number, by which it is undone.
    pub change: i64,
    /// Relations that no longer hold because of it.
    pub closed: Vec<Closing>,
}

impl Graph {
    /// Makes two entities one: what is said of either is said of both. What can have one value at a time keeps the one that
    /// was told last.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoEntity`] when one can't be seen, [`GraphError::Invalid`] when they are one already.
    pub fn merge(&self, from: i64, into: i64, author: Author<'_>) -> Result<Changed, GraphError> {
        for entity in [from, into] {
            self.entity(entity, author.viewer)?;
        }
        self.write("merging two entities", |writing| {
            let (from, into) = (writing.merged.root(from), writing.merged.root(into));
            if from == into {
                return Err(GraphError::Invalid(format!("{from} and {into} are one already")).into());
            }
            let audience = writing.audience(author.audience)?;
            let change = writing.change("merge", author.at_ms, Some(author.actor), audience)?;
            let before = writing.point(from, Some(into))?;
            writing.step(change, "merged", from, before)?;
            let closed = writing.settle(into, change)?;
            Ok(Changed { change, closed })
        })
    }

    /// Takes a relation back, before every audience of which the author is and that heard it: it was never so. What it closed
    /// holds again, unless something else that is known closes it.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoRelation`] when it can't be seen or was taken back before.
    pub fn retract(&self, relation: i64, author: Author<'_>) -> Result<Changed, GraphError> {
        self.write("taking a relation back", |writing| {
            let seen = self.seen(author.viewer);
            let audience = writing.audience(author.audience)?;
            let change = writing.change("retraction", author.at_ms, Some(author.actor), audience)?;
            let closed = self.retract_rows(writing, relation, change, author.at_ms, &seen)?;
            Ok(Changed { change, closed })
        })
    }

    /// Says a relation otherwise: takes it back and tells another of the same subject in its place.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoRelation`] when it can't be seen or was taken back, [`GraphError::Refused`] when the other can't be
    /// told; then nothing was changed.
    pub fn replace(
        &self,
        relation: i64,
        claim: &Claim,
        source: &Source,
        author: Author<'_>,
    ) -> Result<(i64, Changed), GraphError> {
        self.write("changing a relation", |writing| {
            let seen = self.seen(author.viewer);
            let audience = writing.audience(author.audience)?;
            let change = writing.change("edit", author.at_ms, Some(author.actor), audience)?;
            let mut closed = self.retract_rows(writing, relation, change, author.at_ms, &seen)?;
            let told =
                self.take(writing, &Source { undoable: false, ..source.clone() }, std::slice::from_ref(claim))?;
            let made = told.relations.into_iter().next().ok_or(GraphError::NoRelation(relation))?;
            let made = made.map_err(GraphError::Refused)?;
            if told.fresh > 0 {
                writing.step(change, "made", made, None)?;
            }
            closed.extend(told.closed);
            Ok((made, Changed { change, closed }))
        })
    }

    /// Takes all rows back for which a relation stands.
    fn retract_rows(
        &self,
        writing: &Writing<'_>,
        relation: i64,
        change: i64,
        at_ms: i64,
        seen: &Seen,
    ) -> Result<Vec<Closing>, Stop> {
        let rows = self.rows_of(writing, relation, seen)?;
        let mut closed = Vec::new();
        for row in &rows {
            closed.extend(writing.retract(*row, change, at_ms, seen)?);
        }
        // What one of them was closed by, or closed, before it went itself.
        closed.retain(|closing| !rows.contains(&closing.relation) && !rows.contains(&closing.by));
        Ok(closed)
    }

    /// Gives an entity another name, among those who read the author's conversation.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoEntity`] when it can't be seen, [`GraphError::Refused`] when that is no name.
    pub fn add_name(&self, entity: i64, name: &str, author: Author<'_>) -> Result<Changed, GraphError> {
        let known = self.entity(entity, author.viewer)?;
        let name = proper_name(name)?;
        let source = Source {
            audience: author.audience.clone(),
            speaker: None,
            origin: String::new(),
            at_ms: author.at_ms,
            undoable: true,
        };
        self.write("naming an entity", |writing| {
            let context = Context::new(writing, self, &source)?;
            let before =
                writing.connection.query_row("SELECT max(id) FROM names", [], |row| row.get::<_, Option<i64>>(0))?;
            let row = writing.name(&context, known.id, &name, known.kind)?;
            let change = writing.change("name", author.at_ms, Some(author.actor), context.audience)?;
            if Some(row) > before {
                writing.step(change, "named", row, None)?;
            }
            Ok(Changed { change, closed: Vec::new() })
        })
    }

    /// Says by which of its names an entity is shown to those who heard that name.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoEntity`] when it has no such name here.
    pub fn prefer(&self, entity: i64, name: &str, author: Author<'_>) -> Result<Changed, GraphError> {
        let folded = homeagent_language::text::fold(&super::resolve::clean(name));
        self.write("choosing a name", |writing| {
            let seen = self.seen(author.viewer);
            let audience = writing.audience(author.audience)?;
            let change = writing.change("name", author.at_ms, Some(author.actor), audience)?;
            let sql = format!(
                "SELECT id, preferred FROM names WHERE entity = ?1 AND folded = ?2 AND {}",
                seen.condition("audience")
            );
            let mut is_called_so = false;
            for entity in writing.merged.cluster(entity) {
                let mut statement = writing.connection.prepare_cached(&sql)?;
                let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
                let names: Vec<(i64, i64)> =
                    statement.query_map(params![entity, folded], read)?.collect::<Result<_, _>>()?;
                for (name, before) in names {
                    is_called_so = true;
                    // The last choice is the greatest; 1 is a name somebody gave himself.
                    let sql = "UPDATE names SET preferred = ?2 WHERE id = ?1";
                    writing.connection.execute(sql, [name, change + 1])?;
                    writing.step(change, "preferred", name, Some(before))?;
                }
            }
            if !is_called_so {
                return Err(GraphError::NoEntity(format!("{entity} that is called \"{name}\"")).into());
            }
            Ok(Changed { change, closed: Vec::new() })
        })
    }

    /// The last changes that the viewer may undo, the last one first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn changes(&self, limit: u32, viewer: &Viewer) -> Result<Vec<Change>, GraphError> {
        self.show("reading changes", viewer, |showing| {
            let sql = format!(
                "SELECT id, kind, at, actor, undone_at FROM graph_changes WHERE {} ORDER BY id DESC LIMIT ?1",
                showing.seen.change()
            );
            let read = |row: &Row<'_>| {
                let (id, kind, at) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(Change { id, kind, at, actor: row.get(3)?, undone_at: row.get(4)? })
            };
            Ok(showing.connection.prepare_cached(&sql)?.query_map([limit], read)?.collect::<Result<_, _>>()?)
        })
    }
}

impl Writing<'_> {
    /// Closes what contradicts what else is said of an entity, as part of a change.
    fn settle(&self, entity: i64, change: i64) -> Result<Vec<Closing>, Stop> {
        let sql = "SELECT DISTINCT predicate, kinds LIKE '%trait%' FROM relations
                   WHERE subject = ?1 AND retracted_at IS NULL AND valid_to IS NULL";
        let mut predicates: Vec<(String, bool)> = Vec::new();
        for entity in self.merged.cluster(entity) {
            let mut statement = self.connection.prepare_cached(sql)?;
            for row in statement.query_map([entity], |row| Ok((row.get(0)?, row.get(1)?)))? {
                predicates.push(row?);
            }
        }
        predicates.sort();
        predicates.dedup();
        let mut closed = Vec::new();
        for (key, is_trait) in predicates {
            if predicate::is_single_valued(&key) || is_trait {
                closed.extend(self.settle_predicate(entity, &key, is_trait, change)?);
            }
        }
        Ok(closed)
    }

    pub(super) fn settle_predicate(
        &self,
        entity: i64,
        key: &str,
        is_trait: bool,
        change: i64,
    ) -> Result<Vec<Closing>, Stop> {
        let sql = "SELECT 1 FROM closings JOIN relations AS closer ON closer.id = by_relation
                   WHERE relation = ?1
                   AND (by_relation = ?2 OR (undone = 0 AND closer.audience = ?3 AND closer.retracted_at IS NULL))";
        let mut closed = Vec::new();
        let mut pairs = self.contradictions(entity, key, None, is_trait)?;
        // Each by the one that was told last.
        pairs.sort_by_key(|(older, newer)| (older.id, -newer.id));
        for (older, newer) in pairs {
            let (relation, by, audience) = (older.id, newer.id, newer.audience);
            if !self.connection.prepare_cached(sql)?.exists([relation, by, audience])? {
                self.insert_closing(relation, by, change)?;
                closed.push(Closing { relation, by, change });
            }
        }
        Ok(closed)
    }

    /// Takes a relation back as part of a change.
    pub(super) fn retract(&self, id: i64, change: i64, at_ms: i64, seen: &Seen) -> Result<Vec<Closing>, Stop> {
        let sql = format!(
            "SELECT subject, predicate, kinds LIKE '%trait%' FROM relations
             WHERE id = ?1 AND retracted_at IS NULL AND {}",
            seen.condition("audience")
        );
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found: Option<(i64, String, bool)> = self.connection.query_row(&sql, [id], read).optional()?;
        let Some((subject, key, is_trait)) = found else { return Err(GraphError::NoRelation(id).into()) };
        self.connection.execute("UPDATE relations SET retracted_at = ?2 WHERE id = ?1", [id, at_ms])?;
        self.step(change, "retracted", id, None)?;
        if predicate::is_single_valued(&key) || is_trait {
            return self.settle_predicate(subject, &key, is_trait, change);
        }
        Ok(Vec::new())
    }
}
