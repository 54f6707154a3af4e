//! What a reader gets to see of entities and relations: by the names that were said before him, and those alone.

use std::collections::HashMap;
use std::sync::Arc;

use homeagent_language::text;
use homeagent_types::Viewer;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::error::{GraphError, Stop};
use super::merged::Merged;
use super::model::{Entity, EntityKind, Relation};
use super::same::{Single, one_for_all};
use super::seen::Seen;
use super::{Graph, predicate};

/// Aliases that an entity is shown with.
const ALIASES: usize = 12;

/// Reads for one reader.
pub(super) struct Showing<'a> {
    pub(super) connection: &'a Connection,
    pub(super) merged: Arc<Merged>,
    pub(super) seen: &'a Seen,
    names: HashMap<i64, Option<(String, EntityKind)>>,
    pub(super) alike: HashMap<i64, Arc<Vec<i64>>>,
}

/// A row of a relation.
struct Bare {
    id: i64,
    subject: i64,
    predicate: String,
    object: Option<i64>,
    literal: Option<String>,
    kinds: String,
    confidence: f64,
    mentions: i64,
    valid_from: Option<i64>,
    valid_to: Option<i64>,
    learnt_at: i64,
    last_at: i64,
    retracted_at: Option<i64>,
    audience: String,
    object_key: String,
}

/// How many rows are read for each relation that is asked for: those which say the same become one.
const ROWS: u32 = 4;

const COLUMNS: &str =
    "relations.id, subject, predicate, object, literal, kinds, confidence, mentions, valid_from, valid_to,
    learnt_at, last_at, retracted_at, (SELECT text FROM graph_audiences WHERE id = audience), object_key";

impl Bare {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            subject: row.get(1)?,
            predicate: row.get(2)?,
            object: row.get(3)?,
            literal: row.get(4)?,
            kinds: row.get(5)?,
            confidence: row.get(6)?,
            mentions: row.get(7)?,
            valid_from: row.get(8)?,
            valid_to: row.get(9)?,
            learnt_at: row.get(10)?,
            last_at: row.get(11)?,
            retracted_at: row.get(12)?,
            audience: row.get(13)?,
            object_key: row.get(14)?,
        })
    }
}

impl<'a> Showing<'a> {
    pub(super) fn new(connection: &'a Connection, merged: Arc<Merged>, seen: &'a Seen) -> Self {
        Self { connection, merged, seen, names: HashMap::new(), alike: HashMap::new() }
    }

    /// An entity, by the id of any of those that are one; `None` where nothing of it may be seen.
    pub(super) fn entity(&self, id: i64) -> rusqlite::Result<Option<Entity>> {
        let condition = self.seen.condition("audience");
        let sql = format!(
            "SELECT text, folded, kind, mentions, preferred FROM names WHERE entity = ?1 AND {condition}
             ORDER BY preferred DESC, mentions DESC, id"
        );
        let of_account =
            format!("SELECT DISTINCT account FROM entity_accounts WHERE entity = ?1 AND {condition} ORDER BY account");
        let root = self.merged.root(id);
        let mut spelt: Vec<(String, String, EntityKind, i64, i64)> = Vec::new();
        let mut accounts: Vec<String> = Vec::new();
        for entity in self.merged.cluster(id) {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query([entity])?;
            while let Some(row) = rows.next()? {
                let (folded, mentions, preferred): (String, i64, i64) = (row.get(1)?, row.get(3)?, row.get(4)?);
                match spelt.iter_mut().find(|(_, known, ..)| *known == folded) {
                    Some(known) => {
                        known.3 += mentions;
                        known.4 = known.4.max(preferred);
                    }
                    None => {
                        let kind = EntityKind::parse(row.get_ref(2)?.as_str()?);
                        spelt.push((row.get(0)?, folded, kind, mentions, preferred));
                    }
                }
            }
            let mut statement = self.connection.prepare_cached(&of_account)?;
            for account in statement.query_map([entity], |row| row.get(0))? {
                accounts.push(account?);
            }
        }
        spelt.sort_by_key(|(.., mentions, preferred)| (-preferred, -mentions));
        let kinds = || spelt.iter().map(|(_, _, kind, ..)| *kind);
        let kind = if accounts.is_empty() {
            kinds().find(|kind| *kind != EntityKind::Thing).or_else(|| kinds().next())
        } else {
            Some(EntityKind::Person)
        };
        let Some(name) = spelt.first().map(|(name, ..)| name.clone()).or_else(|| accounts.first().cloned()) else {
            return Ok(None);
        };
        let aliases = spelt.iter().skip(1).take(ALIASES).map(|(alias, ..)| alias.clone()).collect();
        let mentions = spelt.iter().map(|(_, _, _, mentions, _)| mentions).sum();
        Ok(Some(Entity { id: root, name, kind: kind.unwrap_or(EntityKind::Thing), aliases, accounts, mentions }))
    }

