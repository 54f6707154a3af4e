//! Who of the file is who here: by account, by an earlier import, by a name in one context, else somebody else.

use std::collections::HashSet;

use homeagent_language::text;
use rusqlite::{OptionalExtension as _, Row, params};

use super::fields::{Fields, invalid};
use super::{Joining, Place};
use crate::graph::error::Stop;
use crate::graph::model::EntityKind;
use crate::graph::terms;
use crate::graph::tombstones::Grave;

/// An entity of the file, with all by which it is known.
pub(super) struct TheirEntity {
    id: i64,
    pub(super) merged_into: Option<i64>,
    created_at: i64,
    updated_at: i64,
    names: Vec<TheirName>,
    /// With the file's audience.
    accounts: Vec<(String, i64)>,
}

struct TheirName {
    id: i64,
    text: String,
    folded: String,
    kind: String,
    /// The file's number.
    audience: i64,
    mentions: i64,
    preferred: i64,
    created_at: i64,
}

/// An entity here that has a name.
struct Candidate {
    entity: i64,
    kind: EntityKind,
    has_account: bool,
}

impl Joining<'_, '_> {
    pub(super) fn read_entity(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        self.people.push(TheirEntity {
            id: row.number("id")?,
            merged_into: row.optional_number("merged_into")?,
            created_at: row.number("created_at")?,
            updated_at: row.number("updated_at")?,
            names: Vec::new(),
            accounts: Vec::new(),
        });
        Ok(())
    }

    pub(super) fn read_name(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        self.circle(row)?;
        let text = row.text("text")?;
        let name = TheirName {
            id: row.number("id")?,
            // As text is folded here, which another version may have done otherwise.
            folded: text::fold(&text),
            text,
            kind: row.text("kind")?,
            audience: row.number("audience")?,
            mentions: row.number("mentions")?,
            preferred: row.number("preferred")?,
            created_at: row.number("created_at")?,
        };
        self.person(row)?.names.push(name);
        Ok(())
    }

    pub(super) fn read_account(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        self.circle(row)?;
        let account = (row.text("account")?, row.number("audience")?);
        self.person(row)?.accounts.push(account);
        Ok(())
    }

    /// Entities stand in the order of their numbers.
    fn person(&mut self, row: &Fields<'_>) -> Result<&mut TheirEntity, Stop> {
        let id = row.number("entity")?;
        let at = self.people.binary_search_by_key(&id, |person| person.id);
        let found = at.ok().and_then(|at| self.people.get_mut(at));
        found.ok_or_else(|| invalid(format!("there is no entity {id} in the file")))
    }

    /// Finds or makes all entities, with their names and accounts. Those who are known for sure come first, so that nobody
    /// else is taken for them.
    pub(super) fn meet(&mut self) -> Result<(), Stop> {
        if self.people.is_empty() {
            return Ok(());
        }
        let mut people = std::mem::take(&mut self.people);
        for person in &mut people {
            self.keep_deleted(person);
        }
        people.retain(|person| !self.entities.contains_key(&person.id));
        let mut found: Vec<Option<i64>> = Vec::with_capacity(people.len());
        for person in &people {
            found.push(self.surely(person)?);
        }
        let mut claimed: HashSet<i64> = found.iter().flatten().copied().collect();
        for (person, found) in people.iter().zip(&mut found) {
            if found.is_none() {
                *found = self.by_name(person, &claimed)?;
                claimed.extend(*found);
            }
        }
        for (person, found) in people.iter().zip(found) {
            self.settle(person, found)?;
        }
        self.merges = people.iter().filter_map(|person| Some((person.id, person.merged_into?))).collect();
        Ok(())
    }

    /// Takes the names and accounts off that were deleted here after they were known there; who had no other is refused.
    fn keep_deleted(&mut self, person: &mut TheirEntity) {
        if self.writing.tombstones.is_empty() {
            return;
        }
        let labels =
            person.names.iter().map(|name| &name.folded).chain(person.accounts.iter().map(|(account, _)| account));
        self.labels.insert(person.id, labels.cloned().collect());
        let was_known = !(person.names.is_empty() && person.accounts.is_empty());
        let tombstones = &self.writing.tombstones;
        let circles = &self.circles;
        person.names.retain(|name| {
            let audience = circles.get(&name.audience).map_or("", |circle| circle.text.as_str());
            !tombstones.forbid(Grave::Name { folded: &name.folded, audience }, name.created_at)
        });
        let created = person.created_at;
        person.accounts.retain(|(account, _)| !tombstones.forbid(Grave::Account(account), created));
        if was_known && person.names.is_empty() && person.accounts.is_empty() {
            self.entities.insert(person.id, None);
        }
    }

