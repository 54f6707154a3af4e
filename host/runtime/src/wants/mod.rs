//! The details of `[wants.<capability>]`: what of a capability a package says it will use.
//!
//! A capability that opens one thing has none. Where it opens many - hosts, folders, programs - the package lists those
//! it needs, the user sees the list before granting, and each call is checked against it.

mod narrowing;

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
    match details.keys().next() {
        None => Ok(()),
        Some(key) => Err(format!("[wants.{capability}] has the unknown key {key}; it has no keys")),
    }
}
