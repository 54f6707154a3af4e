//! The settings registry: declared keys, their stored values, and who is told of a change.

mod core;
mod declaration;
mod document;
mod error;
mod kind;
mod state;
mod typed;

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;
use utoipa::ToSchema;

use self::state::State;
use crate::database::{Database, DatabaseError};
use crate::secrets::{Secret, Secrets};

pub use self::core::core_declarations;
pub use self::declaration::{Applies, Declaration, plugin_prefix};
pub use self::document::{Changed, Fault, Import, ImportError};
pub use self::error::SettingsError;
pub use self::kind::{DurationUnit, Kind, is_base_url};
pub use self::state::nearest;

const MIGRATIONS: &[&str] = &["CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL  -- JSON; whatever else is found here is reported, and the default used
) STRICT, WITHOUT ROWID;"];

/// How many changes a slow subscriber may fall behind before it is told that it missed some.
const CHANGES_KEPT: usize = 256;

/// The registry. Clones share it.
#[derive(Clone)]
pub struct Settings {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    secrets: Secrets,
    state: RwLock<State>,
    /// Held from the write to the disk until memory agrees with it, so that two writers of one key can't leave memory
    /// with the value that lost. Readers do not wait for it.
    writing: Mutex<()>,
    changes: broadcast::Sender<Arc<str>>,
}

/// One setting as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Setting)]
pub struct Entry {
    /// The declaration.
    #[serde(flatten)]
    pub declaration: Declaration,
    /// The value in force. For a secret its name, or `null` while there is none.
    pub value: Value,
    /// Whether that is the default because nothing (usable) is stored.
    pub is_default: bool,
    /// Why what is stored could not be used, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Entry {
    /// What is wrong with what is stored, as a sentence that says what to do.
    fn complaint(&self) -> Option<String> {
        let key = &self.declaration.key;
        self.problem.as_ref().map(|problem| {
            format!("the setting {key} has its default: {problem}; set it again with: waiter settings set {key} VALUE")
        })
    }
}

impl Settings {
    /// Reads all stored settings and declares the `core.*` ones. Values of kind [`Kind::Secret`] go to `secrets`.
    ///
    /// # Errors
    ///
    /// Only when the database can't be read or migrated: a stored value that is damaged is reported by
    /// [`Settings::list`] and its default used.
    pub fn open(database: &Database, secrets: &Secrets) -> Result<Self, SettingsError> {
        database.migrate("settings", MIGRATIONS)?;
        let rows: Vec<(String, String)> = database.read_rows(
            "reading the settings",
            "SELECT key, value FROM settings",
            ("a setting's key", "look through `waiter settings list`, and set what has to differ from its default"),
            |row| Ok((row.get(0)?, stored_text(row.get_ref(1)?))),
        )?;
        let mut state = State::new(rows);
        for declaration in core_declarations() {
            declaration.check("core.")?;
            state.declare(declaration);
        }
        state.entries().filter_map(Entry::complaint).for_each(|complaint| database.remark(complaint));
        Ok(Self {
            shared: Arc::new(Shared {
                database: database.clone(),
                secrets: secrets.clone(),
                state: RwLock::new(state),
                writing: Mutex::new(()),
                changes: broadcast::Sender::new(CHANGES_KEPT),
            }),
        })
    }

    /// Declares the settings of a plugin, in place of those it declared before. Keys begin with
    /// [`plugin_prefix`]. Values stored under keys that are gone are kept for a version that declares them again.
    ///
    /// # Errors
    ///
    /// [`SettingsError::BadDeclaration`], and then the earlier declarations stay.
    pub fn declare_plugin(&self, plugin: &str, declarations: Vec<Declaration>) -> Result<(), SettingsError> {
        let prefix = plugin_prefix(plugin);
        if plugin.is_empty() || plugin.contains('.') {
            let reason = "a plugin's name has no dots, and is not empty".to_owned();
            return Err(SettingsError::BadDeclaration { key: prefix, reason });
        }
        for (index, declaration) in declarations.iter().enumerate() {
            declaration.check(&prefix)?;
            if declarations.iter().take(index).any(|other| other.key == declaration.key) {
                let reason = "it is declared twice".to_owned();
                return Err(SettingsError::BadDeclaration { key: declaration.key.clone(), reason });
            }
        }
        let changed = self.state_mut().replace(&prefix, declarations);
        let complaints: Vec<String> = self.state().entries_under(&prefix).filter_map(Entry::complaint).collect();
        for complaint in complaints {
            tracing::warn!("{complaint}");
        }
        self.announce(changed);
        Ok(())
    }

    /// Forgets the declarations of a plugin that was removed. Stored values stay.
    pub fn withdraw_plugin(&self, plugin: &str) {
        let changed = self.state_mut().replace(&plugin_prefix(plugin), Vec::new());
        self.announce(changed);
    }

    /// The value in force: the stored one, else the default. Answered from memory.
    ///
    /// # Errors
    ///
    /// [`SettingsError::UnknownKey`].
    pub fn get(&self, key: &str) -> Result<Value, SettingsError> {
        self.with(key, |entry| Ok(entry.value.clone()))
    }

