//! Relations that say the same to a reader. Each audience has a row of its own; whoever is of several of them is shown one
//! relation for all that he may see. Nothing of this is stored: what it comes to differs from reader to reader.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Row, params};

use super::Graph;
use super::error::Stop;
use super::model::{EntityKind, Relation, Telling};
use super::seen::Seen;
use super::show::Showing;
use super::writing::Writing;

/// Rows of one statement that are looked at, the last told first: more than there are audiences at home.
const ROWS: u32 = 256;

/// Entities that are looked at for one thing: more than there are audiences at home.
const ALIKE: usize = 256;

/// A statement, whoever heard it: subject, predicate, and the object's entity or folded words. Entities that are one count
/// as one, and so do objects of one name where that means the same wherever it is said, such as places.
pub(super) type Statement = (i64, String, String);

/// A relation before it is known which others say the same.
pub(super) struct Single {
    pub(super) statement: Statement,
    /// That it was told as something that holds.
    pub(super) holds: bool,
    pub(super) relation: Relation,
}

impl Single {
    /// Whether both are one to a reader who may see both: both hold; or both were so once, before different audiences and at
    /// the same time. Stretches of time before one audience stay apart, and so does what was taken back at another time. That
    /// it has ended is another statement than that it holds: whoever takes the one back does not mean the other.
    fn is_one_with(&self, other: &Self) -> bool {
        let (own, relation) = (&self.relation, &other.relation);
        if own.is_current() || relation.is_current() {
            return own.is_current() && relation.is_current();
        }
        let end = |relation: &Relation| relation.valid_to.unwrap_or(relation.last_at).max(relation.last_at);
        let is_elsewhere =
            own.audience != relation.audience && own.told_also.iter().all(|other| other.audience != relation.audience);
        self.holds == other.holds
            && own.retracted_at == relation.retracted_at
            && is_elsewhere
            && own.learnt_at <= end(relation)
            && relation.learnt_at <= end(own)
    }

    /// Takes an older one in.
    fn take(&mut self, relation: Relation) {
        let own = &mut self.relation;
        own.mentions += relation.mentions;
        own.confidence = own.confidence.max(relation.confidence);
        own.learnt_at = own.learnt_at.min(relation.learnt_at);
        own.last_at = own.last_at.max(relation.last_at);
        own.valid_from = own.valid_from.into_iter().chain(relation.valid_from).min();
        own.valid_to = own.valid_to.max(relation.valid_to);
        own.closed_by = own.closed_by.or(relation.closed_by);
        for kind in relation.kinds {
            if !own.kinds.contains(&kind) {
                own.kinds.push(kind);
            }
        }
        own.told_also.push(Telling { relation: relation.id, audience: relation.audience });
    }
}

/// Makes one of those that say the same. Given and returned with the last told first, by whose id and name it goes on.
pub(super) fn one_for_all(mut singles: Vec<Single>) -> Vec<Relation> {
    let holding: HashMap<i64, Statement> = singles
        .iter()
        .filter(|single| single.holds)
        .map(|single| (single.relation.id, single.statement.clone()))
        .collect();
    for single in singles.iter_mut().filter(|single| single.holds) {
        let by = single.relation.closed_by.and_then(|by| holding.get(&by));
        if by.is_some_and(|by| *by == single.statement) {
            // The same, told anew before others: told apart only because neither audience knows of the other.
            (single.relation.closed_by, single.relation.valid_to) = (None, None);
        }
    }
    let mut kept: Vec<Single> = Vec::with_capacity(singles.len());
    let mut places: HashMap<Statement, Vec<usize>> = HashMap::new();
    for single in singles {
        let known = places.entry(single.statement.clone()).or_default();
        let place = known.iter().copied().find(|at| kept.get(*at).is_some_and(|one| one.is_one_with(&single)));
        match place.and_then(|at| kept.get_mut(at)) {
            Some(one) => one.take(single.relation),
            None => {
                known.push(kept.len());
                kept.push(single);
            }
        }
    }
    kept.into_iter().map(|single| single.relation).collect()
}

