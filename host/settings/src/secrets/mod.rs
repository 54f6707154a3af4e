//! Named secrets, encrypted at rest.
//!
//! Each is sealed with XChaCha20-Poly1305 under the key in `secret.key`, with its name as associated data, so that rows
//! can't be exchanged. The key file protects the database where it travels alone (a copy, a backup, a bug report); who
//! has both files has the secrets.

mod error;
mod key;
mod redaction;
mod secret;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::params;

use self::key::Key;
use self::redaction::Redaction;
use crate::database::Database;

pub use self::error::SecretsError;
pub use self::secret::Secret;

const MIGRATIONS: &[&str] = &["CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    nonce BLOB NOT NULL,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;"];

const LONGEST_NAME: usize = 200;

/// The secrets of a home. Clones share them.
#[derive(Clone)]
pub struct Secrets {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    home: PathBuf,
    /// Changed under `key`, once the disk has it.
    vault: RwLock<Vault>,
    /// `None` until the first secret is set. Held for as long as something is written.
    key: Mutex<Option<Key>>,
}

struct Vault {
    /// `None` for those that do not decrypt.
    secrets: BTreeMap<String, Option<Secret>>,
    redaction: Redaction,
}

impl Vault {
    fn refresh(&mut self) {
        let known = self.secrets.iter().filter_map(|(name, secret)| Some((name, secret.as_ref()?)));
        self.redaction = Redaction::new(known);
    }
}

impl Secrets {
    /// Opens the secrets in `database` with the key file in the folder `home`. While there are no secrets there need
    /// be no key file: the first [`Secrets::set`] makes it.
    ///
    /// # Errors
    ///
    /// When the key file is missing although there are secrets, is damaged, or is open to others. A single secret that
    /// does not decrypt is no reason: [`Secrets::get`] says it.
    pub fn open(database: &Database, home: impl AsRef<Path>) -> Result<Self, SecretsError> {
        let home = home.as_ref().to_path_buf();
        database.migrate("secrets", MIGRATIONS)?;
        let rows: Vec<(String, Vec<u8>, Vec<u8>)> = database.read_rows(
            "reading the secrets",
            "SELECT name, nonce, sealed FROM secrets",
            ("a secret's name", "set the secret again that is found missing"),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let key = Key::read(&home)?;
        if key.is_none() && !rows.is_empty() {
            return Err(SecretsError::KeyMissing { path: key::path(&home), count: rows.len() });
        }
        let open = |(name, nonce, sealed): (String, Vec<u8>, Vec<u8>)| {
            let secret = key.as_ref()?.decrypt(&name, &nonce, &sealed);
            if let Err(error) = &secret {
                database.remark(error.to_string());
            }
            Some((name, secret.ok()))
        };
        let secrets = rows.into_iter().filter_map(open).collect();
        let mut vault = Vault { secrets, redaction: Redaction::default() };
        vault.refresh();
        let (vault, key) = (RwLock::new(vault), Mutex::new(key));
        Ok(Self { shared: Arc::new(Shared { database: database.clone(), home, vault, key }) })
    }

    /// Stores a secret under `name`, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// A name or a secret that can't be used, a key file that can't be made, and what the database answers.
    pub fn set(&self, name: &str, secret: Secret) -> Result<(), SecretsError> {
        let length = name.chars().count();
        if length == 0 || length > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(SecretsError::BadName { name: name.escape_debug().to_string() });
        }
        if secret.expose().is_empty() {
            return Err(SecretsError::Empty { name: name.to_owned() });
        }
        let mut held = self.shared.key.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match held.take() {
            Some(key) => key,
            // A file that appeared since (another program's, a restored one) is used, never overwritten.
            None => match Key::read(&self.shared.home)? {
                Some(key) => key,
                None => Key::create(&self.shared.home)?,
            },
        };
        let sealed = key.encrypt(name, &secret);
        *held = Some(key);
        let (nonce, sealed) = sealed?;
        self.shared.database.write("storing a secret", |transaction| {
            transaction.execute(
                "INSERT INTO secrets (name, nonce, sealed) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET nonce = excluded.nonce, sealed = excluded.sealed",
                params![name, nonce, sealed],
            )
        })?;
        let mut vault = self.vault_mut();
        vault.secrets.insert(name.to_owned(), Some(secret));
        vault.refresh();
        tracing::debug!(name, "secret stored");
        Ok(())
    }

    /// The secret of that name, `None` where there is none. Answered from memory.
    ///
    /// # Errors
    ///
    /// [`SecretsError::NotDecrypted`] where one is stored that can't be read.
    pub fn get(&self, name: &str) -> Result<Option<Secret>, SecretsError> {
        match self.vault().secrets.get(name) {
            None => Ok(None),
            Some(Some(secret)) => Ok(Some(secret.clone())),
            Some(None) => Err(SecretsError::NotDecrypted { name: name.to_owned() }),
        }
    }

    /// Whether a secret of that name is stored, readable or not.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.vault().secrets.contains_key(name)
    }

    /// Removes a secret, readable or not; returns whether there was one.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn remove(&self, name: &str) -> Result<bool, SecretsError> {
        let _writing = self.shared.key.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = self.shared.database.write("removing a secret", |transaction| {
            transaction.execute("DELETE FROM secrets WHERE name = ?1", [name])
        })?;
        let mut vault = self.vault_mut();
        vault.secrets.remove(name);
        vault.refresh();
        tracing::debug!(name, removed, "secret removed");
        Ok(removed > 0)
    }

    /// The names of all stored secrets, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.vault().secrets.keys().cloned().collect()
    }

    /// Replaces every known secret of 8 bytes or more in `text` by `[secret NAME]`: as it is, as JSON writes it, and as
    /// a URL writes it. Cheap, and without a copy, where there is none.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.vault().redaction.apply(text)
    }

    /// The same for bytes, which need not be a text.
    #[must_use]
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.vault().redaction.apply_to_bytes(bytes)
    }

    /// The name of a secret that stands in this content, in one of the forms that [`Secrets::redact`] knows.
    #[must_use]
    pub fn named_in(&self, content: &[u8]) -> Option<String> {
        self.vault().redaction.named_in(content)
    }

    /// How many bytes of a text that goes on can be told from the rest without a secret going out in pieces: up to where
    /// a known one may have begun. What is told is still to be redacted.
    #[must_use]
    pub fn settled(&self, text: &str) -> usize {
        self.vault().redaction.settled(text)
    }

    fn vault(&self) -> RwLockReadGuard<'_, Vault> {
        self.shared.vault.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn vault_mut(&self) -> RwLockWriteGuard<'_, Vault> {
        self.shared.vault.write().unwrap_or_else(PoisonError::into_inner)
    }
}
