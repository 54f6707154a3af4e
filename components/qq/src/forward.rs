//! Connections that we make to a client which is the server: OneBot's "forward WebSocket".

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use homeagent_sdk::Connection;

use crate::effect::Effect;
use crate::settings::Settings;
use crate::state::Qq;

/// What of a connection's meta says that we made it, and where it leads.
pub(crate) const META: &str = "forward";

/// The longest name of a connection, in bytes.
const LONGEST_NAME: usize = 64;

/// What a connection to this address is called.
pub(crate) fn name(address: &str) -> String {
    if address.len() <= LONGEST_NAME {
        return address.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    format!("{}~{:016x}", &address[..address.floor_char_boundary(LONGEST_NAME - 17)], hasher.finish())
}

/// What goes over a connection to this address, in the words of reverse connections.
pub(crate) fn role(address: &str) -> &'static str {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let (_, path) = address.split_once("://").and_then(|(_, rest)| rest.split_once('/')).unwrap_or_default();
    match path.trim_end_matches('/').rsplit('/').next() {
        Some("event") => "Event",
        Some("api") => "API",
        _ => "Universal",
    }
}

/// The address that a connection leads to, where we made it.
pub(crate) fn of(connection: &Connection) -> Option<&str> {
    connection.meta(META)
}

impl Qq {
    /// Makes the connections that are listed and not asked for yet, and ends those that are listed no more. `anew`: asks
    /// for all of them, which changes nothing for those that stand.
    pub(crate) fn connect(&mut self, settings: &Settings, anew: bool) -> Vec<Effect> {
        let asked = std::mem::replace(&mut self.known.forward, settings.forward.clone());
        let gone = asked.iter().filter(|address| !settings.forward.contains(address));
        let gone = gone.map(|address| Effect::Disconnect { address: address.clone() });
        let wanted = settings.forward.iter().filter(|address| anew || !asked.contains(address));
        let wanted = wanted.map(|address| connect(address, settings));
        gone.chain(wanted).collect()
    }

    /// Ends all of them and makes them again, as with another token.
    pub(crate) fn connect_again(&mut self, settings: &Settings) -> Vec<Effect> {
        let ended = std::mem::take(&mut self.known.forward);
        let ended = ended.into_iter().map(|address| Effect::Disconnect { address });
        ended.chain(self.connect(settings, true)).collect()
    }
}

/// That a connection to this address is made.
pub(crate) fn connect(address: &str, settings: &Settings) -> Effect {
    Effect::Connect { address: address.to_owned(), token: settings.token }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_goes_over_it() {
        for (address, words) in [
            ("ws://127.0.0.1:3001", "Universal"),
            ("ws://127.0.0.1:3001/", "Universal"),
            ("ws://127.0.0.1:3001/event/?x=/api", "Event"),
            ("wss://nas.lan/onebot/api", "API"),
            ("wss://api", "Universal"),
        ] {
            assert_eq!(role(address), words, "{address}");
        }
    }

    #[test]
    fn names_are_short_and_differ() {
        let long = |end: &str| name(&format!("ws://{}甲{end}", "x".repeat(200)));
        assert!(long("a").len() <= LONGEST_NAME && long("a") != long("b") && long("a") == long("a"));
        assert_eq!(name("ws://127.0.0.1:3001"), "ws://127.0.0.1:3001");
    }
}
