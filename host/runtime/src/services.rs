//! What the runtime's parts share.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use homeagent_network::Network;
use homeagent_settings::{Grants, Secrets, Settings, Spending};
use homeagent_types::CallError;
use homeagent_types::ports::{Mind, Models, PluginMemory};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::bus::Bus;
use crate::local::Local;
use crate::manifest::Manifest;
use crate::processor::Budget;
use crate::registrations::Registrations;

/// How many changes a slow listener may fall behind.
const CHANGES_KEPT: usize = 256;

/// Shared by all slots.
pub(crate) struct Services {
    pub(crate) settings: Settings,
    pub(crate) grants: Grants,
    /// Known secrets are taken out of whatever a guest or the agent says outward.
    pub(crate) secrets: Secrets,
    pub(crate) spending: Spending,
    pub(crate) registrations: Registrations,
    pub(crate) bus: Bus,
    pub(crate) network: Network,
    pub(crate) local: Local,
    mind: OnceLock<Weak<dyn Mind>>,
    models: OnceLock<Weak<dyn Models>>,
    plugin_memory: OnceLock<Weak<dyn PluginMemory>>,
    /// Names of plugins whose state changes.
    changes: broadcast::Sender<Arc<str>>,
    /// The plugin's settings by their whole keys, in the place of those that the owner has.
    fixed: Option<BTreeMap<String, Value>>,
}

impl Services {
    pub(crate) fn new(
        settings: Settings,
        grants: Grants,
        secrets: Secrets,
        spending: Spending,
        network: Network,
        local: Local,
    ) -> Self {
        Self {
            settings,
            grants,
            secrets,
            spending,
            registrations: Registrations::default(),
            bus: Bus::default(),
            network,
            local,
            mind: OnceLock::new(),
            models: OnceLock::new(),
            plugin_memory: OnceLock::new(),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            fixed: None,
        }
    }

    /// The same for a slot that nobody else is to notice: what is offered and published there stays there, and no model
    /// answers. Its plugin has these settings, by their whole keys.
    pub(crate) fn apart(&self, settings: BTreeMap<String, Value>) -> Self {
        let apart = Self::new(
            self.settings.clone(),
            self.grants.clone(),
            self.secrets.clone(),
            self.spending.clone(),
            self.network.clone(),
            self.local.clone(),
        );
        Self { fixed: Some(settings), ..apart }
    }

    /// The value of a plugin's setting, by its whole key.
    pub(crate) fn setting(&self, key: &str) -> Result<Value, CallError> {
        match &self.fixed {
            Some(fixed) => {
                fixed.get(key).cloned().ok_or_else(|| CallError::NotFound(format!("there is no setting {key}")))
            }
            None => self.settings.get(key).map_err(|error| CallError::NotFound(error.to_string())),
        }
    }

    /// The agent; it comes after the runtime, and the runtime does not keep it alive.
    pub(crate) fn bind(&self, mind: Weak<dyn Mind>) {
        if self.mind.set(mind).is_err() {
            tracing::error!("the runtime has been given an agent twice; the first one stays");
        }
    }

    pub(crate) fn mind(&self) -> Result<Arc<dyn Mind>, CallError> {
        self.mind.get().and_then(Weak::upgrade).ok_or(CallError::NotLive)
    }

    /// The model sources, which are made after the runtime and not kept alive by it, either.
    pub(crate) fn bind_models(&self, models: Weak<dyn Models>) {
        if self.models.set(models).is_err() {
            tracing::error!("the runtime has been given models twice; the first ones stay");
        }
    }

    pub(crate) fn models(&self) -> Result<Arc<dyn Models>, CallError> {
        self.models.get().and_then(Weak::upgrade).ok_or(CallError::NotLive)
    }

    /// What the agent remembers, which is opened apart from the runtime and not kept alive by it, either.
    pub(crate) fn bind_memory(&self, memory: Weak<dyn PluginMemory>) {
        if self.plugin_memory.set(memory).is_err() {
            tracing::error!("the runtime has been given a memory twice; the first one stays");
        }
    }

    pub(crate) fn plugin_memory(&self) -> Result<Arc<dyn PluginMemory>, CallError> {
        self.plugin_memory.get().and_then(Weak::upgrade).ok_or(CallError::NotLive)
    }

    /// Tells whoever listens that a plugin's state is another one.
    pub(crate) fn changed(&self, plugin: &str) {
        // An error only says that nobody listens.
        let _ = self.changes.send(plugin.into());
        self.local.timers.wake();
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }

    /// A whole number from the settings; settings are checked when they are set, so a failure means a damaged row, for
    /// which the default stands.
    pub(crate) fn number(&self, key: &str, fallback: u64) -> u64 {
        self.settings.integer(key).ok().and_then(|value| u64::try_from(value).ok()).unwrap_or(fallback)
    }

    /// What an instance of this package may have, in bytes: as it asks, and at most as the settings say.
    pub(crate) fn memory(&self, manifest: &Manifest) -> usize {
        let most = self.number("core.plugin.memory_mib", 64);
        let asked = manifest.limits.memory_mib.map_or(most, u64::from);
        usize::try_from(asked.min(most) << 20).unwrap_or(usize::MAX)
    }

    /// What an instance of this package may use of a processor: as it asks, and at most as the settings say.
    pub(crate) fn budget(&self, manifest: &Manifest) -> Budget {
        let usual = self.milliseconds("core.plugin.cpu_ms", 2_000);
        let most = self.milliseconds("core.plugin.cpu_most_ms", 30_000).max(usual);
        let burst = manifest.limits.cpu_ms.map_or(usual, |asked| Duration::from_millis(asked.into()).min(most));
        let refill = self.number("core.plugin.cpu_percent", 20).min(100);
        Budget { burst, refill: u32::try_from(refill).unwrap_or(100) }
    }

    pub(crate) fn log_lines_per_second(&self) -> u32 {
        u32::try_from(self.number("core.plugin.log_lines_per_second", 200)).unwrap_or(u32::MAX)
    }

    pub(crate) fn milliseconds(&self, key: &str, fallback: u64) -> Duration {
        self.settings.duration(key).unwrap_or(Duration::from_millis(fallback))
    }
}
