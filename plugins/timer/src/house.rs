//! What the owner decided, and where the daemon runs.

use homeagent_sdk::{Error, log, settings, timers};
use jiff::tz::TimeZone;

use crate::firing::QuietHours;
use crate::schedule::{Here, Place};

/// Reads the zone and the place of all timers. A place that can't be read is none: it must not hold up the timers that
/// do without.
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
        text => {
            let place = Place::parse(text);
            if place.is_none() {
                log::warn(format!(
                    "plugin.timer.place is {text:?}, which is no latitude and longitude such as \"31.23, 121.47\""
                ));
            }
            place
        }
    };
    Ok(Here { zone, place })
}

/// When timers wait that are not urgent. What can't be read makes none wait.
pub(crate) fn quiet_hours() -> Result<Option<QuietHours>, Error> {
    let hours: String = settings::get("quiet_hours")?;
    match hours.trim() {
        "" => Ok(None),
        text => {
            let hours = QuietHours::parse(text);
            if hours.is_none() {
                log::warn(format!("plugin.timer.quiet_hours is {text:?}, which is not such as \"22:30-07:00\""));
            }
            Ok(hours)
        }
    }
}
