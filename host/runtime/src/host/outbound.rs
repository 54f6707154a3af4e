//! What a plugin's requests may do, and what the host does with them on their way out and back.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use homeagent_network::address::{self, Class};
use homeagent_network::http::{self, HeaderMap, HeaderValue, Method, Response, Rules};
use homeagent_network::{Host, Reach, Scheme, Url};
use homeagent_settings::Secret;
use homeagent_types::{CallError, Denial};

use crate::services::Services;
use crate::slot::core::SlotCore;
use crate::slot::dialled::Place;
use crate::wants::{ConnectWant, HttpWant, Injection, OwnersLists, PrivateNetworkWant, SecretWant, SecretsWant, Want};

/// Secrets of one request.
const MOST_SECRETS: usize = 16;

/// A shorter secret is not put in anywhere: where it came back it could not be told from other text.
pub(super) const SHORTEST_SECRET: usize = 8;

/// The rules for one request or connection of a plugin. Grants and secrets are read with each hop.
pub(crate) struct Outbound {
    pub(crate) slot: Arc<SlotCore>,
    pub(crate) services: Arc<Services>,
    /// The secrets that it asked for.
    pub(crate) secrets: Vec<String>,
}

impl Outbound {
    /// Fails where a secret was asked for that does not go there.
    pub(crate) fn check_secrets(&self, url: &Url) -> Result<(), CallError> {
        if self.secrets.len() > MOST_SECRETS {
            return Err(CallError::Invalid(format!("a request takes at most {MOST_SECRETS} secrets")));
        }
        for name in &self.secrets {
            let want = secret_want(&self.slot, name)?;
            if self.goes_to(&want, url) {
                continue;
            }
            let place = want.place().map(|place| place.to_string());
            let place = place.or_else(|| want.setting.as_ref().map(|name| format!("what the setting {name} lists")));
            let place = place.unwrap_or_else(|| "no host".to_owned());
            return Err(CallError::Denied(Denial {
                capability: SecretsWant::CAPABILITY.to_owned(),
                attempt: format!("sending the secret {name} to {}", http::place(url)),
                remedy: format!("[wants.secrets.{name}] of its plugin.toml lets it go to {place} alone"),
            }));
        }
        Ok(())
    }

    /// Fails where a connection may not go there, or not with its secrets.
    pub(crate) fn check_place(&self, place: &Place) -> Result<(), CallError> {
        match place {
            Place::Host { scheme, url } => {
                self.check_secrets(url)?;
                self.connect_reach(*scheme, url).map(drop)
            }
            Place::Socket(path) => self.socket_reach(path),
        }
    }

    /// Which addresses the host of a connection may have.
    pub(crate) fn connect_reach(&self, scheme: Scheme, url: &Url) -> Result<Reach, CallError> {
        let Some((host, port)) = http::host_and_port(url) else {
            return Err(CallError::Invalid("the URL has no host".to_owned()));
        };
        let attempt = format!("connecting to {}://{host}:{port}", scheme.name());
        self.slot.allow(ConnectWant::CAPABILITY, attempt.clone())?;
        let want: ConnectWant = self.slot.grants.granted().ok_or(CallError::NotLive)?;
        let home = self.slot.grants.granted::<PrivateNetworkWant>();
        let home = home.and_then(|home| home.reach(scheme.name(), &host, port));
        let listed = home.or_else(|| want.reach(scheme.name(), &host, port));
        if let Some(reach) = listed.or_else(|| self.owners_reach(&want.settings, scheme.name(), &host, port)) {
            return Ok(reach);
        }
        let asked = self.slot.grants.asked::<PrivateNetworkWant>();
        if asked.is_some_and(|home| home.reach(scheme.name(), &host, port).is_some()) {
            self.slot.allow(PrivateNetworkWant::CAPABILITY, attempt.clone())?;
        }
        let asked = self.slot.grants.asked::<ConnectWant>();
        if asked.is_some_and(|asked| asked.reach(scheme.name(), &host, port).is_some()) {
            return Err(self.slot.denial(ConnectWant::CAPABILITY, attempt));
        }
        let remedy = format!(
            "[wants.connect] of its plugin.toml has to list it; it lists {}",
            self.listed(want.hosts(), &want.settings)
        );
        Err(CallError::Denied(Denial { capability: ConnectWant::CAPABILITY.to_owned(), attempt, remedy }))
    }

