//! `[wants.secrets.<name>]`: what a secret of a package's settings is used for, and where.

use std::collections::BTreeMap;

use homeagent_network::http::{HeaderMap, HeaderName, header};
use homeagent_network::{Place, Scheme};
use homeagent_settings::{Declaration, Kind};
use serde::Deserialize;

use super::Want;
use super::http::one_place;

/// How a secret is sent: never in the open.
const SCHEMES: [Scheme; 2] = [Scheme::Https, Scheme::Wss];
/// Where the secret's value stands in `format`.
const GAP: &str = "{}";
/// The longest format, in bytes.
const LONGEST_FORMAT: usize = 256;

/// The secrets, by the names of the settings that hold them.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct SecretsWant(BTreeMap<String, SecretWant>);

/// One of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretWant {
    /// The only place it is sent to.
    host: Option<String>,
    /// In the place of a host: the setting in which the owner lists the places it is sent to.
    pub(crate) setting: Option<String>,
    /// The header that it is put into.
    header: Option<String>,
    /// How it stands there; `{}` is the value.
    format: Option<String>,
    /// The parameter of the URL that it is put into.
    query: Option<String>,
    /// Whether data may be signed with it.
    #[serde(default)]
    sign: bool,
}

/// Where a secret goes in a request.
#[derive(Clone, Debug)]
pub(crate) enum Injection {
    /// A header, with what stands before and behind the value.
    Header { name: HeaderName, before: String, behind: String },
    /// A parameter of the URL.
    Query(String),
}

impl Want for SecretsWant {
    const CAPABILITY: &'static str = "secrets";

    fn check(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|(name, want)| want.check().map_err(|reason| format!("{name}: {reason}")))
    }
}

impl SecretsWant {
    /// Fails where a secret is asked for that the package has no setting for.
    pub(crate) fn check_settings(&self, prefix: &str, settings: &[Declaration]) -> Result<(), String> {
        let is_secret =
            |name: &str| settings.iter().any(|it| it.kind == Kind::Secret && it.key.strip_prefix(prefix) == Some(name));
        match self.0.keys().find(|name| !is_secret(name)) {
            None => Ok(()),
            Some(name) => Err(format!(
                "[wants.secrets.{name}] has no setting to take the secret from; add [settings.{name}] with type = \"secret\""
            )),
        }
    }

    /// What is asked for one of them.
    pub(crate) fn secret(&self, name: &str) -> Option<&SecretWant> {
        self.0.get(name)
    }
}

impl SecretWant {
    fn check(&self) -> Result<(), String> {
        if let Some(host) = &self.host {
            one_place("host", host, &SCHEMES)?;
        }
        if self.host.is_some() && self.setting.is_some() {
            return Err("it goes to a host or to what a setting lists, not to both".into());
        }
        match (self.host.as_ref().or(self.setting.as_ref()), &self.header, &self.query, self.sign) {
            (_, Some(_), Some(_), _) => return Err("it goes into a header or a query, not into both".into()),
            (Some(_), None, None, _) => return Err("it has a host and no header or query to go into".into()),
            (None, Some(_), _, _) | (None, _, Some(_), _) => {
                return Err("it lacks host, the only one it goes to".into());
            }
            (None, None, None, false) => return Err("it lacks host and header or query, or sign = true".into()),
            _ => {}
        }
        if let Some(name) = &self.header {
            header(&mut HeaderMap::new(), name, b"")?;
        }
        if self.query.as_ref().is_some_and(String::is_empty) {
            return Err("query is empty; it names the parameter".into());
        }
        let Some(format) = &self.format else { return Ok(()) };
        if self.header.is_none() {
            return Err("format says how it stands in a header, and there is none".into());
        }
        if format.len() > LONGEST_FORMAT || format.matches(GAP).count() != 1 || format.contains(char::is_control) {
            return Err(format!("format = {format:?} needs one {GAP}, where the secret goes"));
        }
        Ok(())
    }

    /// The place that it goes to.
    pub(crate) fn place(&self) -> Option<Place> {
        self.host.as_ref().and_then(|host| Place::parse(host, &SCHEMES).ok())
    }

    /// Where it goes in a request to that place.
    pub(crate) fn injection(&self) -> Option<Injection> {
        if let Some(name) = &self.query {
            return Some(Injection::Query(name.clone()));
        }
        let name = HeaderName::from_bytes(self.header.as_ref()?.as_bytes()).ok()?;
        let (before, behind) = self.format.as_deref().unwrap_or(GAP).split_once(GAP)?;
        Some(Injection::Header { name, before: before.to_owned(), behind: behind.to_owned() })
    }

    /// Whether data may be signed with it.
    pub(crate) fn signs(&self) -> bool {
        self.sign
    }
}