    /// What an entity is called here. One that has no name here, because it got it elsewhere, is shown by number.
    pub(super) fn name(&mut self, id: i64) -> rusqlite::Result<String> {
        let root = self.merged.root(id);
        if !self.names.contains_key(&root) {
            let shown = self.entity(root)?.map(|entity| (entity.name, entity.kind));
            self.names.insert(root, shown);
        }
        let shown = self.names.get(&root).and_then(Option::as_ref);
        Ok(shown.map_or_else(|| format!("#{root}"), |(name, _)| name.clone()))
    }

    /// One row of a relation, whatever else says the same.
    pub(super) fn single(&mut self, id: i64) -> rusqlite::Result<Option<Single>> {
        let sql = format!("SELECT {COLUMNS} FROM relations WHERE id = ?1 AND {}", self.seen.condition("audience"));
        let bare = self.connection.prepare_cached(&sql)?.query_row([id], Bare::read).optional()?;
        bare.map(|bare| self.dressed(bare)).transpose()
    }

    /// Relations of an entity, at either end, the last told first.
    pub(super) fn relations_of(&mut self, entity: i64, limit: u32) -> rusqlite::Result<Vec<Relation>> {
        let condition = self.seen.condition("audience");
        let mut rows: Vec<Bare> = Vec::new();
        for entity in self.merged.cluster(entity) {
            for end in ["subject", "object"] {
                let sql = format!(
                    "SELECT {COLUMNS} FROM relations WHERE {end} = ?1 AND {condition}
                     ORDER BY last_at DESC, id DESC LIMIT ?2"
                );
                let mut statement = self.connection.prepare_cached(&sql)?;
                for bare in statement.query_map(params![entity, limit.saturating_mul(ROWS)], Bare::read)? {
                    rows.push(bare?);
                }
            }
        }
        rows.sort_by_key(|bare| (-bare.last_at, -bare.id));
        rows.dedup_by_key(|bare| bare.id);
        let singles = rows.into_iter().map(|bare| self.dressed(bare)).collect::<Result<_, _>>()?;
        let mut relations = one_for_all(singles);
        relations.truncate(limit as usize);
        Ok(relations)
    }

    fn dressed(&mut self, bare: Bare) -> rusqlite::Result<Single> {
        let statement = self.statement(bare.subject, &bare.predicate, bare.object, &bare.object_key)?;
        let holds = bare.valid_to.is_none();
        let subject = self.name(bare.subject)?;
        let object = match bare.object {
            Some(object) => self.name(object)?,
            None => bare.literal.unwrap_or_default(),
        };
        let closer = self.closer(bare.id)?;
        let is_trait = bare.kinds.split(' ').any(|kind| kind == crate::social::TRAIT);
        let text = if is_trait && predicate::find(&bare.predicate).is_none() {
            format!("{subject}: {} = {object}", bare.predicate)
        } else {
            predicate::sentence(&subject, &bare.predicate, &object)
        };
        let relation = Relation {
            id: bare.id,
            text,
            subject: (self.merged.root(bare.subject), subject),
            object_entity: bare.object.map(|object| self.merged.root(object)),
            object,
            predicate: bare.predicate,
            kinds: bare.kinds.split(' ').filter(|kind| !kind.is_empty()).map(str::to_owned).collect(),
            confidence: bare.confidence as f32,
            mentions: bare.mentions,
            valid_from: bare.valid_from,
            valid_to: bare.valid_to.or(closer.map(|(_, until)| until)),
            learnt_at: bare.learnt_at,
            last_at: bare.last_at,
            retracted_at: bare.retracted_at,
            closed_by: closer.map(|(by, _)| by),
            audience: bare.audience,
            told_also: Vec::new(),
        };
        Ok(Single { statement, holds, relation })
    }

    /// What closed a relation as far as this reader may know, and since when it did.
    fn closer(&self, relation: i64) -> rusqlite::Result<Option<(i64, i64)>> {
        let sql = format!(
            "SELECT id, until FROM (
                 SELECT closer.id, coalesce(closer.valid_to, closer.valid_from, closer.learnt_at) AS until, closer.last_at
                 FROM relations AS told, {} AND told.id = ?1
                 UNION ALL
                 SELECT ender.id, ender.valid_to, ender.last_at FROM relations AS told, {} AND told.id = ?1)
             ORDER BY last_at DESC, id DESC LIMIT 1",
            self.seen.closer("told"),
            self.seen.ender("told")
        );
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.connection.prepare_cached(&sql)?.query_row([relation], read).optional()
    }
}