    /// Fails where a unix socket is not the plugin's to connect to.
    pub(crate) fn socket_reach(&self, path: &str) -> Result<(), CallError> {
        let attempt = format!("connecting to unix:{path}");
        self.slot.allow(ConnectWant::CAPABILITY, attempt.clone())?;
        let want: ConnectWant = self.slot.grants.granted().ok_or(CallError::NotLive)?;
        if want.has_socket(path) {
            return Ok(());
        }
        if self.slot.grants.asked::<ConnectWant>().is_some_and(|asked| asked.has_socket(path)) {
            return Err(self.slot.denial(ConnectWant::CAPABILITY, attempt));
        }
        let remedy =
            format!("sockets of [wants.connect] in its plugin.toml has to list it; it lists {}", want.sockets());
        Err(CallError::Denied(Denial { capability: ConnectWant::CAPABILITY.to_owned(), attempt, remedy }))
    }

    /// Which addresses a host may have that the owner lists in one of these settings, or in one of those for machines of
    /// the home.
    fn owners_reach(&self, public: &[String], scheme: &str, host: &Host, port: u16) -> Option<Reach> {
        let owners = self.owners();
        let home = self.slot.grants.granted::<PrivateNetworkWant>().map(|home| home.settings).unwrap_or_default();
        match (owners.hold(public, scheme, host, port), owners.name(&home, scheme, host, port)) {
            (true, true) => Some(Reach::Either),
            (true, false) => Some(Reach::Public),
            (false, true) => Some(Reach::Home),
            (false, false) => None,
        }
    }

    fn owners(&self) -> OwnersLists<'_> {
        let defaults_count = self.slot.grants.defaults_count();
        OwnersLists { plugin: &self.slot.name, settings: &self.services.settings, defaults_count }
    }

    /// What a capability lists, for people: hosts, and settings that list more.
    fn listed(&self, hosts: String, settings: &[String]) -> String {
        let prefix = homeagent_settings::plugin_prefix(&self.slot.name);
        settings.iter().fold(hosts, |listed, name| format!("{listed}, and what the setting {prefix}{name} has"))
    }

    fn goes_to(&self, want: &SecretWant, url: &Url) -> bool {
        let Some((host, port)) = http::host_and_port(url) else { return false };
        let is_place = want.place().is_some_and(|place| place.holds(url.scheme(), &host, port));
        is_place || self.owners().name(want.setting.as_slice(), url.scheme(), &host, port)
    }

    fn not_listed(&self, method: &Method, url: &Url, want: &HttpWant) -> CallError {
        let place = http::place(url);
        let asked = http::host_and_port(url).zip(self.slot.grants.asked::<PrivateNetworkWant>());
        let is_asked = asked.is_some_and(|((host, port), home)| home.reach(url.scheme(), &host, port).is_some());
        let attempt = format!("sending {method} to {place}");
        if is_asked && let Err(missing) = self.slot.allow(PrivateNetworkWant::CAPABILITY, attempt.clone()) {
            return missing;
        }
        let asked = http::host_and_port(url).zip(self.slot.grants.asked::<HttpWant>());
        if asked.is_some_and(|((host, port), asked)| asked.reach(url.scheme(), &host, port).is_some()) {
            return self.slot.denial(HttpWant::CAPABILITY, attempt);
        }
        let is_home = http::host_and_port(url).is_some_and(|(host, _)| names_this_home(&host));
        let (capability, remedy) = if is_home {
            let home = PrivateNetworkWant::CAPABILITY;
            (home, format!("[wants.{home}] of its plugin.toml has to list the machines of the home that it reaches"))
        } else {
            let listed = self.listed(want.hosts(), &want.settings);
            let remedy = format!("[wants.http] of its plugin.toml has to list it; it lists {listed}");
            (HttpWant::CAPABILITY, remedy)
        };
        CallError::Denied(Denial { capability: capability.to_owned(), attempt, remedy })
    }
}

