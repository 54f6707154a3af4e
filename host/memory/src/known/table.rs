//! Which documents there are, and of which entities they speak.

use std::collections::BTreeSet;

use homeagent_settings::{Database, DatabaseError};
use homeagent_types::Audience;
use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

const MIGRATIONS: &[&str] = &["
CREATE TABLE known_documents (
    id TEXT PRIMARY KEY,
    entity INTEGER NOT NULL          -- the one it is about
) STRICT, WITHOUT ROWID;
CREATE INDEX known_documents_entity ON known_documents (entity);
-- The entities that are named in it, itself among them.
CREATE TABLE known_mentions (
    entity INTEGER NOT NULL,
    document TEXT NOT NULL REFERENCES known_documents (id) ON DELETE CASCADE,
    PRIMARY KEY (entity, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_mentions_document ON known_mentions (document);
CREATE TABLE known_cursors (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];

/// The name of the document about an entity for an audience. It says nothing of who they are.
pub(super) fn name(entity: i64, audience: &Audience) -> String {
    let digest = Sha256::digest(audience.to_string());
    let digits: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("known-{entity}-{digits}")
}

#[derive(Clone)]
pub(super) struct Table {
    database: Database,
}

impl Table {
    pub(super) fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("known", MIGRATIONS)?;
        Ok(Self { database: database.clone() })
    }

    pub(super) fn cursor(&self, name: &str) -> Result<i64, DatabaseError> {
        self.database.read("reading how far it is written what is known", |connection| {
            let sql = "SELECT at FROM known_cursors WHERE name = ?1";
            Ok(connection.query_row(sql, [name], |row| row.get(0)).optional()?.unwrap_or(0))
        })
    }

    pub(super) fn advance(&self, name: &str, at: i64) -> Result<(), DatabaseError> {
        self.database.write("noting how far it is written what is known", |transaction| {
            let sql = "INSERT OR REPLACE INTO known_cursors (name, at) VALUES (?1, ?2)";
            transaction.execute(sql, params![name, at]).map(drop)
        })
    }

    pub(super) fn put(&self, id: &str, entity: i64, speaks_of: &BTreeSet<i64>) -> Result<(), DatabaseError> {
        self.database.write("noting what a document speaks of", |transaction| {
            let sql = "INSERT INTO known_documents (id, entity) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING";
            transaction.execute(sql, params![id, entity])?;
            transaction.execute("DELETE FROM known_mentions WHERE document = ?1", [id])?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO known_mentions (entity, document) VALUES (?1, ?2)")?;
            speaks_of.iter().try_for_each(|entity| insert.execute(params![entity, id]).map(drop))
        })
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), DatabaseError> {
        self.database.write("taking a document off the list of what is known", |transaction| {
            transaction.execute("DELETE FROM known_mentions WHERE document = ?1", [id])?;
            transaction.execute("DELETE FROM known_documents WHERE id = ?1", [id]).map(drop)
        })
    }

    /// How many documents there are.
    pub(super) fn count(&self) -> Result<u64, DatabaseError> {
        self.database.read("counting what is known", |connection| {
            let count = connection.query_row("SELECT count(*) FROM known_documents", [], |row| row.get::<_, i64>(0))?;
            Ok(u64::try_from(count).unwrap_or_default())
        })
    }

    /// The entities that a document speaks of.
    pub(super) fn speaks_of(&self, id: &str) -> Result<BTreeSet<i64>, DatabaseError> {
        self.database.read("looking up what a document speaks of", |connection| {
            let sql = "SELECT entity FROM known_mentions WHERE document = ?1";
            connection.prepare_cached(sql)?.query_map([id], |row| row.get(0))?.collect()
        })
    }

    /// The documents about an entity, or all.
    pub(super) fn documents(&self, entity: Option<i64>) -> Result<Vec<String>, DatabaseError> {
        self.database.read("listing what is known", |connection| {
            let sql = "SELECT id FROM known_documents WHERE ?1 IS NULL OR entity = ?1 ORDER BY id";
            connection.prepare_cached(sql)?.query_map([entity], |row| row.get(0))?.collect()
        })
    }

    /// The entities whose documents speak of one.
    pub(super) fn speaking_of(&self, entity: i64) -> Result<Vec<i64>, DatabaseError> {
        self.database.read("looking for what speaks of an entity", |connection| {
            let sql = "SELECT DISTINCT known_documents.entity FROM known_mentions
                       JOIN known_documents ON known_documents.id = document WHERE known_mentions.entity = ?1";
            connection.prepare_cached(sql)?.query_map([entity], |row| row.get(0))?.collect()
        })
    }

    /// The entities above one that have documents, at most `limit`, and the last of them.
    pub(super) fn entities_after(&self, after: i64, limit: u32) -> Result<(Vec<i64>, Option<i64>), DatabaseError> {
        let entities: Vec<i64> = self.database.read("listing what is known", |connection| {
            let sql = "SELECT DISTINCT entity FROM known_documents WHERE entity > ?1 ORDER BY entity LIMIT ?2";
            connection.prepare_cached(sql)?.query_map(params![after, limit], |row| row.get(0))?.collect()
        })?;
        let last = entities.last().copied();
        Ok((entities, last))
    }
}
