//! The details of `[wants.<capability>]`: what of a capability a package says it will use.
//!
//! A capability that opens one thing has none. Where it opens many - hosts, folders, programs - the package lists those
//! it needs, the user sees the list before granting, and each call is checked against it.

mod connect;
mod http;
mod private_network;
mod secrets;

use std::collections::BTreeMap;

use homeagent_settings::Declaration;
use serde::de::DeserializeOwned;

pub(crate) use self::connect::ConnectWant;
pub(crate) use self::http::HttpWant;
pub(crate) use self::private_network::PrivateNetworkWant;
pub(crate) use self::secrets::{Injection, SecretWant, SecretsWant};

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
        "connect" => check_as::<ConnectWant>(details),
        "http" => check_as::<HttpWant>(details),
        "private-network" => check_as::<PrivateNetworkWant>(details),
        "secrets" => check_as::<SecretsWant>(details),
        _ => match details.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("[wants.{capability}] has the unknown key {key}; it has no keys")),
        },
    }
}

/// Fails where a secret is asked for that no setting holds.
pub(crate) fn check_secrets(
    plugin: &str,
    wants: &BTreeMap<String, toml::Table>,
    settings: &[Declaration],
) -> Result<(), String> {
    let Some(details) = wants.get(SecretsWant::CAPABILITY) else { return Ok(()) };
    let want: SecretsWant = details.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    want.check_settings(&homeagent_settings::plugin_prefix(plugin), settings)
}

fn check_as<W: Want>(details: &toml::Table) -> Result<(), String> {
    let wrong = |reason: String| format!("[wants.{}] {reason}", W::CAPABILITY);
    let want: W = details.clone().try_into().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    want.check().map_err(wrong)
}
