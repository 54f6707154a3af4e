//! Timers that the host keeps for the plugin, also while it does not run. Needs the grant `timers`, and the trait
//! [`Timers`](crate::Timers), which is told when one fires.

use std::time::Duration;

use serde::Serialize;

use crate::bindings::plugin::homeagent::plugin::timers as host;
use crate::{Error, Firing, Timestamp};

pub use host::{Schedule, Timer};

/// Sets the timer `name`, in the place of one of that name. It is on the disk when this returns.
pub async fn set(name: &str, schedule: Schedule, payload: &impl Serialize) -> Result<Timer, Error> {
    let payload = serde_json::to_string(payload)?;
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::set(name.to_owned(), schedule, payload).await
}

/// Fires once, at this time; at once, if that is past.
pub fn at(time: Timestamp) -> Schedule {
    Schedule::At(time)
}

/// Fires again and again, first after this time; at least a second.
pub fn every(interval: Duration) -> Schedule {
    Schedule::Every(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX))
}

/// Takes a timer away; says whether it was there.
pub async fn cancel(name: &str) -> Result<bool, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::cancel(name.to_owned()).await
}

/// The plugin's timers, by name.
pub async fn list() -> Result<Vec<Timer>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::list().await
}

impl Firing {
    /// Reads the payload as `T`.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.payload)?)
    }
}
