//! `[wants.connect]`: where a package holds connections to.

use homeagent_network::{Host, Reach, Scheme};
use serde::Deserialize;

use super::http::{check_public, listed};
use super::{Want, owners};

/// How a connection is spoken over; the first where nothing is said.
const SCHEMES: [Scheme; 4] = [Scheme::Wss, Scheme::Ws, Scheme::Tls, Scheme::Tcp];

/// The hosts of `[wants.connect]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectWant {
    #[serde(default)]
    hosts: Vec<String>,
    /// Settings in which the owner lists further ones.
    #[serde(default)]
    pub(crate) settings: Vec<String>,
}

impl Want for ConnectWant {
    const CAPABILITY: &'static str = "connect";

    fn check(&self) -> Result<(), String> {
        check_public(&self.hosts, &SCHEMES)?;
        owners::check(&self.settings)
    }
}

impl ConnectWant {
    /// Which addresses a host may have that the list has.
    pub(crate) fn reach(&self, scheme: &str, host: &Host, port: u16) -> Option<Reach> {
        listed(&self.hosts, &SCHEMES, scheme, host, port).then_some(Reach::Public)
    }

    /// The list, for people.
    pub(crate) fn hosts(&self) -> String {
        if self.hosts.is_empty() { "nothing".to_owned() } else { self.hosts.join(", ") }
    }
}
