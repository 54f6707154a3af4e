//! Calling the tools of others. Needs the grant `tools`.

use serde::Serialize;

use crate::bindings::plugin::homeagent::plugin::tools as host;
use crate::{Cause, Error, ToolOutput};

/// Calls a tool with the rights of `cause`, at most those of the plugin. Hand on the cause you were called with.
pub async fn call(name: &str, arguments: &impl Serialize, cause: Cause) -> Result<ToolOutput, Error> {
    let arguments = serde_json::to_string(arguments)?;
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::call(name.to_owned(), arguments, cause).await
}
