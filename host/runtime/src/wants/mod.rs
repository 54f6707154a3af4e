//! The details of `[wants.<capability>]`: what of a capability a package says it will use.
//!
//! A capability that opens one thing has none. Where it opens many - hosts, folders, programs - the package lists those
//! it needs, the user sees the list before granting, and each call is checked against it.

pub(crate) mod files;
mod narrowing;
pub(crate) mod process;
pub(crate) mod timers;

use serde::de::DeserializeOwned;

pub(crate) use narrowing::{Details, narrow};

/// The details of one capability.
///
/// What is granted are the details of that moment, and a package that asks for others later has what both say. That is
/// worked out by shape, so details keep to this: a longer list, a larger number and a `true` open more; a table in a table
/// is one thing that is opened, such as a folder; a text says what a thing is.
pub(crate) trait Want: DeserializeOwned {
    /// The capability's name.
    const CAPABILITY: &'static str;

    /// Fails on details that can't be, with what is wrong.
    fn check(&self) -> Result<(), String>;
}

/// Fails where `[wants.<capability>]` says something that the capability does not know.
pub(crate) fn check(capability: &str, details: &toml::Table) -> Result<(), String> {
    match capability {
        files::FilesWant::CAPABILITY => read::<files::FilesWant>(details),
        process::ProcessWant::CAPABILITY => read::<process::ProcessWant>(details),
        timers::TimersWant::CAPABILITY => read::<timers::TimersWant>(details),
        _ => match details.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("[wants.{capability}] has the unknown key {key}; it has no keys")),
        },
    }
}

fn read<W: Want>(details: &toml::Table) -> Result<(), String> {
    let place = |reason: &str| format!("[wants.{}]: {}", W::CAPABILITY, reason.trim_end());
    let want: W = details.clone().try_into().map_err(|error: toml::de::Error| place(error.message()))?;
    want.check().map_err(|reason| place(&reason))
}
