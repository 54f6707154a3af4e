//! Deleting for good. What goes leaves a hash behind, by which rebuilding and distilling know that it is not to come back;
//! what is said of it later is new.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use homeagent_language::text;
use rusqlite::{OptionalExtension as _, Row, params};
use serde::Serialize;

use super::Graph;
use super::change::Author;
use super::error::{GraphError, Stop};
use super::seen::Seen;
use super::terms;
use super::tombstones::{Grave, Hash};
use super::writing::Writing;

/// So many sentences and entities are looked at in one cleaning, by their numbers.
const CLEANED: i64 = 10_000;

/// Tables that are cleaned, and when a row of them goes.
const SENTENCES: (&str, &str) = ("sentences", "NOT EXISTS (SELECT 1 FROM evidence WHERE sentence = sentences.id)");
const ENTITIES: (&str, &str) = (
    "entities",
    "merged_into IS NULL
     AND NOT EXISTS (SELECT 1 FROM relations WHERE subject = entities.id)
     AND NOT EXISTS (SELECT 1 FROM relations WHERE object = entities.id)
     AND NOT EXISTS (SELECT 1 FROM entity_accounts WHERE entity = entities.id)
     AND NOT EXISTS (SELECT 1 FROM entities AS other WHERE other.merged_into = entities.id)",
);

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deleted {
    /// Entities of which nothing is left.
    pub entities: usize,
    /// Names.
    pub names: usize,
    /// Relations.
    pub relations: usize,
    /// Sentences, and words of sentences that speak of something else too.
    pub sentences: usize,
}

impl Graph {
    /// Deletes relations, and the words in which they were said, before every audience of which the author is.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoRelation`] for one that can't be seen; then none was deleted.
    pub fn delete_relations(&self, relations: &[i64], author: Author<'_>) -> Result<Deleted, GraphError> {
        self.deleting("deleting relations", author, |writing, seen| {
            let mut deleted = Deleted::default();
            let mut distinct: BTreeSet<i64> = BTreeSet::new();
            for relation in relations {
                distinct.extend(self.rows_of(writing, *relation, seen)?);
            }
            for relation in distinct {
                if !writing.delete_relation(relation, seen, author.at_ms, &mut deleted)? {
                    return Err(GraphError::NoRelation(relation).into());
                }
            }
            Ok(deleted)
        })
    }

    /// Deletes all that the author may see of an entity and of those that are one with it.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoEntity`] when nothing of it can be seen.
    pub fn delete_entity(&self, entity: i64, author: Author<'_>) -> Result<Deleted, GraphError> {
        self.entity(entity, author.viewer)?;
        self.deleting("deleting an entity", author, |writing, seen| {
            let mut deleted = Deleted::default();
            for entity in writing.merged.cluster(entity) {
                writing.delete_entity(entity, seen, author.at_ms, &mut deleted)?;
            }
            Ok(deleted)
        })
    }

