//! Whose days are meant.

use homeagent_settings::Settings;
use jiff::tz::TimeZone;

/// The owner's time zone: as the setting `core.agent.time_zone` says, else that of this machine.
#[must_use]
pub fn zone(settings: &Settings) -> TimeZone {
    let name = settings.text("core.agent.time_zone").unwrap_or_default();
    if name.is_empty() { TimeZone::system() } else { TimeZone::get(&name).unwrap_or_else(|_| TimeZone::system()) }
}
