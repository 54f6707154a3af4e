//! What the runtime's parts share.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use homeagent_settings::{Grants, Secrets, Settings};
use homeagent_types::CallError;
use homeagent_types::ports::Mind;

use crate::bus::Bus;
use crate::manifest::Manifest;
use crate::registrations::Registrations;

/// Shared by all slots.
pub(crate) struct Services {
    pub(crate) settings: Settings,
    pub(crate) grants: Grants,
    /// Known secrets are taken out of whatever a guest or the agent says outward.
    pub(crate) secrets: Secrets,
    pub(crate) registrations: Registrations,
    pub(crate) bus: Bus,
    mind: OnceLock<Weak<dyn Mind>>,
}

impl Services {
    pub(crate) fn new(settings: Settings, grants: Grants, secrets: Secrets) -> Self {
        Self {
            settings,
            grants,
            secrets,
            registrations: Registrations::default(),
            bus: Bus::default(),
            mind: OnceLock::new(),
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

    pub(crate) fn log_lines_per_second(&self) -> u32 {
        u32::try_from(self.number("core.plugin.log_lines_per_second", 200)).unwrap_or(u32::MAX)
    }

    pub(crate) fn milliseconds(&self, key: &str, fallback: u64) -> Duration {
        self.settings.duration(key).unwrap_or(Duration::from_millis(fallback))
    }
}