    /// Deletes what was drawn from places in the journal or from documents (`journal:<seq>`, `document:<id>`), whoever
    /// heard it, and takes nothing from them again.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn forget_origins(&self, origins: &[String]) -> Result<Deleted, GraphError> {
        let result = self.write("forgetting what was said", |writing| {
            let mut deleted = Deleted::default();
            for origin in origins {
                writing.forget_origin(origin, &mut deleted)?;
            }
            Ok(deleted)
        });
        self.shared.shown.clear();
        result
    }

    /// Deletes sentences from which nothing is known any more and entities of which nothing is said: looks at the next so
    /// many of each, and begins anew behind the last.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn clean(&self) -> Result<Deleted, GraphError> {
        let mut deleted = Deleted::default();
        let mut after = self.shared.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
        let (sentences, next) = self.left_over(SENTENCES, after.0)?;
        after.0 = next;
        let (entities, next) = self.left_over(ENTITIES, after.1)?;
        after.1 = next;
        if sentences.is_empty() && entities.is_empty() {
            return Ok(deleted);
        }
        self.write("cleaning the graph", |writing| {
            // Something may have been told of them since.
            let sql = format!("DELETE FROM sentences WHERE id = ?1 AND {}", SENTENCES.1);
            for sentence in sentences {
                deleted.sentences += writing.connection.prepare_cached(&sql)?.execute([sentence])?;
            }
            let sql = format!("SELECT 1 FROM entities WHERE id = ?1 AND {}", ENTITIES.1);
            for entity in entities {
                if writing.connection.prepare_cached(&sql)?.exists([entity])? {
                    writing.delete_names(entity, &Seen::All, &mut deleted)?;
                    deleted.entities += writing.connection.execute("DELETE FROM entities WHERE id = ?1", [entity])?;
                }
            }
            Ok(deleted)
        })
    }

    /// Rows of a table with numbers above `after` that its condition holds for, of as many as are looked at at a time, and
    /// where to go on: 0 is the beginning.
    fn left_over(&self, (table, condition): (&str, &str), after: i64) -> Result<(Vec<i64>, i64), GraphError> {
        self.read("looking for what nothing is known of", |connection| {
            let sql = format!("SELECT id FROM {table} WHERE id > ?1 AND id <= ?1 + ?2 AND {condition}");
            let rows = connection
                .prepare_cached(&sql)?
                .query_map([after, CLEANED], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let last: Option<i64> =
                connection.query_row(&format!("SELECT max(id) FROM {table}"), [], |row| row.get(0))?;
            let next = after.saturating_add(CLEANED);
            Ok((rows, if last.is_some_and(|last| next < last) { next } else { 0 }))
        })
    }

    fn deleting(
        &self,
        doing: &'static str,
        author: Author<'_>,
        work: impl FnOnce(&mut Writing<'_>, &Seen) -> Result<Deleted, Stop>,
    ) -> Result<Deleted, GraphError> {
        let result = self.write(doing, |writing| {
            let seen = self.seen(author.viewer);
            let deleted = work(writing, &seen)?;
            writing.reload_merged()?;
            Ok(deleted)
        });
        self.shared.shown.clear();
        result
    }
}

/// A relation that is to go.
struct Doomed {
    subject: i64,
    predicate: String,
    object: Option<i64>,
    literal: Option<String>,
    audience: String,
}

impl Writing<'_> {
    /// Deletes a relation and what is left over after it; `false` when there is none that may be seen.
    fn delete_relation(&mut self, id: i64, seen: &Seen, at_ms: i64, deleted: &mut Deleted) -> Result<bool, Stop> {
        let sql = format!(
            "SELECT subject, predicate, object, literal, (SELECT text FROM graph_audiences WHERE id = audience)
             FROM relations WHERE id = ?1 AND {}",
            seen.condition("audience")
        );
        let read = |row: &Row<'_>| {
            let (subject, predicate, object) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Doomed { subject, predicate, object, literal: row.get(3)?, audience: row.get(4)? })
        };
        let found = self.connection.prepare_cached(&sql)?.query_row([id], read).optional()?;
        let Some(doomed) = found else { return Ok(false) };
        self.bury_relation(&doomed, at_ms)?;
        self.delete_words(id, at_ms, deleted)?;
        self.delete_row(id, &doomed, deleted)?;
        Ok(true)
    }

    /// Deletes a relation's row, and its ends where nothing else is said of them.
    fn delete_row(&mut self, id: i64, doomed: &Doomed, deleted: &mut Deleted) -> Result<(), Stop> {
        if let Some(literal) = &doomed.literal {
            terms::remove_literal(self.connection, id, literal)?;
        }
        let steps = "DELETE FROM graph_steps WHERE row = ?1 AND what IN ('made', 'retracted')";
        self.connection.prepare_cached(steps)?.execute([id])?;
        deleted.relations += self.connection.prepare_cached("DELETE FROM relations WHERE id = ?1")?.execute([id])?;
        for end in [Some(doomed.subject), doomed.object].into_iter().flatten() {
            self.delete_if_empty(end, deleted)?;
        }
        Ok(())
    }

    /// Leaves tombstones for a relation under all names by which it could be told again.
    fn bury_relation(&mut self, doomed: &Doomed, at_ms: i64) -> Result<(), Stop> {
        let subjects = self.labels(doomed.subject)?;
        let objects = match (&doomed.object, &doomed.literal) {
            (Some(object), _) => self.labels(*object)?,
            (None, literal) => BTreeSet::from([text::fold(literal.as_deref().unwrap_or_default())]),
        };
        for subject in &subjects {
            for object in &objects {
                let (predicate, audience) = (doomed.predicate.as_str(), doomed.audience.as_str());
                self.bury(Grave::Relation { subject, predicate, object, audience }, at_ms)?;
            }
        }
        Ok(())
    }

    /// The names and accounts of an entity and of those that are one with it.
    fn labels(&self, entity: i64) -> rusqlite::Result<BTreeSet<String>> {
        let sql =
            "SELECT folded FROM names WHERE entity = ?1 UNION SELECT account FROM entity_accounts WHERE entity = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut labels = BTreeSet::new();
        for entity in self.merged.cluster(entity) {
            for label in statement.query_map([entity], |row| row.get(0))? {
                labels.insert(label?);
            }
        }
        Ok(labels)
    }

    /// Deletes the sentences behind a relation; of those that say something else too, the words alone.
    fn delete_words(&mut self, relation: i64, at_ms: i64, deleted: &mut Deleted) -> Result<(), Stop> {
        let sql = "SELECT id, hash, (SELECT count(*) FROM evidence AS other WHERE other.sentence = sentences.id)
                   FROM evidence JOIN sentences ON sentences.id = sentence WHERE relation = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let sentences: Vec<(i64, Hash, i64)> =
            self.connection.prepare_cached(sql)?.query_map([relation], read)?.collect::<Result<_, _>>()?;
        for (sentence, hash, relations) in sentences {
            if relations > 1 {
                self.connection.execute("UPDATE sentences SET text = '' WHERE id = ?1", [sentence])?;
            } else {
                self.bury_hash(hash, at_ms)?;
                self.connection.execute("DELETE FROM sentences WHERE id = ?1", [sentence])?;
            }
            deleted.sentences += 1;
        }
        Ok(())
    }

    fn delete_entity(&mut self, entity: i64, seen: &Seen, at_ms: i64, deleted: &mut Deleted) -> Result<(), Stop> {
        let sql =
            format!("SELECT id FROM relations WHERE (subject = ?1 OR object = ?1) AND {}", seen.condition("audience"));
        let relations: Vec<i64> =
            self.connection.prepare_cached(&sql)?.query_map([entity], |row| row.get(0))?.collect::<Result<_, _>>()?;
        self.delete_words_naming(entity, seen, deleted)?;
        // Before the relations, with the last of which the names go.
        self.bury_names(entity, seen, at_ms)?;
        for relation in relations {
            self.delete_relation(relation, seen, at_ms, deleted)?;
        }
        self.delete_names(entity, seen, deleted)?;
        let condition = seen.condition("audience");
        let sql = format!("SELECT DISTINCT account FROM entity_accounts WHERE entity = ?1 AND {condition}");
        let accounts: Vec<String> =
            self.connection.prepare_cached(&sql)?.query_map([entity], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for account in accounts {
            self.bury(Grave::Account(&account), at_ms)?;
        }
        let sql = format!("DELETE FROM entity_accounts WHERE entity = ?1 AND {condition}");
        self.connection.execute(&sql, [entity])?;
        self.delete_if_empty(entity, deleted)
    }

    /// Empties sentences in which an entity is named, from which relations of others were drawn.
    fn delete_words_naming(&self, entity: i64, seen: &Seen, deleted: &mut Deleted) -> Result<(), Stop> {
        let condition = seen.condition("sentences.audience");
        let sql = format!(
            "UPDATE sentences SET text = '' WHERE text <> '' AND {condition} AND id IN (
                 SELECT other.sentence FROM relations JOIN evidence ON evidence.relation = relations.id
                 JOIN evidence AS other ON other.sentence = evidence.sentence AND other.relation <> relations.id
                 WHERE subject = ?1 OR object = ?1)"
        );
        deleted.sentences += self.connection.execute(&sql, [entity])?;
        Ok(())
    }

    /// Leaves tombstones for the names of an entity that may be seen.
    fn bury_names(&mut self, entity: i64, seen: &Seen, at_ms: i64) -> Result<(), Stop> {
        let sql = format!(
            "SELECT folded, (SELECT text FROM graph_audiences WHERE id = audience) FROM names WHERE entity = ?1 AND {}",
            seen.condition("audience")
        );
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let names: Vec<(String, String)> =
            self.connection.prepare_cached(&sql)?.query_map([entity], read)?.collect::<Result<_, _>>()?;
        for (folded, audience) in names {
            self.bury(Grave::Name { folded: &folded, audience: &audience }, at_ms)?;
        }
        Ok(())
    }

    /// Deletes names of an entity that may be seen.
    fn delete_names(&mut self, entity: i64, seen: &Seen, deleted: &mut Deleted) -> Result<(), Stop> {
        let sql = format!("SELECT id, text FROM names WHERE entity = ?1 AND {}", seen.condition("audience"));
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let names: Vec<(i64, String)> =
            self.connection.prepare_cached(&sql)?.query_map([entity], read)?.collect::<Result<_, _>>()?;
        for (name, text) in names {
            self.forget_name(name);
            terms::remove_name(self.connection, name, &text)?;
            let steps = "DELETE FROM graph_steps WHERE row = ?1 AND what IN ('named', 'preferred')";
            self.connection.prepare_cached(steps)?.execute([name])?;
            deleted.names += self.connection.prepare_cached("DELETE FROM names WHERE id = ?1")?.execute([name])?;
        }
        Ok(())
    }

    /// Deletes an entity of which nothing is said any more and that is nobody's account.
    pub(super) fn delete_if_empty(&mut self, entity: i64, deleted: &mut Deleted) -> Result<(), Stop> {
        let sql = "SELECT 1 WHERE EXISTS (SELECT 1 FROM relations WHERE subject = ?1)
                   OR EXISTS (SELECT 1 FROM relations WHERE object = ?1)
                   OR EXISTS (SELECT 1 FROM entity_accounts WHERE entity = ?1)";
        if self.connection.prepare_cached(sql)?.exists(params![entity])? {
            return Ok(());
        }
        self.delete_names(entity, &Seen::All, deleted)?;
        self.connection.execute("DELETE FROM graph_steps WHERE row = ?1 AND what = 'merged'", [entity])?;
        deleted.entities += self.connection.execute("DELETE FROM entities WHERE id = ?1", [entity])?;
        Ok(())
    }

    fn forget_origin(&mut self, origin: &str, deleted: &mut Deleted) -> Result<(), Stop> {
        // What comes from there is never new, whenever it is read again.
        self.bury(Grave::Origin(origin), i64::MAX)?;
        let sql = "SELECT DISTINCT relation FROM sentences JOIN evidence ON sentence = sentences.id WHERE origin = ?1";
        let relations: Vec<i64> =
            self.connection.prepare_cached(sql)?.query_map([origin], |row| row.get(0))?.collect::<Result<_, _>>()?;
        deleted.sentences += self.connection.execute("DELETE FROM sentences WHERE origin = ?1", [origin])?;
        for relation in relations {
            let sql = "SELECT count(*) FROM evidence WHERE relation = ?1";
            let left: i64 = self.connection.prepare_cached(sql)?.query_row([relation], |row| row.get(0))?;
            if left > 0 {
                self.connection.execute("UPDATE relations SET mentions = ?2 WHERE id = ?1", [relation, left])?;
                continue;
            }
            let sql = "SELECT subject, predicate, object, literal, '' FROM relations WHERE id = ?1";
            let read = |row: &Row<'_>| {
                let (subject, predicate, object) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(Doomed { subject, predicate, object, literal: row.get(3)?, audience: row.get(4)? })
            };
            let doomed = self.connection.prepare_cached(sql)?.query_row([relation], read)?;
            self.delete_row(relation, &doomed, deleted)?;
        }
        Ok(())
    }
}
