//! What plugins keep and touch on this machine.

use std::path::PathBuf;

use homeagent_settings::PluginData;
use tokio::runtime::Handle;

/// Shared by all slots.
pub(crate) struct Local {
    /// What the database keeps for plugins.
    pub(crate) data: PluginData,
    /// The daemon's own folder.
    pub(crate) home: PathBuf,
    /// The executor of everything but guests: what waits for the disk or for a program waits there.
    pub(crate) host: Handle,
}