    /// Stores a value and tells the subscribers. It is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`SettingsError::UnknownKey`], [`SettingsError::NotAllowed`], and what the database or the secrets answer.
    pub fn set(&self, key: &str, value: impl Into<Value>) -> Result<(), SettingsError> {
        let value = value.into();
        let kind = self.kind(key)?;
        if !kind.accepts(&value) {
            return Err(not_allowed(key, &kind, value.to_string()));
        }
        let _writing = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match (kind, value) {
            (Kind::Secret, Value::String(text)) => {
                self.shared.secrets.set(key, Secret::from(text))?;
                // A row from before this key was a secret would keep a value in clear.
                self.delete_row(key)?;
                self.announce(vec![key.to_owned()]);
                return Ok(());
            }
            (_, value) => value.to_string(),
        };
        self.shared.database.write("storing a setting", |transaction| upsert(transaction, key, &text))?;
        let changed = self.state_mut().store(key, Some(text));
        self.announce(changed);
        Ok(())
    }

    /// Stores what a person typed, read as the setting's kind: see [`Kind::parse`].
    ///
    /// # Errors
    ///
    /// As for [`Settings::set`].
    pub fn set_text(&self, key: &str, text: &str) -> Result<(), SettingsError> {
        let kind = self.kind(key)?;
        let Some(value) = kind.parse(text) else {
            return Err(not_allowed(key, &kind, format!("\"{text}\"")));
        };
        self.set(key, value)
    }

    /// Goes back to the default. Unsetting what is not set changes nothing; a value that a plugin left behind can be
    /// unset although its key is no longer declared.
    ///
    /// # Errors
    ///
    /// [`SettingsError::UnknownKey`], and what the database or the secrets answer.
    pub fn unset(&self, key: &str) -> Result<(), SettingsError> {
        let kind = match self.kind(key) {
            Err(_) if self.state().is_stored(key) => Kind::Text,
            Err(_) if key.starts_with("plugin.") && self.shared.secrets.contains(key) => Kind::Secret,
            kind => kind?,
        };
        let _writing = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if kind == Kind::Secret && self.shared.secrets.remove(key)? {
            self.announce(vec![key.to_owned()]);
        }
        self.delete_row(key)
    }

    /// One setting as it stands.
    ///
    /// # Errors
    ///
    /// [`SettingsError::UnknownKey`].
    pub fn entry(&self, key: &str) -> Result<Entry, SettingsError> {
        self.with(key, |entry| Ok(entry.clone()))
    }

    /// Every declared setting as it stands, sorted by key.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let entries: Vec<Entry> = self.state().entries().cloned().collect();
        entries.into_iter().map(|entry| self.with_secret(entry)).collect()
    }

    /// Tells of each key whose value changes from now on. A receiver that falls more than 256 changes behind gets
    /// `Lagged` and should read again what it uses.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.shared.changes.subscribe()
    }

    /// Stores checked values, all or none.
    fn store_all(&self, values: Vec<(&str, &Value)>) -> Result<(), DatabaseError> {
        let _writing = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let texts: Vec<_> = values.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        self.shared.database.write("storing settings", |transaction| {
            texts.iter().try_for_each(|(key, text)| upsert(transaction, key, text))
        })?;
        for (key, text) in texts {
            let changed = self.state_mut().store(key, Some(text));
            self.announce(changed);
        }
        Ok(())
    }

    /// Whether settings of this plugin are declared.
    fn declares(&self, plugin: &str) -> bool {
        let prefix = plugin_prefix(plugin);
        self.state().entries_under(&prefix).next().is_some()
    }

    fn delete_row(&self, key: &str) -> Result<(), SettingsError> {
        self.shared.database.write("unsetting a setting", |transaction| {
            transaction.execute("DELETE FROM settings WHERE key = ?1", [key])
        })?;
        let changed = self.state_mut().store(key, None);
        self.announce(changed);
        Ok(())
    }

    fn kind(&self, key: &str) -> Result<Kind, SettingsError> {
        self.with(key, |entry| Ok(entry.declaration.kind.clone()))
    }

    fn with<T>(&self, key: &str, read: impl FnOnce(&Entry) -> Result<T, SettingsError>) -> Result<T, SettingsError> {
        let state = self.state();
        match state.entry(key) {
            Some(entry) if entry.declaration.kind == Kind::Secret => read(&self.with_secret(entry.clone())),
            Some(entry) => read(entry),
            None => Err(SettingsError::UnknownKey { key: key.to_owned(), nearest: state.nearest(key) }),
        }
    }

    /// Whether a secret is set is for the secrets to say: they can be changed without this registry.
    fn with_secret(&self, mut entry: Entry) -> Entry {
        if entry.declaration.kind == Kind::Secret && self.shared.secrets.contains(&entry.declaration.key) {
            entry.value = Value::from(entry.declaration.key.as_str());
            entry.is_default = false;
        }
        entry
    }

    fn announce(&self, keys: Vec<String>) {
        for key in keys {
            tracing::debug!(key, "setting changed");
            // An error only says that nobody listens.
            let _ = self.shared.changes.send(key.into());
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn upsert(transaction: &Connection, key: &str, text: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO settings (key, value) VALUES (?1, ?2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    transaction.execute(sql, [key, text]).map(drop)
}

/// What a row holds, as text; damage must not keep the daemon from starting.
fn stored_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Null | ValueRef::Blob(_) => String::new(),
    }
}

fn not_allowed(key: &str, kind: &Kind, given: String) -> SettingsError {
    let given = match kind {
        Kind::Secret => "this".to_owned(),
        _ => state::shorten(given),
    };
    SettingsError::NotAllowed { key: key.to_owned(), given, allowed: kind.allowed() }
}
