//! `[wants.private-network]`: which machines of the home a package reaches.

use homeagent_network::{Host, Reach, Scheme, address};
use serde::Deserialize;

use super::http::{bounded, listed, one_place};
use super::{Want, owners};

/// How a machine of the home is spoken to; the first where nothing is said.
const SCHEMES: [Scheme; 6] = [Scheme::Https, Scheme::Http, Scheme::Wss, Scheme::Ws, Scheme::Tls, Scheme::Tcp];

/// The addresses of `[wants.private-network]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivateNetworkWant {
    #[serde(default)]
    addresses: Vec<String>,
    /// Settings in which the owner lists further ones.
    #[serde(default)]
    pub(crate) settings: Vec<String>,
}

impl Want for PrivateNetworkWant {
    const CAPABILITY: &'static str = "private-network";

    fn check(&self) -> Result<(), String> {
        bounded("addresses", &self.addresses)?;
        owners::check(&self.settings)?;
        for text in &self.addresses {
            let place = one_place("addresses", text, &SCHEMES)?;
            let ip = match place.host() {
                Some(Host::Ipv4(ip)) => (*ip).into(),
                Some(Host::Ipv6(ip)) => (*ip).into(),
                Some(Host::Domain(_)) | None => continue,
            };
            match address::classify(ip) {
                address::Class::Private | address::Class::Loopback => {}
                class => return Err(format!("addresses: {text:?} is {class}; only private ones are granted here")),
            }
        }
        Ok(())
    }
}

impl PrivateNetworkWant {
    /// Which addresses a host may have that the list has.
    pub(crate) fn reach(&self, scheme: &str, host: &Host, port: u16) -> Option<Reach> {
        listed(&self.addresses, &SCHEMES, scheme, host, port).then_some(Reach::Home)
    }
}
