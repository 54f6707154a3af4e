//! What plugins keep and touch on this machine.

use std::path::PathBuf;
use std::sync::Arc;

use homeagent_settings::PluginData;
use tokio::runtime::Handle;

use crate::timers::TimerKeeper;

/// Shared by all slots.
#[derive(Clone)]
pub(crate) struct Local {
    /// What the database keeps for plugins.
    pub(crate) data: PluginData,
    /// The plugins' timers.
    pub(crate) timers: Arc<TimerKeeper>,
    /// The daemon's own folder.
    pub(crate) home: PathBuf,
    /// The executor of everything but guests: what waits for the disk or for a program waits there.
    pub(crate) host: Handle,
}