impl Showing<'_> {
    /// What a row states.
    pub(super) fn statement(
        &mut self,
        subject: i64,
        predicate: &str,
        object: Option<i64>,
        object_key: &str,
    ) -> rusqlite::Result<Statement> {
        let object = match object {
            Some(object) => self.alike(object)?.first().copied().unwrap_or(object).to_string(),
            None => object_key.to_owned(),
        };
        Ok((self.merged.root(subject), predicate.to_owned(), object))
    }

    /// The entities that mean the same as this one to the reader, as far as he may see their names; sorted.
    pub(super) fn alike(&mut self, entity: i64) -> rusqlite::Result<Arc<Vec<i64>>> {
        if let Some(known) = self.alike.get(&entity) {
            return Ok(known.clone());
        }
        let (shared, condition) = (EntityKind::shared_condition("kind"), self.seen.condition("audience"));
        let names = format!("SELECT DISTINCT folded FROM names WHERE entity = ?1 AND {shared} AND {condition}");
        let named = format!("SELECT DISTINCT entity FROM names WHERE folded = ?1 AND {shared} AND {condition}");
        let (mut names, mut named) = (self.connection.prepare_cached(&names)?, self.connection.prepare_cached(&named)?);
        let mut spelt: BTreeSet<String> = BTreeSet::new();
        let mut all = self.merged.cluster(entity);
        let mut next = 0;
        while let Some(at) = all.get(next).copied().filter(|_| all.len() < ALIKE) {
            next += 1;
            let own: Vec<String> = names.query_map([at], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for name in own {
                if spelt.contains(&name) {
                    continue;
                }
                let others: Vec<i64> = named.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
                for other in others {
                    let fresh: Vec<i64> =
                        self.merged.cluster(other).into_iter().filter(|other| !all.contains(other)).collect();
                    all.extend(fresh);
                }
                spelt.insert(name);
            }
        }
        all.sort_unstable();
        let alike = Arc::new(all);
        for one in alike.iter() {
            self.alike.insert(*one, alike.clone());
        }
        Ok(alike)
    }

    /// A relation, with what the reader may see that says the same.
    pub(super) fn relation(&mut self, id: i64) -> rusqlite::Result<Option<Relation>> {
        let Some(single) = self.single(id)? else { return Ok(None) };
        let mut singles = Vec::new();
        for other in self.same(&single)? {
            singles.extend(if other == id { None } else { self.single(other)? });
        }
        singles.push(single);
        singles.sort_by_key(|single| (-single.relation.last_at, -single.relation.id));
        let mut found = one_for_all(singles).into_iter().find(|relation| relation.ids().any(|one| one == id));
        // Whoever asks by a number goes on by it.
        if let Some(relation) = &mut found
            && let Some(asked) = relation.told_also.iter_mut().find(|telling| telling.relation == id)
        {
            std::mem::swap(&mut asked.relation, &mut relation.id);
            std::mem::swap(&mut asked.audience, &mut relation.audience);
        }
        Ok(found)
    }

    /// Rows of the same statement that the reader may see. By the statement and not in the order of time, in which SQLite
    /// would go through all that is said of a subject.
    fn same(&mut self, single: &Single) -> rusqlite::Result<BTreeSet<i64>> {
        let sql = format!(
            "SELECT id FROM relations INDEXED BY relations_key
             WHERE subject = ?1 AND predicate = ?2 AND object_key = ?3 AND {}
             ORDER BY last_at DESC, id DESC LIMIT {ROWS}",
            self.seen.condition("audience")
        );
        let (subject, predicate, words) = &single.statement;
        let objects = match single.relation.object_entity {
            Some(object) => self.alike(object)?.iter().map(i64::to_string).collect(),
            None => vec![words.clone()],
        };
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut same = BTreeSet::new();
        let read = |row: &Row<'_>| row.get(0);
        for subject in self.merged.cluster(*subject) {
            for object in &objects {
                for id in statement.query_map(params![subject, predicate, object], read)? {
                    same.insert(id?);
                }
            }
        }
        Ok(same)
    }
}

impl Relation {
    /// Its id and those of the rows that say the same before other audiences, as far as the reader may see them.
    pub fn ids(&self) -> impl Iterator<Item = i64> + '_ {
        std::iter::once(self.id).chain(self.told_also.iter().map(|telling| telling.relation))
    }

    /// Every audience that heard it and whose member the reader is, in text form.
    pub fn audiences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.audience.as_str()).chain(self.told_also.iter().map(|telling| telling.audience.as_str()))
    }
}

impl Graph {
    /// The rows that a reader's relation stands for: what is done to it is done to all of them.
    pub(super) fn rows_of(&self, writing: &Writing<'_>, id: i64, seen: &Seen) -> Result<Vec<i64>, Stop> {
        let mut showing = Showing::new(writing.connection, writing.merged.clone(), seen);
        let relation = showing.relation(id)?.ok_or(super::GraphError::NoRelation(id))?;
        Ok(relation.ids().collect())
    }
}
