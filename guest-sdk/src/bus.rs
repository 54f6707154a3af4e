//! Publishing events. Needs the grant `events`.

use serde::Serialize;

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::bus as host;

/// Publishes `payload` under `plugin.<name>.<topic>`. Never waits for a subscriber.
pub fn publish(topic: &str, payload: &impl Serialize) -> Result<(), Error> {
    let payload = serde_json::to_string(payload)?;
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::publish(topic, &payload)
}