impl Graph {
    /// Reads for a reader, all of one moment.
    pub(super) fn show<T>(
        &self,
        doing: &'static str,
        viewer: &Viewer,
        work: impl FnOnce(&mut Showing<'_>) -> Result<T, Stop>,
    ) -> Result<T, GraphError> {
        let seen = self.seen(viewer);
        self.read(doing, |connection| work(&mut Showing::new(connection, self.merged(), &seen)))
    }

    /// An entity.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoEntity`] when there is none of this id, or the viewer may see nothing of it.
    pub fn entity(&self, id: i64, viewer: &Viewer) -> Result<Entity, GraphError> {
        self.show("reading an entity", viewer, |showing| Ok(showing.entity(id)?))?
            .ok_or_else(|| GraphError::NoEntity(id.to_string()))
    }

    /// Everyone and everything of this name, spelt alike; the most spoken of first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn named(&self, name: &str, viewer: &Viewer) -> Result<Vec<Entity>, GraphError> {
        self.show("looking for a name", viewer, |showing| {
            let sql = format!(
                "SELECT DISTINCT entity FROM names WHERE folded = ?1 AND {}",
                showing.seen.condition("audience")
            );
            let mut statement = showing.connection.prepare_cached(&sql)?;
            let folded = text::fold(&super::resolve::clean(name));
            let ids: Vec<i64> = statement.query_map([folded], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let mut roots: Vec<i64> = ids.into_iter().map(|id| showing.merged.root(id)).collect();
            roots.sort_unstable();
            roots.dedup();
            let mut found = Vec::new();
            for root in roots {
                found.extend(showing.entity(root)?);
            }
            found.sort_by_key(|entity| (-entity.mentions, entity.id));
            Ok(found)
        })
    }

    /// Entities of a kind, the most spoken of first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn of_kind(&self, kind: EntityKind, limit: u32, viewer: &Viewer) -> Result<Vec<Entity>, GraphError> {
        self.show("listing entities", viewer, |showing| {
            let condition = showing.seen.condition("audience");
            let accounts = if kind == EntityKind::Person {
                format!("UNION ALL SELECT entity, 0 AS mentions FROM entity_accounts WHERE {condition}")
            } else {
                String::new()
            };
            let sql = format!(
                "SELECT entity FROM (
                     SELECT entity, mentions FROM names WHERE kind = ?1 AND {condition} {accounts})
                 GROUP BY entity ORDER BY sum(mentions) DESC, entity LIMIT ?2"
            );
            let mut statement = showing.connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![kind.as_str(), limit], |row| row.get::<_, i64>(0))?;
            let (mut roots, mut found) = (std::collections::HashSet::new(), Vec::new());
            for row in rows {
                let root = showing.merged.root(row?);
                if roots.insert(root) {
                    found.extend(showing.entity(root)?);
                }
            }
            Ok(found)
        })
    }

    /// The person of an account, as far as the viewer may see one.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn of_account(&self, account: &str, viewer: &Viewer) -> Result<Option<Entity>, GraphError> {
        self.show("looking for a person", viewer, |showing| {
            let sql = format!(
                "SELECT entity FROM entity_accounts WHERE account = ?1 AND {} ORDER BY entity LIMIT 1",
                showing.seen.condition("audience")
            );
            let id = showing.connection.prepare_cached(&sql)?.query_row([account], |row| row.get(0)).optional()?;
            Ok(id.map(|id| showing.entity(id)).transpose()?.flatten())
        })
    }

    /// A relation, whether it still holds or not, with what the viewer may see that says the same.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoRelation`] when there is none of this id, or the viewer may not see it.
    pub fn relation(&self, id: i64, viewer: &Viewer) -> Result<Relation, GraphError> {
        self.show("reading a relation", viewer, |showing| Ok(showing.relation(id)?))?.ok_or(GraphError::NoRelation(id))
    }

    /// Relations with this entity at either end, whether they still hold or not; the last told first, at most `limit`.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn relations_of(&self, entity: i64, limit: u32, viewer: &Viewer) -> Result<Vec<Relation>, GraphError> {
        self.show("reading relations", viewer, |showing| Ok(showing.relations_of(entity, limit)?))
    }

    /// Names with a row number above `after`, in their order, at most `limit`: the texts whose vectors [`Question::alike`]
    /// is about. Vectors are kept by the name's row and not by the entity, so that each has one audience.
    ///
    /// # Errors
    ///
    /// What the database answers.
    ///
    /// [`Question::alike`]: super::Question::alike
    pub fn name_texts(&self, after: i64, limit: u32) -> Result<Vec<(i64, String)>, GraphError> {
        self.read("reading names", |connection| {
            let mut statement =
                connection.prepare_cached("SELECT id, text FROM names WHERE id > ?1 ORDER BY id LIMIT ?2")?;
            let rows = statement.query_map(params![after, limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
