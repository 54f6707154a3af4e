//! What can go wrong with a setting.

use crate::database::DatabaseError;
use crate::secrets::SecretsError;

/// An error of the settings registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No such setting is declared.
    #[error("there is no setting \"{key}\"{}", nearest.as_ref().map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default())]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The declared key that looks most like it.
        nearest: Option<String>,
    },
    /// The value is not one the setting takes.
    #[error("\"{key}\" can't be {given}: allowed is {allowed}")]
    NotAllowed {
        /// The setting.
        key: String,
        /// The value, as JSON or as it was typed; shortened, and hidden for a secret.
        given: String,
        /// What is allowed instead.
        allowed: String,
    },
    /// The program asked for a value of another type than the one declared.
    #[error("\"{key}\" is declared as {kind} and was read as {asked}")]
    WrongKind {
        /// The setting.
        key: String,
        /// The declared kind.
        kind: &'static str,
        /// The type asked for.
        asked: &'static str,
    },
    /// A declaration can't be used.
    #[error("the setting \"{key}\" is declared wrongly: {reason}")]
    BadDeclaration {
        /// The setting.
        key: String,
        /// Why.
        reason: String,
    },
    /// The database failed; the setting is as it was.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The value is a secret and could not be kept.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
}
