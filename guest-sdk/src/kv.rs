//! The plugin's own keys and values, which outlive its instances and the daemon. Needs no grant.

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::kv as host;

pub use host::{Change, Pair};

impl Change {
    /// Puts a value there, in the place of what was there.
    pub fn set_to(key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self::Set(Pair { key: key.into(), value: value.into() })
    }
}

/// The value of a key, where it is there.
pub async fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::get(key.to_owned()).await
}

/// Keeps a value of at most 1 MiB under a key of at most 1,024 bytes. It is on the disk when this returns.
pub async fn set(key: &str, value: impl Into<Vec<u8>>) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::set(key.to_owned(), value.into()).await
}

/// Takes a key away; says whether it was there.
pub async fn delete(key: &str) -> Result<bool, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::delete(key.to_owned()).await
}

/// The keys that begin with `prefix`, in the order of their bytes, at most 1,000: those behind `after`, where that is
/// given.
pub async fn list(prefix: &str, after: Option<&str>) -> Result<Vec<String>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::list(prefix.to_owned(), after.map(str::to_owned)).await
}

/// Makes all changes, in order, or none; at most 1,000.
pub async fn batch(changes: Vec<Change>) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::batch(changes).await
}
