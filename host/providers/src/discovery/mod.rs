//! Sources that could be used here: vendors whose keys stand in the daemon's environment, and servers of models on this
//! machine.
//!
//! An [`Offer`] becomes a source when it is accepted. Looking changes nothing, and neither an offer nor a note ever
//! holds a key.

mod address;
mod adoption;
mod local;
mod vendors;

use std::collections::BTreeMap;

use homeagent_settings::{
    Secret, Secrets, SecretsError, Settings, SettingsError, SourceError, SourceLine, SourceRecord, Sources,
};
use serde::Serialize;
use utoipa::ToSchema;

use self::vendors::VENDORS;
use crate::transport::{Timeouts, Transport, TransportError};

/// The adapter for everything without one of its own.
const COMPLETIONS: &str = "openai";

/// Whether anything is looked for.
const ENABLED: &str = "core.discovery.enabled";

/// The setting that says whether a source may be taken into use by itself; off once the owner has removed or declined
/// one.
pub const ADOPT: &str = "core.discovery.adopt";

/// Reads a variable of the environment.
pub type Environment = fn(&str) -> Option<String>;

/// The environment of this process. What is not UTF-8 is no key and no address.
#[must_use]
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A source that could be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Offer {
    /// What the source is called when it is accepted.
    pub name: String,
    /// The adapter that speaks its protocol.
    pub adapter: String,
    /// Where its API begins.
    pub base_url: String,
    /// The model it is asked for where no other is chosen.
    pub model: String,
    /// The models it has, where that is known.
    pub models: Option<Vec<String>>,
    /// Options of the source.
    pub options: BTreeMap<String, String>,
    /// Where it was found, for people.
    pub found_in: String,
    /// Whether it comes with a key, which is in the environment.
    pub needs_key: bool,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Found {
    /// Sources that could be used, in the order in which they are proposed.
    pub offers: Vec<Offer>,
    /// What looked like a source and can't be used, and why: sentences for people.
    pub notes: Vec<String>,
}

impl Found {
    fn note(note: String) -> Self {
        Self { offers: Vec::new(), notes: vec![note] }
    }

    fn join(&mut self, further: Self) {
        self.offers.extend(further.offers);
        self.notes.extend(further.notes);
    }
}

/// Why nothing is looked for, or an offer is not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The owner does not want it.
    #[error("no sources are looked for: the setting core.discovery.enabled is off")]
    Off,
    /// A source of that name is there already.
    #[error("there is a source \"{name}\" already; `waiter source remove {name}` removes it")]
    Taken {
        /// The name.
        name: String,
    },
    /// There is no such offer, or no longer.
    #[error("there is no offer \"{name}\" now; offered are: {}", if offered.is_empty() { "none".to_owned() } else { offered.join(", ") })]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names there are.
        offered: Vec<String>,
    },
    /// The source does not have the model.
    #[error("{name} has no model \"{model}\"; it has: {}", models.join(", "))]
    NoModel {
        /// The offer.
        name: String,
        /// What was asked for.
        model: String,
        /// The models there are.
        models: Vec<String>,
    },
    /// A key can't be stored.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// A source can't be stored.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The HTTP client.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Looks for sources, and takes those into use that are accepted.
#[derive(Clone)]
pub struct Discovery {
    settings: Settings,
    secrets: Secrets,
    sources: Sources,
    environment: Environment,
}

impl Discovery {
    /// Looks in this environment, and at the addresses that are set.
    #[must_use]
    pub fn new(settings: Settings, secrets: Secrets, sources: Sources, environment: Environment) -> Self {
        Self { settings, secrets, sources, environment }
    }

    /// Looks for what could be used and is not configured yet. Takes a few seconds at most.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::Off`], and where the HTTP client can't be set up.
    pub async fn look(&self) -> Result<Found, DiscoveryError> {
        if !self.settings.boolean(ENABLED)? {
            return Err(DiscoveryError::Off);
        }
        let transport = Transport::new(Timeouts::default())?;
        let mut found = vendors::look(self.environment);
        found.join(local::look(&self.settings, self.environment, &transport).await);
        let configured = self.sources.list();
        let Found { offers, notes } = &mut found;
        offers.retain(|offer| match configured.iter().find(|source| source.name == offer.name) {
            Some(namesake) if !same_endpoint(namesake, offer) => {
                notes.push(format!(
                    "{} ({}) is not offered: a source \"{}\" is there already and leads elsewhere; `waiter source add` \
                     adds it under another name",
                    offer.base_url, offer.found_in, offer.name
                ));
                false
            }
            Some(_) => false,
            None => !configured.iter().any(|source| same_endpoint(source, offer)),
        });
        Ok(found)
    }

