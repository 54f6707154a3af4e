//! `[wants.connect]`: where a package holds connections to.

use homeagent_network::{Host, Reach, Scheme};
use serde::Deserialize;

use super::http::{bounded, check_public, listed};
use super::{Want, owners, unix};

/// How a connection is spoken over; the first where nothing is said.
const SCHEMES: [Scheme; 4] = [Scheme::Wss, Scheme::Ws, Scheme::Tls, Scheme::Tcp];

/// The hosts of `[wants.connect]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectWant {
    #[serde(default)]
    hosts: Vec<String>,
    /// Whole paths of unix sockets.
    #[serde(default)]
    sockets: Vec<String>,
    /// Settings in which the owner lists further ones.
    #[serde(default)]
    pub(crate) settings: Vec<String>,
}

impl Want for ConnectWant {
    const CAPABILITY: &'static str = "connect";

    fn check(&self) -> Result<(), String> {
        check_public(&self.hosts, &SCHEMES)?;
        bounded("sockets", &self.sockets)?;
        for path in &self.sockets {
            unix::check_path(path).map_err(|reason| format!("sockets: {reason}"))?;
        }
        owners::check(&self.settings)
    }
}

impl ConnectWant {
    /// Which addresses a host may have that the list has.
    pub(crate) fn reach(&self, scheme: &str, host: &Host, port: u16) -> Option<Reach> {
        listed(&self.hosts, &SCHEMES, scheme, host, port).then_some(Reach::Public)
    }

    /// Whether the list has this unix socket.
    pub(crate) fn has_socket(&self, path: &str) -> bool {
        self.sockets.iter().any(|listed| listed == path)
    }

    /// The unix sockets, for people.
    pub(crate) fn sockets(&self) -> String {
        if self.sockets.is_empty() { "no unix socket".to_owned() } else { self.sockets.join(", ") }
    }

    /// The list, for people.
    pub(crate) fn hosts(&self) -> String {
        if self.hosts.is_empty() { "nothing".to_owned() } else { self.hosts.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_named_by_their_whole_path() {
        let checked = |path: &str| {
            let want: ConnectWant = serde_json::from_value(serde_json::json!({ "sockets": [path] })).expect("details");
            want.check()
        };
        checked("/run/player/socket").expect("it is whole");
        for path in ["", "/", "socket", "./socket", "/run/../etc/x", "/run//x", "/run/./x", "/run/x/", "/run/\nx"] {
            checked(path).expect_err(path);
        }
    }

    #[test]
    fn sockets_that_are_asked_for_later_are_not_had() {
        let details = |value: serde_json::Value| value.as_object().cloned().expect("a table");
        let granted = details(serde_json::json!({ "hosts": ["a.example"], "sockets": ["/run/a"] }));
        let asked = details(serde_json::json!({ "hosts": ["a.example"], "sockets": ["/run/a", "/run/docker.sock"] }));
        assert_eq!(super::super::narrow("connect", &asked, &granted), Some(granted));
        let granted = details(serde_json::json!({ "hosts": ["a.example"] }));
        assert_eq!(super::super::narrow("connect", &asked, &granted), Some(granted));
    }
}
