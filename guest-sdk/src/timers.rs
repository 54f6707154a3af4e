//! Timers that the host keeps for the plugin, also while it does not run. Needs the grant `timers`, and the trait
//! [`Timers`](crate::Timers), which is told when one fires.

use std::time::Duration;

use serde::Serialize;

use crate::bindings::plugin::homeagent::plugin::timers as host;
use crate::{Again, Error, Firing, Timestamp};

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

/// Fires at this time, and then when the plugin says with each firing: see [`Again`].
pub fn calendar(time: Timestamp) -> Schedule {
    Schedule::Calendar(time)
}

/// The timer `name`, if there is one.
pub async fn get(name: &str) -> Result<Option<Timer>, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::get(name.to_owned()).await
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

/// The time zone in which the daemon runs, by its name in the IANA database.
pub fn zone() -> String {
    if cfg!(target_arch = "wasm32") { host::zone() } else { "UTC".to_owned() }
}

impl Timer {
    /// Reads the payload as `T`.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.payload)?)
    }
}

impl Again {
    /// Due at this time again, with the payload it has.
    pub fn at(due: Timestamp) -> Self {
        Self { due, payload: None }
    }

    /// The same, with this payload.
    pub fn with(due: Timestamp, payload: &impl Serialize) -> Result<Self, Error> {
        Ok(Self { due, payload: Some(serde_json::to_string(payload)?) })
    }
}

impl Firing {
    /// What the time is, by the clock that timers fall due by; it may have been set since the firing was due.
    pub fn now(&self) -> Timestamp {
        let said = self.meta.iter().find(|(key, _)| key == "now").and_then(|(_, now)| now.parse().ok());
        said.unwrap_or(self.due)
    }

    /// Reads the payload as `T`.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.payload)?)
    }
}
