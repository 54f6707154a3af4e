//! Which role a person of a channel has. Only the owner makes bindings; what a platform says about a person makes none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use rusqlite::params;
use serde::Serialize;
use utoipa::ToSchema;

use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &["CREATE TABLE bindings (
    namespace TEXT NOT NULL,
    user TEXT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (namespace, user)
) STRICT, WITHOUT ROWID;"];

/// The roles a person can be bound to, highest first.
pub const ROLES: &[&str] = &["owner", "member", "guest"];

/// An error of the bindings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindingError {
    /// There is no such role.
    #[error("\"{role}\" is no role: a person is owner, member or guest")]
    UnknownRole {
        /// What was given.
        role: String,
    },
    /// A namespace or a user id is empty.
    #[error("a person is bound by the channel's name and the user id there, and one of them is empty")]
    Nobody,
    /// The database failed; the bindings are as they were.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// An account and the role it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Binding {
    /// The channel.
    #[serde(rename = "channel")]
    pub namespace: String,
    /// The account there.
    pub user: String,
    /// Its role.
    pub role: String,
}

/// The role bindings. Clones share them.
#[derive(Clone)]
pub struct Bindings {
    database: Database,
    /// (namespace, user) -> role. Changed under `writing`, once the disk has it.
    known: Arc<RwLock<BTreeMap<(String, String), String>>>,
    writing: Arc<Mutex<()>>,
}

impl Bindings {
    /// Reads all bindings. A damaged one, or one to a role there is not, counts as not made: see
    /// [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, BindingError> {
        database.migrate("bindings", MIGRATIONS)?;
        let rows = database.read_rows(
            "reading the role bindings",
            "SELECT namespace, user, role FROM bindings",
            ("a person's role", "the person is a stranger until they are bound again"),
            |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)),
        )?;
        let mut known: BTreeMap<(String, String), String> = rows.into_iter().collect();
        known.retain(|(namespace, user), role| {
            let sound = ROLES.contains(&role.as_str());
            if !sound {
                database.remark(format!(
                    "the stored role \"{}\" of \"{user}\" on {namespace} is none; the person is a stranger until they \
                     are bound again",
                    role.escape_debug(),
                ));
            }
            sound
        });
        Ok(Self { database: database.clone(), known: Arc::new(RwLock::new(known)), writing: Arc::default() })
    }

    /// The role of a person, `None` for a stranger. Answered from memory.
    #[must_use]
    pub fn role_of(&self, namespace: &str, user: &str) -> Option<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&(namespace.to_owned(), user.to_owned())).cloned()
    }

    /// All bindings, by channel and account.
    #[must_use]
    pub fn list(&self) -> Vec<Binding> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let binding = |((namespace, user), role): (&(String, String), &String)| Binding {
            namespace: namespace.clone(),
            user: user.clone(),
            role: role.clone(),
        };
        known.iter().map(binding).collect()
    }

    /// Gives a person a role, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// [`BindingError::UnknownRole`], [`BindingError::Nobody`], and what the database answers.
    pub fn bind(&self, namespace: &str, user: &str, role: &str) -> Result<(), BindingError> {
        if !ROLES.contains(&role) {
            return Err(BindingError::UnknownRole { role: role.to_owned() });
        }
        if namespace.is_empty() || user.is_empty() {
            return Err(BindingError::Nobody);
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.database.write("binding a person to a role", |transaction| {
            transaction.execute(
                "INSERT INTO bindings (namespace, user, role) VALUES (?1, ?2, ?3)
                 ON CONFLICT (namespace, user) DO UPDATE SET role = excluded.role",
                params![namespace, user, role],
            )
        })?;
        self.known_mut().insert((namespace.to_owned(), user.to_owned()), role.to_owned());
        tracing::info!(namespace, user, role, "person bound");
        Ok(())
    }

    /// Takes a person's role away; returns whether there was one.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn unbind(&self, namespace: &str, user: &str) -> Result<bool, BindingError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = self.database.write("unbinding a person", |transaction| {
            transaction.execute("DELETE FROM bindings WHERE namespace = ?1 AND user = ?2", [namespace, user])
        })?;
        self.known_mut().remove(&(namespace.to_owned(), user.to_owned()));
        tracing::info!(namespace, user, "person unbound");
        Ok(removed > 0)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<(String, String), String>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
