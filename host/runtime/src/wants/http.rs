//! `[wants.http]`: where a package sends requests, and which.

use homeagent_network::http::Method;
use homeagent_network::{Host, Place, PlaceError, Reach, Scheme, address};
use serde::Deserialize;

use super::{Want, owners};

/// Entries of a list.
const MOST: usize = 64;
/// How HTTP is spoken; the first where nothing is said.
const SCHEMES: [Scheme; 2] = [Scheme::Https, Scheme::Http];

/// The hosts and methods of `[wants.http]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpWant {
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default = "reading")]
    methods: Vec<String>,
    /// Settings in which the owner lists further ones.
    #[serde(default)]
    pub(crate) settings: Vec<String>,
}

/// The methods where none are listed: those that change nothing.
fn reading() -> Vec<String> {
    vec!["GET".into(), "HEAD".into()]
}

impl Want for HttpWant {
    const CAPABILITY: &'static str = "http";

    fn check(&self) -> Result<(), String> {
        check_public(&self.hosts, &SCHEMES)?;
        owners::check(&self.settings)?;
        bounded("methods", &self.methods)?;
        self.methods.iter().try_for_each(|method| check_method(method))
    }
}

impl HttpWant {
    /// Whether a request of this method may go out.
    pub(crate) fn takes(&self, method: &Method) -> bool {
        self.methods.iter().any(|known| known == method.as_str())
    }

    /// Which addresses a host may have that the list has.
    pub(crate) fn reach(&self, scheme: &str, host: &Host, port: u16) -> Option<Reach> {
        listed(&self.hosts, &SCHEMES, scheme, host, port).then_some(Reach::Public)
    }

    /// The list, for people.
    pub(crate) fn hosts(&self) -> String {
        if self.hosts.is_empty() { "nothing".to_owned() } else { self.hosts.join(", ") }
    }

    /// The methods, for people.
    pub(crate) fn methods(&self) -> String {
        self.methods.join(", ")
    }
}

/// Fails on hosts that are none, or can't be public.
pub(super) fn check_public(hosts: &[String], schemes: &[Scheme]) -> Result<(), String> {
    bounded("hosts", hosts)?;
    for host in hosts {
        let place = Place::parse(host, schemes).map_err(|error| format!("hosts: {error}"))?;
        let ip = match place.host() {
            Some(Host::Ipv4(ip)) => Some((*ip).into()),
            Some(Host::Ipv6(ip)) => Some((*ip).into()),
            Some(Host::Domain(_)) | None => None,
        };
        if let Some(class) = ip.map(address::classify).filter(|class| *class != address::Class::Public) {
            return Err(format!("hosts: {host:?} is {class}; one of the home belongs into [wants.private-network]"));
        }
    }
    Ok(())
}

/// Whether one of the places holds it. They were checked when the manifest was read.
pub(super) fn listed(places: &[String], schemes: &[Scheme], scheme: &str, host: &Host, port: u16) -> bool {
    let places = places.iter().filter_map(|place| Place::parse(place, schemes).ok());
    places.into_iter().any(|place| place.holds(scheme, host, port))
}

/// Fails on lists that nobody reads through.
pub(super) fn bounded(key: &str, list: &[String]) -> Result<(), String> {
    if list.len() <= MOST {
        return Ok(());
    }
    Err(format!("{key} has {} entries; {MOST} are the most", list.len()))
}

/// One place, without a star.
pub(super) fn one_place(key: &str, text: &str, schemes: &[Scheme]) -> Result<Place, String> {
    let place = Place::parse(text, schemes).map_err(|error: PlaceError| format!("{key}: {error}"))?;
    match place.host() {
        Some(_) => Ok(place),
        None => Err(format!("{key}: {text:?} stands for many hosts; name them")),
    }
}

fn check_method(method: &str) -> Result<(), String> {
    // One leads through the host to anywhere, the other repeats what was sent, keys and all.
    if ["CONNECT", "TRACE"].contains(&method) {
        return Err(format!("methods: {method} is not sent for anybody"));
    }
    let fits = !method.is_empty() && method.len() <= 24 && method.chars().all(|c| c.is_ascii_uppercase() || c == '-');
    if fits { Ok(()) } else { Err(format!("methods: {method:?} is no method; they are written in capitals, as GET")) }
}
