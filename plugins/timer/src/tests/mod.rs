//! What is understood, when it is due, and what is done then.

mod firing;
mod schedule;
mod words;

use homeagent_sdk::Timestamp;
use jiff::tz::TimeZone;

use crate::schedule::{Here, Place, timestamp};

pub(crate) fn here(zone: &str) -> Here {
    Here { zone: TimeZone::get(zone).expect("a zone"), place: Place::parse("31.23, 121.47") }
}

/// A moment of the user's clock, such as `2026-12-01 09:00`.
pub(crate) fn at(text: &str, here: &Here) -> Timestamp {
    let local: jiff::civil::DateTime = text.parse().expect("a time");
    timestamp(&local.to_zoned(here.zone.clone()).expect("it exists"))
}
