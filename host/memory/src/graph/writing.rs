//! One transaction that writes, and what it has to tell when it is over.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use homeagent_types::Audience;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::Shared;
use super::merged::Merged;
use super::model::EntityKind;
use super::tombstones::{self, Grave, Hash, Tombstones};

/// A transaction under way.
pub(super) struct Writing<'a> {
    pub(super) shared: &'a Shared,
    pub(super) connection: &'a Connection,
    pub(super) merged: Arc<Merged>,
    pub(super) tombstones: Arc<Tombstones>,
    /// Names that were met: (audience, kind, folded) -> what they mean there.
    pub(super) met: HashMap<(i64, EntityKind, String), Met>,
    /// How often names were spoken of, by their rows.
    mentions: HashMap<i64, i64>,
    done: Done,
}

/// What a name was found to mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Met {
    pub(super) entity: i64,
    pub(super) name: i64,
}

/// What a transaction changed of what is kept in memory.
#[derive(Default)]
pub(super) struct Done {
    pub(super) audiences: Vec<(String, i64)>,
    pub(super) merged: Option<Merged>,
    pub(super) tombstones: Vec<(Hash, i64)>,
    /// Rows of names that went.
    pub(super) gone: Vec<i64>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(shared: &'a Shared, transaction: &'a Transaction<'_>) -> Self {
        Self {
            shared,
            connection: transaction,
            merged: shared.merged.read().unwrap_or_else(PoisonError::into_inner).clone(),
            tombstones: shared.tombstones.read().unwrap_or_else(PoisonError::into_inner).clone(),
            met: HashMap::new(),
            mentions: HashMap::new(),
            done: Done::default(),
        }
    }

    pub(super) fn finish(self) -> rusqlite::Result<Done> {
        let sql = "UPDATE names SET mentions = mentions + ?2 WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        for (name, more) in self.mentions {
            statement.execute(params![name, more])?;
        }
        Ok(self.done)
    }

    /// The id of an audience, which is made where it is new.
    pub(super) fn audience(&mut self, audience: &Audience) -> rusqlite::Result<i64> {
        let text = audience.to_string();
        if let Some(id) = self.known_audience(&text) {
            return Ok(id);
        }
        // It may be there already: of another program's making.
        self.connection.execute("INSERT OR IGNORE INTO graph_audiences (text) VALUES (?1)", [&text])?;
        let sql = "SELECT id FROM graph_audiences WHERE text = ?1";
        let id = self.connection.query_row(sql, [&text], |row| row.get(0))?;
        self.done.audiences.push((text, id));
        Ok(id)
    }

    pub(super) fn known_audience(&self, text: &str) -> Option<i64> {
        let known = self.shared.known.read().unwrap_or_else(PoisonError::into_inner).get(text).copied();
        known.or_else(|| self.done.audiences.iter().find(|(fresh, _)| fresh == text).map(|(_, id)| *id))
    }

    /// Counts a mention of a name.
    pub(super) fn mention(&mut self, name: i64) {
        *self.mentions.entry(name).or_default() += 1;
    }

    /// Notes that a name's row goes.
    pub(super) fn forget_name(&mut self, name: i64) {
        self.done.gone.push(name);
        self.mentions.remove(&name);
        self.met.retain(|_, met| met.name != name);
    }

    /// Points an entity at another, or at none, and returns what it pointed at.
    pub(super) fn point(&mut self, entity: i64, into: Option<i64>) -> rusqlite::Result<Option<i64>> {
        let before = "SELECT merged_into FROM entities WHERE id = ?1";
        let before = self.connection.query_row(before, [entity], |row| row.get(0)).optional()?.flatten();
        self.connection.execute("UPDATE entities SET merged_into = ?2 WHERE id = ?1", params![entity, into])?;
        self.reload_merged()?;
        Ok(before)
    }

    /// Reads the merges anew, after rows that took part in them changed.
    pub(super) fn reload_merged(&mut self) -> rusqlite::Result<()> {
        let merged = Merged::load(self.connection)?;
        self.done.merged = Some(merged.clone());
        self.merged = Arc::new(merged);
        Ok(())
    }

    /// Leaves a tombstone.
    pub(super) fn bury(&mut self, grave: Grave<'_>, at_ms: i64) -> rusqlite::Result<()> {
        let hash = self.tombstones.hash(grave);
        self.bury_hash(hash, at_ms)
    }

    /// The same for what the hash is known of.
    pub(super) fn bury_hash(&mut self, hash: Hash, at_ms: i64) -> rusqlite::Result<()> {
        tombstones::put(self.connection, hash, at_ms)?;
        self.done.tombstones.push((hash, at_ms));
        Ok(())
    }

    /// Begins a change that can be undone.
    pub(super) fn change(&self, kind: &str, at_ms: i64, actor: Option<&str>, audience: i64) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO graph_changes (kind, at, actor, audience) VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute(params![kind, at_ms, actor, audience])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Notes what a change did to a row, and what was there before.
    pub(super) fn step(&self, change: i64, what: &str, row: i64, before: Option<i64>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO graph_steps (change, position, what, row, before)
                   VALUES (?1, (SELECT count(*) FROM graph_steps WHERE change = ?1), ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute(params![change, what, row, before]).map(drop)
    }
}
