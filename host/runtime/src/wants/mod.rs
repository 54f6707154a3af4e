//! The details of `[wants.<capability>]`: what of a capability a package says it will use.
//!
//! A capability that opens one thing has none. Where it opens many - hosts, folders, programs - the package lists those
//! it needs, the user sees the list before granting, and each call is checked against it.

pub(crate) mod llm;

use serde::de::DeserializeOwned;

/// The details of one capability.
pub(crate) trait Want: DeserializeOwned {
    /// The capability's name.
    const CAPABILITY: &'static str;

    /// Fails on details that can't be, with what is wrong.
    fn check(&self) -> Result<(), String>;
}

/// Fails where `[wants.<capability>]` says something that the capability does not know.
pub(crate) fn check(capability: &str, details: &toml::Table) -> Result<(), String> {
    match capability {
        llm::Llm::CAPABILITY => check_details::<llm::Llm>(details),
        _ => match details.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("[wants.{capability}] has the unknown key {key}; it has no keys")),
        },
    }
}

fn check_details<W: Want>(details: &toml::Table) -> Result<(), String> {
    let wrong = |reason: String| format!("[wants.{}]: {reason}", W::CAPABILITY);
    let want: W = details.clone().try_into().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    want.check().map_err(wrong)
}
