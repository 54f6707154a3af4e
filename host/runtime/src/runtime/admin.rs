//! The plugins, as their keeper sees them.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use homeagent_types::ports::{Haste, PluginAdmin, PluginFolders, PluginStatus, Removed};
use homeagent_types::{CallError, Recording, Submission};
use tokio::sync::OwnedMutexGuard;

use super::{Inner, Runtime, refused, stop};
use crate::host::Outbound;
use crate::slot::connection;
use crate::slot::dialled::Target;

impl Inner {
    /// The right to change what runs under a name, as [`Inner::turn`], for an end: a replacement that is under way is
    /// given up rather than waited for.
    pub(super) async fn interrupt(&self, name: &str) -> OwnedMutexGuard<()> {
        if let Some(slot) = self.slot(name) {
            stop(&slot).await;
        }
        self.turn(name).await
    }

    /// Ends a plugin or an adapter; what its status is from then on, or nothing if there was none.
    pub(super) async fn end(&self, name: &str) -> Option<PluginStatus> {
        let slot = self.slots.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        let ended = match slot {
            Some(slot) => {
                stop(&slot).await;
                // What follows finds the plugin's things as it left them.
                slot.core.disk.end().await;
                Some(slot.status())
            }
            None => self.adapters.unload(name).or_else(|| self.interpreters.unload(name)),
        };
        if ended.is_some() {
            self.services.settings.withdraw_plugin(name);
        }
        ended
    }
}

impl Inner {
    /// Ends the connections that a plugin made to places that the owner does not list any more.
    pub(super) fn close_what_is_listed_no_more(&self, plugin: &str) {
        let Some(slot) = self.slot(plugin) else { return };
        let may = |target: &Target| {
            let (slot, services) = (Arc::clone(&slot.core), Arc::clone(&self.services));
            let outbound = Outbound { slot, services, secrets: target.secrets.clone() };
            outbound.check_place(&target.place).is_ok()
        };
        slot.core.dialled.look_again(may);
    }

    /// Ends the connections that a plugin made where what they were made by is another now: it may open again those that
    /// it still may have. Those that it serves end with the right to serve them.
    fn close_made_by(&self, plugin: &str, capability: &str) {
        let Some(slot) = self.slot(plugin) else { return };
        match capability {
            "connect" | "private-network" | "secrets" => slot.core.dialled.close_all(),
            "listen" if !slot.core.grants.allows(capability) => {
                slot.core.sockets.give_up_all(capability, &connection::not_allowed(plugin, capability));
            }
            _ => {}
        }
    }
}

#[async_trait]
impl PluginAdmin for Runtime {
    fn list(&self) -> Vec<PluginStatus> {
        self.inner.list()
    }

    fn folders(&self) -> PluginFolders {
        self.inner.folders()
    }

    async fn install(&self, folder: &Path) -> Result<PluginStatus, CallError> {
        self.inner.install(folder).await
    }

    async fn remove(&self, name: &str) -> Result<Removed, CallError> {
        self.inner.remove(name).await
    }

    async fn reload(&self, name: &str, haste: Haste) -> Result<PluginStatus, CallError> {
        let _turn = self.inner.turn(name).await;
        let origin = self.inner.find(name)?;
        if let Err(error) = self.inner.counted(name, self.inner.load(&origin, haste)).await {
            if self.inner.slot(name).is_none() {
                self.inner.refuse(name, &origin, &error);
            }
            return Err(refused(&error));
        }
        self.inner.status(name)
    }

    async fn load(&self, name: &str) -> Result<PluginStatus, CallError> {
        if self.inner.slot(name).is_some() {
            return Err(CallError::Invalid(format!("the plugin {name} is loaded already; reload puts new code in")));
        }
        self.reload(name, Haste::default()).await
    }

    async fn unload(&self, name: &str) -> Result<(), CallError> {
        let _turn = self.inner.interrupt(name).await;
        let status = self.inner.end(name).await;
        let status = status.ok_or_else(|| CallError::NotFound(format!("the plugin {name} is not loaded")))?;
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), status);
        self.inner.services.changed(name);
        tracing::info!(plugin = %name, "unloaded");
        Ok(())
    }

    async fn grant(&self, name: &str, capability: &str) -> Result<(), CallError> {
        let grants = self.inner.grants(name, capability)?;
        // First, so that what was decided before stays when it is refused.
        self.inner.services.registrations.clash(name, capability).map_err(CallError::Invalid)?;
        grants.grant(capability).await?;
        self.inner.close_made_by(name, capability);
        self.inner.services.registrations.refresh();
        self.inner.services.local.timers.wake();
        let payload = serde_json::json!({ "capability": capability });
        self.inner.tell_of_owner(name, format!("grant.plugin.{name}.{capability}"), &payload);
        Ok(())
    }

    async fn try_channel(
        &self,
        name: &str,
        folder: Option<&Path>,
        recordings: Vec<Recording>,
    ) -> Result<Vec<Result<Vec<Submission>, CallError>>, CallError> {
        self.inner.try_channel(name, folder, recordings).await
    }

    async fn revoke(&self, name: &str, capability: &str) -> Result<(), CallError> {
        self.inner.grants(name, capability)?.revoke(capability).await?;
        self.inner.close_made_by(name, capability);
        self.inner.services.registrations.refresh();
        Ok(())
    }
}
