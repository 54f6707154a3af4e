//! What the user allowed each plugin to do. No row, no right.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::params;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &["CREATE TABLE grants (
    plugin TEXT NOT NULL,
    capability TEXT NOT NULL,
    detail TEXT NOT NULL,  -- JSON; what it says is the capability's matter
    PRIMARY KEY (plugin, capability)
) STRICT, WITHOUT ROWID;"];

const CHANGES_KEPT: usize = 64;

/// One capability a plugin was granted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grant {
    /// The plugin's name.
    pub plugin: String,
    /// The capability, `http`.
    pub capability: String,
    /// How far it goes: hosts, folders, budgets, in the capability's own shape.
    pub detail: Value,
}

/// The grants. Clones share them.
#[derive(Clone)]
pub struct Grants {
    database: Database,
    /// (plugin, capability) -> detail. The lock is held over the write to the disk, so that both agree.
    known: Arc<RwLock<BTreeMap<(String, String), Value>>>,
    changes: broadcast::Sender<Arc<str>>,
}

impl Grants {
    /// Reads all grants. A damaged one counts as not given: see [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("grants", MIGRATIONS)?;
        let rows: Vec<((String, String), String)> = database.read_rows(
            "reading the grants",
            "SELECT plugin, capability, detail FROM grants",
            ("a grant", "grant again what a plugin says it misses (waiter plugin list)"),
            |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)),
        )?;
        let readable = |((plugin, capability), detail): ((String, String), String)| match serde_json::from_str(&detail)
        {
            Ok(detail) => Some(((plugin, capability), detail)),
            Err(error) => {
                database.remark(format!(
                    "the stored grant of {capability} to the plugin {plugin} is damaged and not used ({error}); give it \
                     again with: waiter plugin grant {plugin} {capability}"
                ));
                None
            }
        };
        let known = rows.into_iter().filter_map(readable).collect();
        let changes = broadcast::Sender::new(CHANGES_KEPT);
        Ok(Self { database: database.clone(), known: Arc::new(RwLock::new(known)), changes })
    }

    /// Grants a capability, with `detail` in place of an earlier one's.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn grant(&self, plugin: &str, capability: &str, detail: Value) -> Result<(), DatabaseError> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        self.database.write("granting a capability", |transaction| {
            transaction.execute(
                "INSERT INTO grants (plugin, capability, detail) VALUES (?1, ?2, ?3)
                 ON CONFLICT (plugin, capability) DO UPDATE SET detail = excluded.detail",
                params![plugin, capability, detail.to_string()],
            )
        })?;
        known.insert((plugin.to_owned(), capability.to_owned()), detail);
        drop(known);
        tracing::info!(plugin, capability, "capability granted");
        self.announce(plugin);
        Ok(())
    }

    /// Takes a capability away; returns whether it had been granted.
    ///
    /// # Errors
    ///
    /// What the database answers, and then the grant still stands.
    pub fn revoke(&self, plugin: &str, capability: &str) -> Result<bool, DatabaseError> {
        let sql = "DELETE FROM grants WHERE plugin = ?1 AND capability = ?2 RETURNING capability";
        Ok(self.remove(plugin, sql, &[plugin, capability])? > 0)
    }

    /// Takes everything away from a plugin, as when it is removed; returns how many grants there were.
    ///
    /// # Errors
    ///
    /// As for [`Grants::revoke`].
    pub fn revoke_all(&self, plugin: &str) -> Result<usize, DatabaseError> {
        self.remove(plugin, "DELETE FROM grants WHERE plugin = ?1 RETURNING capability", &[plugin])
    }

    /// How far a capability of a plugin goes, `None` if it is not granted. Answered from memory.
    #[must_use]
    pub fn detail(&self, plugin: &str, capability: &str) -> Option<Value> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&(plugin.to_owned(), capability.to_owned())).cloned()
    }

    /// What a plugin was granted, sorted by capability.
    #[must_use]
    pub fn list(&self, plugin: &str) -> Vec<Grant> {
        self.all().into_iter().filter(|grant| grant.plugin == plugin).collect()
    }

    /// All grants, sorted by plugin and capability.
    #[must_use]
    pub fn all(&self) -> Vec<Grant> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let grant = |((plugin, capability), detail): (&(String, String), &Value)| Grant {
            plugin: plugin.clone(),
            capability: capability.clone(),
            detail: detail.clone(),
        };
        known.iter().map(grant).collect()
    }

    /// Tells the name of each plugin whose grants change from now on. A receiver that falls behind gets `Lagged` and
    /// should read all grants again.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }

    fn remove(&self, plugin: &str, sql: &str, keys: &[&str]) -> Result<usize, DatabaseError> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let removed = self.database.write("revoking a capability", |transaction| {
            let mut statement = transaction.prepare(sql)?;
            let rows = statement.query_map(rusqlite::params_from_iter(keys), |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        for capability in &removed {
            known.remove(&(plugin.to_owned(), capability.clone()));
        }
        drop(known);
        if !removed.is_empty() {
            tracing::info!(plugin, capabilities = removed.join(" "), "capabilities revoked");
            self.announce(plugin);
        }
        Ok(removed.len())
    }

    fn announce(&self, plugin: &str) {
        // An error only says that nobody listens.
        let _ = self.changes.send(plugin.into());
    }
}
