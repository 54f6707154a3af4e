//! What can go wrong with secrets. No error holds a secret's text.

use std::path::PathBuf;

use crate::database::DatabaseError;

/// An error of the secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// The key file is gone while encrypted secrets are there.
    #[error(
        "{count} secrets are stored, but the key file {path} that opens them is missing; put it back from a backup, or \
         remove the secrets from the database's table \"secrets\" and set them again",
        path = path.display()
    )]
    KeyMissing {
        /// Where the key file should be.
        path: PathBuf,
        /// How many secrets it would open.
        count: usize,
    },
    /// The key file has the wrong length.
    #[error(
        "the key file {path} has {found} bytes instead of {expected}, it is damaged; put it back from a backup, or \
         remove it together with the rows of the database's table \"secrets\" and set the secrets again",
        path = path.display()
    )]
    KeyLength {
        /// The key file.
        path: PathBuf,
        /// Its length in bytes.
        found: usize,
        /// The length of a key in bytes.
        expected: usize,
    },
    /// Others may read or write the key file.
    #[error(
        "the key file {path} is open to others (mode {mode:o}); run `chmod 600 {path}`, and set the secrets again if \
         somebody may have read it",
        path = path.display()
    )]
    KeyOpenToOthers {
        /// The key file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The key file can't be read or made.
    #[error("{doing} the key file {path} failed: {source}", path = path.display())]
    KeyFile {
        /// The key file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A stored secret is damaged, or was encrypted with another key, or under another name.
    #[error(
        "the secret \"{name}\" can't be decrypted: it is damaged or belongs to another key file; set it again, or put \
         back the key file it was made with"
    )]
    NotDecrypted {
        /// The secret's name.
        name: String,
    },
    /// A name can't be used.
    #[error(
        "\"{name}\" can't name a secret: a name has 1 to 200 characters and no line breaks or other control characters"
    )]
    BadName {
        /// The name given.
        name: String,
    },
    /// A secret without text protects nothing.
    #[error("the secret \"{name}\" would be empty; remove it instead")]
    Empty {
        /// The secret's name.
        name: String,
    },
    /// The system has no randomness to give.
    #[error("the system gave no random bytes: {source}")]
    Randomness {
        /// What the operating system said.
        source: getrandom::Error,
    },
    /// The database failed; the secret is as it was.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}
