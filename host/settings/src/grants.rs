//! What the user allowed each plugin to do, and what they took away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rusqlite::params;
use serde_json::{Map, Value, json};

use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &["CREATE TABLE grants (
    plugin TEXT NOT NULL,
    capability TEXT NOT NULL,
    detail TEXT NOT NULL,  -- JSON; what it says is the capability's matter
    PRIMARY KEY (plugin, capability)
) STRICT, WITHOUT ROWID;"];

/// In the detail of a capability that was taken away.
const REVOKED: &str = "revoked";

/// The grants. Clones share them.
#[derive(Clone)]
pub struct Grants {
    database: Database,
    /// (plugin, capability) -> whether it was given. Changed under `writing`, once the disk has it.
    known: Arc<RwLock<BTreeMap<(String, String), bool>>>,
    writing: Arc<Mutex<()>>,
}

impl Grants {
    /// Reads what was given and taken away. A damaged row counts as taken away, whichever it was: see
    /// [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("grants", MIGRATIONS)?;
        let rows = database.read_rows(
            "reading the grants",
            "SELECT plugin, capability, detail FROM grants",
            ("a grant", "look at what each plugin may do (waiter plugin list), and grant or revoke it again"),
            // A detail that can't be read must not hide whose it is.
            |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, String>(2).map_err(|error| error.to_string()))),
        )?;
        let known = rows.into_iter().map(|((plugin, capability), detail): ((String, String), _)| {
            let given = detail.and_then(|detail| is_given(&detail));
            if let Err(error) = &given {
                database.remark(format!(
                    "what is stored about {capability} of the plugin {plugin} is damaged ({error}), so the plugin does \
                     not have it; if it should, give it with: waiter plugin grant {plugin} {capability}"
                ));
            }
            ((plugin, capability), given.unwrap_or(false))
        });
        let known = known.collect();
        Ok(Self { database: database.clone(), known: Arc::new(RwLock::new(known)), writing: Arc::default() })
    }

    /// Gives a plugin a capability.
    ///
    /// # Errors
    ///
    /// What the database answers, and then all is as it was.
    pub fn grant(&self, plugin: &str, capability: &str) -> Result<(), DatabaseError> {
        self.decide(plugin, capability, true)
    }

    /// Takes a capability away. That is kept: [`Grants::decided`] tells it from one that was never given.
    ///
    /// # Errors
    ///
    /// As for [`Grants::grant`].
    pub fn revoke(&self, plugin: &str, capability: &str) -> Result<(), DatabaseError> {
        self.decide(plugin, capability, false)
    }

    /// Forgets what a plugin was given, as when it is removed. What was taken away stays so: the plugin that came with the
    /// daemon may have the same name, and has what it asks for where nothing is known.
    ///
    /// # Errors
    ///
    /// As for [`Grants::grant`].
    pub fn forget(&self, plugin: &str) -> Result<(), DatabaseError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let given: Vec<(String, String)> = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter(|((of, _), given)| of == plugin && **given).map(|(key, _)| key.clone()).collect()
        };
        self.database.write("forgetting grants", |transaction| {
            given.iter().try_for_each(|(plugin, capability)| {
                let sql = "DELETE FROM grants WHERE plugin = ?1 AND capability = ?2";
                transaction.execute(sql, [plugin, capability]).map(drop)
            })
        })?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for key in &given {
            known.remove(key);
        }
        drop(known);
        tracing::info!(plugin, grants = given.len(), "grants are forgotten");
        Ok(())
    }

    /// Whether the user gave a capability or took it away, `None` where they said nothing. Answered from memory.
    #[must_use]
    pub fn decided(&self, plugin: &str, capability: &str) -> Option<bool> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&(plugin.to_owned(), capability.to_owned())).copied()
    }

    fn decide(&self, plugin: &str, capability: &str, given: bool) -> Result<(), DatabaseError> {
        let (doing, detail) = if given {
            ("granting a capability", json!({}))
        } else {
            ("revoking a capability", json!({ REVOKED: true }))
        };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.database.write(doing, |transaction| {
            transaction.execute(
                "INSERT INTO grants (plugin, capability, detail) VALUES (?1, ?2, ?3)
                 ON CONFLICT (plugin, capability) DO UPDATE SET detail = excluded.detail",
                params![plugin, capability, detail.to_string()],
            )
        })?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert((plugin.to_owned(), capability.to_owned()), given);
        drop(known);
        tracing::info!(plugin, capability, given, "{doing}");
        Ok(())
    }
}

fn is_given(detail: &str) -> Result<bool, String> {
    let detail: Map<String, Value> = serde_json::from_str(detail).map_err(|error| error.to_string())?;
    Ok(!detail.contains_key(REVOKED))
}
