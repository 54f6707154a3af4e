//! The details of `[wants.<capability>]`: what of a capability a package says it will use.
//!
//! A capability that opens one thing has none. Where it opens many - hosts, folders, programs - the package lists those
//! it needs, the user sees the list before granting, and each call is checked against it.

mod connect;
pub(crate) mod files;
mod http;
mod listen;
pub(crate) mod llm;
pub(crate) mod memory;
mod narrowing;
mod owners;
mod private_network;
pub(crate) mod process;
mod secrets;
pub(crate) mod timers;
pub(crate) mod unix;

use std::collections::BTreeMap;

use homeagent_settings::{Declaration, Kind};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::connect::ConnectWant;
pub(crate) use self::http::HttpWant;
pub(crate) use self::listen::{Listen, PathWant, holds, overlap};
pub(crate) use self::narrowing::Details;
pub(crate) use self::owners::OwnersLists;
pub(crate) use self::private_network::PrivateNetworkWant;
pub(crate) use self::secrets::{Injection, SecretWant, SecretsWant};

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
        ConnectWant::CAPABILITY => read::<ConnectWant>(details),
        files::FilesWant::CAPABILITY => read::<files::FilesWant>(details),
        HttpWant::CAPABILITY => read::<HttpWant>(details),
        Listen::CAPABILITY => read::<Listen>(details),
        llm::Llm::CAPABILITY => read::<llm::Llm>(details),
        memory::KnowledgeWant::CAPABILITY => read::<memory::KnowledgeWant>(details),
        memory::MemoryWant::CAPABILITY => read::<memory::MemoryWant>(details),
        memory::SocialWant::CAPABILITY => read::<memory::SocialWant>(details),
        PrivateNetworkWant::CAPABILITY => read::<PrivateNetworkWant>(details),
        process::ProcessWant::CAPABILITY => read::<process::ProcessWant>(details),
        SecretsWant::CAPABILITY => read::<SecretsWant>(details),
        timers::TimersWant::CAPABILITY => read::<timers::TimersWant>(details),
        _ => match details.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("[wants.{capability}] has the unknown key {key}; it has no keys")),
        },
    }
}

/// What of the details asked for of a capability lies within those granted; `None` where that is nothing.
pub(crate) fn narrow(capability: &str, asked: &Details, granted: &Details) -> Option<Details> {
    let mut both = narrowing::narrow(asked, granted)?;
    match capability {
        process::ProcessWant::CAPABILITY => process::same_environment(asked, granted).then_some(both),
        Listen::CAPABILITY => {
            listen::keep_tokens(asked, &mut both);
            Some(both)
        }
        _ => Some(both),
    }
}

/// Settings of the package that say where it may go: the owner's alone to set.
pub(crate) fn owners_settings(asked: impl Fn(&str) -> Option<Details>) -> Vec<String> {
    let of = |capability: &str| match asked(capability)?.remove("settings")? {
        Value::Array(names) => Some(names),
        _ => None,
    };
    let lists = [ConnectWant::CAPABILITY, HttpWant::CAPABILITY, PrivateNetworkWant::CAPABILITY];
    let lists = lists.into_iter().filter_map(of).flatten();
    let secrets = asked(SecretsWant::CAPABILITY).unwrap_or_default();
    let secrets = secrets.into_iter().filter_map(|(_, secret)| secret.get("setting").cloned());
    let listen = asked(Listen::CAPABILITY).unwrap_or_default();
    let doors = listen.values().filter_map(Value::as_object).flatten();
    let doors = doors.filter_map(|(_, door)| door.get("address").cloned());
    lists.chain(secrets).chain(doors).filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Fails where the details name a setting that is none of the package's own, or of another type.
pub(crate) fn check_settings(
    plugin: &str,
    wants: &BTreeMap<String, toml::Table>,
    settings: &[Declaration],
) -> Result<(), String> {
    let prefix = homeagent_settings::plugin_prefix(plugin);
    if let Some(details) = wants.get(SecretsWant::CAPABILITY) {
        let want: SecretsWant =
            details.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        want.check_settings(&prefix, settings)?;
    }
    check_doors(&prefix, wants, settings)?;
    for (capability, details) in wants {
        let names = owners_settings(|asked| (asked == capability).then(|| as_details(details)));
        owners::check_declared(capability, &names, &prefix, settings)?;
    }
    Ok(())
}

/// Fails where a path's token is no secret, or its address no text.
fn check_doors(prefix: &str, wants: &BTreeMap<String, toml::Table>, settings: &[Declaration]) -> Result<(), String> {
    let Some(listen) = wants.get(Listen::CAPABILITY).and_then(|table| table.clone().try_into::<Listen>().ok()) else {
        return Ok(());
    };
    for it in listen.paths() {
        let named = [("token", it.token, Kind::Secret, "secret"), ("address", it.address, Kind::Text, "text")];
        for (what, name, kind, kind_name) in named {
            let Some(name) = name else { continue };
            let key = format!("{prefix}{name}");
            if !settings.iter().any(|setting| setting.key == key && setting.kind == kind) {
                return Err(format!(
                    "[wants.listen]: {}.{}: {what} = {name:?} has to be the name of a setting with the type {kind_name}, \
                     [settings.{name}]",
                    it.kind, it.name
                ));
            }
        }
    }
    Ok(())
}

fn as_details(table: &toml::Table) -> Details {
    match serde_json::to_value(table) {
        Ok(Value::Object(details)) => details,
        _ => Details::new(),
    }
}

fn read<W: Want>(details: &toml::Table) -> Result<(), String> {
    let place = |reason: &str| format!("[wants.{}]: {}", W::CAPABILITY, reason.trim_end());
    let want: W = details.clone().try_into().map_err(|error: toml::de::Error| place(error.message()))?;
    want.check().map_err(|reason| place(&reason))
}
