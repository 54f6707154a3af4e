//! Changing what the plugin offers while it runs. Needs the grant `tools`.

use crate::bindings::plugin::homeagent::plugin::registry as host;
use crate::{Error, Tool};

/// Replaces the plugin's set of tools.
pub async fn replace_tools(tools: Vec<Tool>) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::replace_tools(tools).await
}
