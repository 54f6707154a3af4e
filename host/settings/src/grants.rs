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
/// In the detail of one that was given: what of it, and to whom.
const DETAILS: &str = "details";
const TO: &str = "to";

/// What the user decided about a capability of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// They gave it.
    Given(Arc<Given>),
    /// They took it away.
    Taken,
}

/// What was given, and to whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// What of the capability, as the package asked for it then.
    pub details: Map<String, Value>,
    /// Whose package asked for it then; `None` in what was stored before that was kept.
    pub to: Option<String>,
}

/// The grants. Clones share them.
#[derive(Clone)]
pub struct Grants {
    database: Database,
    /// (plugin, capability) -> what was decided. Changed under `writing`, once the disk has it.
    known: Arc<RwLock<BTreeMap<(String, String), Decision>>>,
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
            let decision = detail.and_then(|detail| decision(&detail));
            if let Err(error) = &decision {
                database.remark(format!(
                    "what is stored about {capability} of the plugin {plugin} is damaged ({error}), so the plugin does \
                     not have it; if it should, give it with: waiter plugin grant {plugin} {capability}"
                ));
            }
            ((plugin, capability), decision.unwrap_or(Decision::Taken))
        });
        let known = known.collect();
        Ok(Self { database: database.clone(), known: Arc::new(RwLock::new(known)), writing: Arc::default() })
    }

    /// Gives a plugin a capability, in the place of what it was given of it before.
    ///
    /// # Errors
    ///
    /// What the database answers, and then all is as it was.
    pub fn grant(&self, plugin: &str, capability: &str, given: Given) -> Result<(), DatabaseError> {
        self.decide(plugin, capability, Decision::Given(Arc::new(given)))
    }

    /// Takes a capability away. That is kept: [`Grants::decided`] tells it from one that was never given.
    ///
    /// # Errors
    ///
    /// As for [`Grants::grant`].
    pub fn revoke(&self, plugin: &str, capability: &str) -> Result<(), DatabaseError> {
        self.decide(plugin, capability, Decision::Taken)
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
            let of_plugin = known.iter().filter(|((of, _), decision)| of == plugin && **decision != Decision::Taken);
            of_plugin.map(|(key, _)| key.clone()).collect()
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
    pub fn decided(&self, plugin: &str, capability: &str) -> Option<Decision> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&(plugin.to_owned(), capability.to_owned())).cloned()
    }

    fn decide(&self, plugin: &str, capability: &str, decision: Decision) -> Result<(), DatabaseError> {
        let (doing, detail) = match &decision {
            Decision::Given(given) => ("granting a capability", json!({ DETAILS: given.details, TO: given.to })),
            Decision::Taken => ("revoking a capability", json!({ REVOKED: true })),
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
        known.insert((plugin.to_owned(), capability.to_owned()), decision);
        drop(known);
        tracing::info!(plugin, capability, %detail, "{doing}");
        Ok(())
    }
}

/// Reads a detail. One that says nothing is of the time when no capability had details and no package was signed.
fn decision(detail: &str) -> Result<Decision, String> {
    let mut detail: Map<String, Value> = serde_json::from_str(detail).map_err(|error| error.to_string())?;
    if detail.contains_key(REVOKED) {
        return Ok(Decision::Taken);
    }
    let details = match detail.remove(DETAILS) {
        None => Map::new(),
        Some(Value::Object(details)) => details,
        Some(_) => return Err(format!("{DETAILS} is no object")),
    };
    let to = match detail.remove(TO) {
        None | Some(Value::Null) => None,
        Some(Value::String(to)) => Some(to),
        Some(_) => return Err(format!("{TO} is no text")),
    };
    Ok(Decision::Given(Arc::new(Given { details, to })))
}
