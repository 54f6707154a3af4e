//! Settings as a TOML document: written for people to keep and edit, read back all or not at all.
//!
//! `core.agent.rounds` is `rounds` in the table `[core.agent]`, `plugin.qq.groups` is `groups` in `[plugin.qq]`: the first
//! two parts of a key name the table, the rest is the name in it. Secrets are never in a document.

mod read;
mod write;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Applies;
use crate::database::DatabaseError;

/// What a document brought, or would bring.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = SettingsImport)]
pub struct Import {
    /// The settings that have another value now, sorted by key.
    pub changed: Vec<Changed>,
    /// Keys of those that had the value already.
    pub unchanged: Vec<String>,
}

/// A setting that has another value.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ChangedSetting)]
pub struct Changed {
    /// The setting.
    pub key: String,
    /// Its value before.
    pub before: Value,
    /// Its value now.
    pub value: Value,
    /// What has to happen before that takes effect.
    pub applies: Applies,
}

/// Why nothing of a document was taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The document is not as it has to be.
    #[error(
        "the document has {}; nothing was changed: {}",
        if faults.len() == 1 { "a fault".to_owned() } else { format!("{} faults", faults.len()) },
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Document {
        /// Everything that is wrong, in the order of the lines.
        faults: Vec<Fault>,
    },
    /// The database failed; all settings are as they were.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Something that is wrong in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = DocumentFault)]
pub struct Fault {
    /// The line, beginning with 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}