/// Whether a host is one of this machine or of the home by how it is written.
fn names_this_home(host: &Host) -> bool {
    let ip: IpAddr = match host {
        Host::Ipv4(ip) => (*ip).into(),
        Host::Ipv6(ip) => (*ip).into(),
        Host::Domain(name) => return name == "localhost",
    };
    matches!(address::classify(ip), Class::Private | Class::Loopback)
}

impl Rules for Outbound {
    fn reach(&self, method: &Method, url: &Url) -> Result<Reach, CallError> {
        self.slot.allow(HttpWant::CAPABILITY, format!("sending {method} to {}", http::place(url)))?;
        let want: HttpWant = self.slot.grants.granted().ok_or(CallError::NotLive)?;
        if !want.takes(method) {
            let attempt = format!("sending {method} to {}", http::place(url));
            // The package lists it by now, and the owner has not granted that.
            if self.slot.grants.asked::<HttpWant>().is_some_and(|asked| asked.takes(method)) {
                return Err(self.slot.denial(HttpWant::CAPABILITY, attempt));
            }
            return Err(CallError::Denied(Denial {
                capability: HttpWant::CAPABILITY.to_owned(),
                attempt,
                remedy: format!("[wants.http] of its plugin.toml has to list the method; it lists {}", want.methods()),
            }));
        }
        let Some((host, port)) = http::host_and_port(url) else { return Err(self.not_listed(method, url, &want)) };
        let home = self.slot.grants.granted::<PrivateNetworkWant>();
        let home = home.and_then(|home| home.reach(url.scheme(), &host, port));
        let reach = home.or_else(|| want.reach(url.scheme(), &host, port));
        let reach = reach.or_else(|| self.owners_reach(&want.settings, url.scheme(), &host, port));
        reach.ok_or_else(|| self.not_listed(method, url, &want))
    }

    fn equip(&self, url: &mut Url, headers: &mut HeaderMap) -> Result<(), CallError> {
        for name in &self.secrets {
            let want = secret_want(&self.slot, name)?;
            // After a redirect to elsewhere, the request goes on without.
            if !self.goes_to(&want, url) {
                continue;
            }
            let secret = secret(&self.slot, &self.services, name)?;
            match want.injection() {
                None => {}
                Some(Injection::Header { name: header, before, behind }) => {
                    let value = HeaderValue::from_bytes(format!("{before}{}{behind}", secret.expose()).as_bytes());
                    let unfit =
                        |_| CallError::Other(format!("the secret {name} has characters that no header can hold"));
                    let mut value = value.map_err(unfit)?;
                    value.set_sensitive(true);
                    headers.insert(header, value);
                }
                Some(Injection::Query(parameter)) => {
                    without(url, |key, _| key == parameter);
                    url.query_pairs_mut().append_pair(&parameter, secret.expose());
                }
            }
        }
        Ok(())
    }

    fn follow(&self, url: &mut Url) -> Result<(), CallError> {
        for name in &self.secrets {
            if let Some(Injection::Query(parameter)) = secret_want(&self.slot, name)?.injection() {
                let secret = secret(&self.slot, &self.services, name)?;
                without(url, |key, value| key == parameter && value == secret.expose());
            }
        }
        if is_clean(&self.services, url.as_str()) {
            return Ok(());
        }
        let place = http::place(url);
        Err(CallError::Other(format!("a redirect to {place} has a secret in its URL, so it is not followed")))
    }
}