    /// Makes a source of an offer: its key goes from the environment into the secrets.
    ///
    /// # Errors
    ///
    /// A source of that name, an offer or a model that is not there, and what the stores answer.
    pub async fn accept(&self, name: &str, model: Option<String>) -> Result<SourceRecord, DiscoveryError> {
        if self.sources.get(name).is_some() {
            return Err(DiscoveryError::Taken { name: name.to_owned() });
        }
        let mut offers = self.look().await?.offers;
        let Some(place) = offers.iter().position(|offer| offer.name == name) else {
            let offered = offers.into_iter().map(|offer| offer.name).collect();
            return Err(DiscoveryError::Unknown { name: name.to_owned(), offered });
        };
        self.take(offers.swap_remove(place), model).await
    }

    async fn take(&self, offer: Offer, model: Option<String>) -> Result<SourceRecord, DiscoveryError> {
        let taker = self.clone();
        // The stores wait for the disk.
        match tokio::task::spawn_blocking(move || taker.store(&offer, model)).await {
            Ok(stored) => stored,
            Err(lost) => std::panic::resume_unwind(lost.into_panic()),
        }
    }

    fn store(&self, offer: &Offer, model: Option<String>) -> Result<SourceRecord, DiscoveryError> {
        let name = &offer.name;
        let model = model.unwrap_or_else(|| offer.model.clone());
        if let Some(models) = offer.models.as_ref().filter(|models| !models.contains(&model)) {
            return Err(DiscoveryError::NoModel { name: name.clone(), model, models: models.clone() });
        }
        let secret = SourceRecord::key_secret(name);
        let vendor = VENDORS.iter().find(|vendor| offer.needs_key && vendor.name == *name);
        let key = vendor.and_then(|vendor| vendor.key(self.environment, &mut Vec::new()));
        let record = SourceRecord {
            name: name.clone(),
            line: SourceLine::Main,
            adapter: offer.adapter.clone(),
            base_url: offer.base_url.clone(),
            model,
            secret: key.is_some().then(|| secret.clone()),
            options: offer.options.clone(),
            position: 0,
            enabled: true,
        };
        let before = self.secrets.get(&secret).ok().flatten();
        // The key first: a source that is told to use it has to find it.
        if let Some((_, key)) = key {
            self.secrets.set(&secret, Secret::from(key))?;
        }
        if let Err(refused) = self.sources.add_new(&record) {
            self.put_back(&secret, before);
            return Err(match refused {
                SourceError::Exists { name } => DiscoveryError::Taken { name },
                refused => refused.into(),
            });
        }
        Ok(record)
    }

    /// The key that was there before: that of a source that was added meanwhile, or none. A key that no source uses would
    /// be found by the next source of its name.
    fn put_back(&self, secret: &str, before: Option<Secret>) {
        let restored = match before {
            Some(before) => self.secrets.set(secret, before),
            None => self.secrets.remove(secret).map(drop),
        };
        if let Err(error) = restored {
            tracing::error!(secret, %error, "the key of a source that was not accepted is left");
        }
    }
}

/// Whether a source leads where an offer does, by whichever of the vendor's protocols.
fn same_endpoint(source: &SourceRecord, offer: &Offer) -> bool {
    address::place(&source.base_url) == address::place(&offer.base_url)
}

#[cfg(test)]
mod tests {
    use homeagent_settings::Database;

    use super::*;

    #[test]
    fn a_source_that_the_owner_adds_while_it_is_looked_around_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("db")).expect("a new database");
        let secrets = Secrets::open(&database, folder.path()).expect("new secrets");
        let settings = Settings::open(&database, &secrets).expect("new settings");
        let sources = Sources::open(&database).expect("new sources");
        let environment: Environment = |name| (name == "DEEPSEEK_API_KEY").then(|| "sk-found".to_owned());
        let discovery = Discovery::new(settings, secrets.clone(), sources.clone(), environment);
        let offer = vendors::look(environment).offers.swap_remove(0);
        let secret = SourceRecord::key_secret(&offer.name);

        let mut own = discovery.store(&offer, None).expect("it is free");
        own.base_url = "https://proxy.home/v1".to_owned();
        sources.add(&own).expect("the owner's own");
        secrets.set(&secret, Secret::from("sk-own")).expect("the owner's own");

        let refused = discovery.store(&offer, None).expect_err("there is one of that name");
        assert!(matches!(refused, DiscoveryError::Taken { .. }), "{refused}");
        assert_eq!(sources.get(&offer.name).expect("it is there").base_url, own.base_url);
        assert_eq!(secrets.get(&secret).expect("it can be read").expect("it is there").expose(), "sk-own");
    }
}
