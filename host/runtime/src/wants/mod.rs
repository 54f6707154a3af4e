//! The details of `[wants.<capability>]`: what of a capability a package says it will use.
//!
//! A capability that opens one thing has none. Where it opens many - hosts, folders, programs - the package lists those
//! it needs, the user sees the list before granting, and each call is checked against it.

mod listen;

use std::collections::BTreeMap;

use homeagent_settings::{Declaration, Kind};
use serde::de::DeserializeOwned;

pub(crate) use self::listen::{Listen, WebSocketPath};

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
        Listen::CAPABILITY => checked::<Listen>(details),
        _ => match details.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("[wants.{capability}] has the unknown key {key}; it has no keys")),
        },
    }
}

/// Fails where the details name a secret that is no secret setting of the package's own.
pub(crate) fn check_secrets(
    plugin: &str,
    wants: &BTreeMap<String, toml::Table>,
    settings: &[Declaration],
) -> Result<(), String> {
    let Some(listen) = wants.get(Listen::CAPABILITY).and_then(|table| table.clone().try_into::<Listen>().ok()) else {
        return Ok(());
    };
    for (listener, token) in listen.websocket.iter().filter_map(|(name, it)| Some((name, it.token.as_ref()?))) {
        let key = format!("{}{token}", homeagent_settings::plugin_prefix(plugin));
        if !settings.iter().any(|setting| setting.key == key && setting.kind == Kind::Secret) {
            return Err(format!(
                "[wants.listen]: websocket.{listener}: token = {token:?} has to be the name of a setting with the type \
                 secret, [settings.{token}]"
            ));
        }
    }
    Ok(())
}

fn checked<W: Want>(details: &toml::Table) -> Result<(), String> {
    let place = |reason: String| format!("[wants.{}]: {}", W::CAPABILITY, reason.trim_end());
    let want: W = details.clone().try_into().map_err(|error: toml::de::Error| place(error.to_string()))?;
    want.check().map_err(place)
}