    /// The entity here of the same account, or that a file's was before.
    fn surely(&self, person: &TheirEntity) -> Result<Option<i64>, Stop> {
        for (account, _) in &person.accounts {
            if let Some(entity) = self.writing.entity_of_account(account)? {
                return Ok(Some(entity));
            }
        }
        let is_there = "SELECT 1 FROM entities WHERE id = ?1";
        if let Some(place) = self.known("entity", person.id, person.created_at)?
            && self.writing.connection.prepare_cached(is_there)?.exists([place.id])?
        {
            return Ok(Some(place.id));
        }
        let is_same = "SELECT 1 FROM entities WHERE id = ?1 AND created_at = ?2";
        let same = [person.id, person.created_at];
        let is_same = self.is_kin && self.writing.connection.prepare_cached(is_same)?.exists(same)?;
        Ok(is_same.then_some(person.id))
    }

    /// The entity that has one of the names in the same context and is nobody of the file yet. Of several none whose account
    /// is known, and of two known people neither is the other.
    fn by_name(&self, person: &TheirEntity, claimed: &HashSet<i64>) -> Result<Option<i64>, Stop> {
        for name in &person.names {
            let Some(circle) = self.circles.get(&name.audience) else { continue };
            let kind = EntityKind::parse(&name.kind);
            let scope: Vec<String> = circle.scope.iter().map(i64::to_string).collect();
            let sql = format!(
                "SELECT entity, kind, EXISTS (SELECT 1 FROM entity_accounts AS own WHERE own.entity = names.entity)
                 FROM names WHERE folded = ?1 AND +audience IN ({}) ORDER BY entity",
                scope.join(",")
            );
            let read = |row: &Row<'_>| {
                let kind = EntityKind::parse(row.get_ref(1)?.as_str()?);
                Ok(Candidate { entity: row.get(0)?, kind, has_account: row.get(2)? })
            };
            let mut statement = self.writing.connection.prepare_cached(&sql)?;
            let mut candidates: Vec<Candidate> =
                statement.query_map([&name.folded], read)?.collect::<Result<_, _>>()?;
            candidates.retain(|candidate| {
                let are_two = candidate.has_account && !person.accounts.is_empty();
                candidate.kind.fits(kind) && !are_two && !claimed.contains(&candidate.entity)
            });
            let roots: HashSet<i64> =
                candidates.iter().map(|candidate| self.writing.merged.root(candidate.entity)).collect();
            if roots.len() > 1 {
                candidates.retain(|candidate| !candidate.has_account);
            }
            let best = candidates.iter().find(|candidate| candidate.kind == kind).or(candidates.first());
            if let Some(best) = best {
                return Ok(Some(best.entity));
            }
        }
        Ok(None)
    }

    fn settle(&mut self, person: &TheirEntity, found: Option<i64>) -> Result<(), Stop> {
        let connection = self.writing.connection;
        let place = match found {
            Some(id) => Place { id, made: false },
            None => {
                let sql = "INSERT INTO entities (created_at, updated_at) VALUES (?1, ?2)";
                connection.prepare_cached(sql)?.execute([person.created_at, person.updated_at])?;
                let id = connection.last_insert_rowid();
                self.made_entities.insert(id);
                self.joined.rows += 1;
                Place { id, made: true }
            }
        };
        self.entities.insert(person.id, Some(place.id));
        self.remember("entity", person.id, person.created_at, place)?;
        for name in &person.names {
            self.settle_name(name, place.id)?;
        }
        for (account, audience) in &person.accounts {
            let Some(circle) = self.circles.get(audience) else { continue };
            let sql = "INSERT OR IGNORE INTO entity_accounts (account, audience, entity) VALUES (?1, ?2, ?3)";
            self.joined.rows += connection.prepare_cached(sql)?.execute(params![account, circle.id, place.id])?;
        }
        Ok(())
    }

    /// How often a name was spoken of can't be told apart from what is counted here already: the greater number stands.
    fn settle_name(&mut self, name: &TheirName, entity: i64) -> Result<(), Stop> {
        let Some(circle) = self.circles.get(&name.audience) else { return Ok(()) };
        let connection = self.writing.connection;
        let sql = "SELECT id FROM names WHERE entity = ?1 AND folded = ?2 AND audience = ?3";
        let key = params![entity, name.folded, circle.id];
        let known: Option<i64> = connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
        if let Some(id) = known {
            let sql = "UPDATE names SET mentions = max(mentions, ?2), created_at = min(created_at, ?3) WHERE id = ?1";
            connection.prepare_cached(sql)?.execute([id, name.mentions, name.created_at])?;
            self.names.insert(name.id, Place { id, made: false });
            return Ok(());
        }
        let sql = "INSERT INTO names (entity, text, folded, kind, audience, mentions, created_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let row = params![entity, name.text, name.folded, name.kind, circle.id, name.mentions, name.created_at];
        connection.prepare_cached(sql)?.execute(row)?;
        let id = connection.last_insert_rowid();
        terms::put_name(connection, id, &name.text)?;
        self.joined.rows += 1;
        self.names.insert(name.id, Place { id, made: true });
        self.preferred.push((id, name.preferred));
        Ok(())
    }
}
