//! What the owner decided, and where the daemon runs.

use homeagent_sdk::{Error, settings, timers};
use jiff::tz::TimeZone;

use crate::firing::QuietHours;
use crate::schedule::{Here, Place};

/// Reads the zone and the place of all timers.
pub(crate) fn here() -> Result<Here, Error> {
    let named: String = settings::get("time_zone")?;
    let name = if named.trim().is_empty() { timers::zone() } else { named.trim().to_owned() };
    let zone = TimeZone::get(&name).map_err(|_| {
        Error::invalid(format!(
            "there is no time zone {name:?}; the owner sets one: waiter settings set plugin.timer.time_zone Asia/Shanghai"
        ))
    })?;
    let place: String = settings::get("place")?;
    let place = match place.trim() {
        "" => None,
        text => Some(Place::parse(text).ok_or_else(|| {
            Error::invalid(format!(
                "plugin.timer.place is {text:?}, which is no latitude and longitude such as \"31.23, 121.47\""
            ))
        })?),
    };
    Ok(Here { zone, place })
}

/// When timers wait that are not urgent.
pub(crate) fn quiet_hours() -> Result<Option<QuietHours>, Error> {
    let hours: String = settings::get("quiet_hours")?;
    match hours.trim() {
        "" => Ok(None),
        text => QuietHours::parse(text).map(Some).ok_or_else(|| {
            Error::invalid(format!("plugin.timer.quiet_hours is {text:?}, which is not such as \"22:30-07:00\""))
        }),
    }
}