/// Takes parameters out of a URL. One that has none of them stays as it was written, letter by letter.
fn without(url: &mut Url, is_out: impl Fn(&str, &str) -> bool) {
    let others: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(key, value)| !is_out(key, value)).collect();
    if others.is_empty() {
        url.set_query(None);
    } else if others.len() < url.query_pairs().count() {
        url.query_pairs_mut().clear().extend_pairs(others);
    }
}

/// Whether no known secret stands in a URL, also not in percent notation.
fn is_clean(services: &Services, url: &str) -> bool {
    let plain = percent_encoding::percent_decode_str(url).decode_utf8_lossy();
    [url, &plain, &plain.replace('+', " ")]
        .into_iter()
        .all(|text| matches!(services.secrets.redact(text), Cow::Borrowed(_)))
}

/// What a plugin that sends a secret may do with it.
fn secret_want(slot: &SlotCore, name: &str) -> Result<SecretWant, CallError> {
    slot.allow(SecretsWant::CAPABILITY, "sending a secret")?;
    let want: SecretsWant = slot.grants.granted().ok_or(CallError::NotLive)?;
    known(&want, name).cloned()
}

/// What a package says of a secret.
pub(super) fn known<'a>(want: &'a SecretsWant, name: &str) -> Result<&'a SecretWant, CallError> {
    want.secret(name).ok_or_else(|| {
        let shown = name.chars().take(64).collect::<String>();
        CallError::NotFound(format!("there is no secret {shown:?}: its plugin.toml has no [wants.secrets.{shown}]"))
    })
}

/// The value of one of a plugin's secrets.
pub(super) fn secret(slot: &SlotCore, services: &Services, name: &str) -> Result<Secret, CallError> {
    let key = format!("{}{name}", homeagent_settings::plugin_prefix(&slot.name));
    let set = format!("waiter settings set {key} -");
    let secret = services.secrets.get(&key).map_err(|error| CallError::Other(error.to_string()))?;
    let secret =
        secret.ok_or_else(|| CallError::Other(format!("the secret {name} is not set; the owner can: {set}")))?;
    if secret.expose().len() < SHORTEST_SECRET {
        let reason =
            format!("the secret {name} has fewer than {SHORTEST_SECRET} bytes, too few to be kept from leaking");
        return Err(CallError::Other(format!("{reason}; set a longer one: {set}")));
    }
    Ok(secret)
}

/// Takes every secret that the daemon knows out of what a plugin wants to send.
pub(super) struct Cleaner<'a> {
    services: &'a Services,
    /// Something was taken out.
    pub(super) took: bool,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(services: &'a Services) -> Self {
        Self { services, took: false }
    }

    pub(super) fn text(&mut self, text: String) -> String {
        match self.services.secrets.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => {
                self.took = true;
                clean
            }
        }
    }

    pub(super) fn bytes(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match self.services.secrets.redact_bytes(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(clean) => {
                self.took = true;
                clean
            }
        }
    }

    /// A URL, in which a secret may also be written letter by letter.
    pub(super) fn url(&mut self, url: String) -> Result<String, CallError> {
        if url.len() > http::LONGEST_URL {
            let (length, most) = (url.len(), http::LONGEST_URL);
            return Err(CallError::Invalid(format!("the URL has {length} bytes; {most} are the most")));
        }
        let url = match self.services.secrets.redact(&url) {
            Cow::Borrowed(_) => url,
            Cow::Owned(clean) => {
                self.took = true;
                // What is put in has a space in it, which no URL may have.
                clean.replace("[secret ", "[secret%20")
            }
        };
        if is_clean(self.services, &url) {
            return Ok(url);
        }
        Err(CallError::Invalid("the URL has a secret in it, which is not sent".to_owned()))
    }

    /// What came back, without what the other side repeats of a secret.
    pub(super) fn answer(&mut self, mut answer: Response) -> Response {
        answer.body = self.bytes(answer.body);
        for (_, value) in &mut answer.headers {
            *value = self.bytes(std::mem::take(value));
        }
        answer
    }
}
