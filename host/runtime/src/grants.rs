//! What each plugin may do. Asked anew at each call, so that taking a grant away works at once.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use homeagent_settings::{DatabaseError, Grants};
use homeagent_types::CallError;

use crate::wants::Want;

/// The grants of one plugin.
#[derive(Clone)]
pub(crate) struct GrantTable {
    plugin: String,
    stored: Grants,
    /// What the package asks for, and whether it came with homed: those are granted until the owner takes them away.
    asked: Arc<RwLock<Asked>>,
}

/// What a package asks for.
#[derive(Default)]
pub(crate) struct Asked {
    /// The capabilities, with the details that the manifest gives.
    wants: BTreeMap<String, toml::Table>,
    bundled: bool,
}

impl GrantTable {
    pub(crate) fn new(plugin: String, stored: Grants) -> Self {
        Self { plugin, stored, asked: Arc::default() }
    }

    /// What the package that is now in the slot asks for; what the one before it asked for.
    pub(crate) fn ask(&self, wants: BTreeMap<String, toml::Table>, bundled: bool) -> Asked {
        self.ask_again(Asked { wants, bundled })
    }

    /// The same with what was asked for before.
    pub(crate) fn ask_again(&self, asked: Asked) -> Asked {
        std::mem::replace(&mut *self.asked.write().unwrap_or_else(std::sync::PoisonError::into_inner), asked)
    }

    pub(crate) fn allows(&self, capability: &str) -> bool {
        let asked = self.asked.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A capability that the package does not ask for is not its to use, whatever was granted to an older one.
        asked.wants.contains_key(capability) && self.is_given(capability, &asked)
    }

    /// What the plugin may use of a capability with details; `None` where it may use nothing of it.
    pub(crate) fn granted<W: Want>(&self) -> Option<W> {
        let asked = self.asked.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let detail = asked.wants.get(W::CAPABILITY).filter(|_| self.is_given(W::CAPABILITY, &asked))?;
        // It was checked when the manifest was read.
        detail.clone().try_into().ok()
    }

    /// What the package asks of a capability with details, whether or not it was given.
    pub(crate) fn asked<W: Want>(&self) -> Option<W> {
        let asked = self.asked.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        asked.wants.get(W::CAPABILITY)?.clone().try_into().ok()
    }

    fn is_given(&self, capability: &str, asked: &Asked) -> bool {
        self.stored.decided(&self.plugin, capability).unwrap_or(asked.bundled)
    }

    /// The capabilities asked for, split into granted and missing.
    pub(crate) fn split(&self) -> (Vec<String>, Vec<String>) {
        let wants: Vec<String> = {
            let asked = self.asked.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            asked.wants.keys().cloned().collect()
        };
        wants.into_iter().partition(|capability| self.allows(capability))
    }

    pub(crate) async fn grant(&self, capability: &str) -> Result<(), CallError> {
        self.decide(capability, Grants::grant).await
    }

    pub(crate) async fn revoke(&self, capability: &str) -> Result<(), CallError> {
        self.decide(capability, Grants::revoke).await
    }

    /// Away from the workers: the disk may take its time.
    async fn decide(
        &self,
        capability: &str,
        decide: fn(&Grants, &str, &str) -> Result<(), DatabaseError>,
    ) -> Result<(), CallError> {
        let (stored, plugin, capability) = (self.stored.clone(), self.plugin.clone(), capability.to_owned());
        let decided = tokio::task::spawn_blocking(move || decide(&stored, &plugin, &capability)).await;
        match decided {
            Ok(decided) => decided.map_err(|error| CallError::NotStored(error.to_string())),
            Err(_) => Err(CallError::Other("storing the grant broke off; the log says more".to_owned())),
        }
    }
}
