//! Places that the owner lists in a setting of the package, where `plugin.toml` can't know them: the details name the
//! setting, and what stands in it counts like what stands in the manifest. No plugin can set such a setting itself.

use homeagent_network::{Host, Place, Scheme};
use homeagent_settings::{Declaration, Kind, Settings, plugin_prefix};
use serde_json::Value;

use super::http::bounded;

/// How a place in a setting may be spoken to; it has to say which.
const SCHEMES: [Scheme; 6] = [Scheme::Https, Scheme::Http, Scheme::Wss, Scheme::Ws, Scheme::Tls, Scheme::Tcp];

/// The settings of one plugin, as the owner filled them in.
pub(crate) struct OwnersLists<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) settings: &'a Settings,
    /// Whether what stands in a setting by default counts like what the owner set.
    pub(crate) defaults_count: bool,
}

impl OwnersLists<'_> {
    /// The places in one of these settings. What is no place opens nothing.
    fn places(&self, names: &[String]) -> Vec<Place> {
        let prefix = plugin_prefix(self.plugin);
        let set = |name: &String| {
            let entry = self.settings.entry(&format!("{prefix}{name}")).ok()?;
            (self.defaults_count || !entry.is_default).then_some(entry.value)
        };
        let values = names.iter().filter_map(set);
        let entries = values.flat_map(|value| match value {
            Value::Array(entries) => entries,
            value => vec![value],
        });
        entries.filter_map(|entry| Place::parse(without_path(entry.as_str()?.trim())?, &SCHEMES).ok()).collect()
    }

    /// Whether a place is in one of these settings.
    pub(crate) fn hold(&self, names: &[String], scheme: &str, host: &Host, port: u16) -> bool {
        self.places(names).iter().any(|place| place.holds(scheme, host, port))
    }

    /// The same without places that stand for many.
    pub(crate) fn name(&self, names: &[String], scheme: &str, host: &Host, port: u16) -> bool {
        self.places(names).iter().any(|place| place.host().is_some() && place.holds(scheme, host, port))
    }
}

/// Scheme, host and port of an address; nothing where it says no scheme.
fn without_path(address: &str) -> Option<&str> {
    let start = address.find("://")? + 3;
    let end = address[start..].find(['/', '?', '#']).map_or(address.len(), |at| start + at);
    Some(&address[..end])
}

/// Fails on a list of settings that nobody reads through.
pub(super) fn check(settings: &[String]) -> Result<(), String> {
    bounded("settings", settings)
}

/// Fails where a setting is named that the package does not declare, or in which no places can stand.
pub(super) fn check_declared(
    capability: &str,
    names: &[String],
    prefix: &str,
    settings: &[Declaration],
) -> Result<(), String> {
    let takes_places = |name: &String| {
        let declared = settings.iter().find(|setting| setting.key.strip_prefix(prefix) == Some(name));
        declared.is_some_and(|setting| matches!(setting.kind, Kind::List | Kind::Text))
    };
    match names.iter().find(|name| !takes_places(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "[wants.{capability}]: {name:?} has to be the name of a setting with the type list or text, \
             [settings.{name}]"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_without_its_path() {
        for (address, place) in [
            ("ws://127.0.0.1:3001", "ws://127.0.0.1:3001"),
            ("ws://127.0.0.1:3001/onebot?x=/", "ws://127.0.0.1:3001"),
            ("wss://nas.lan?a", "wss://nas.lan"),
            ("http://[fd00::1]:80/", "http://[fd00::1]:80"),
        ] {
            assert_eq!(without_path(address), Some(place));
        }
        assert_eq!(without_path("127.0.0.1:3001"), None);
    }
}
