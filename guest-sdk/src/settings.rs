//! The plugin's own settings, `plugin.<name>.*`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::settings as host;

/// The value of `key`, or the default that `plugin.toml` gives it. Needs no grant.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<T, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    let value = host::get(key)?;
    serde_json::from_str(&value).map_err(|error| Error::invalid(format!("the setting `{key}`: {error}")))
}

/// Changes `key`. Needs the grant `settings`.
pub fn set(key: &str, value: &impl Serialize) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::set(key, &serde_json::to_string(value)?)
}
