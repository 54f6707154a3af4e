//! The daemon's answers as people read them. Each function takes the JSON and gives the whole text.

pub(crate) mod bindings;
pub(crate) mod costs;
pub(crate) mod embedders;
pub(crate) mod knowledge;
pub(crate) mod media;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod offers;
pub(crate) mod plugins;
pub(crate) mod questions;
pub(crate) mod runs;
pub(crate) mod settings;
pub(crate) mod sources;
pub(crate) mod status;
pub(crate) mod timers;
pub(crate) mod tools;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How long something took or lasts, in at most two units.
fn span(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A moment by the clock of `zone`.
fn moment(milliseconds: i64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_millisecond(milliseconds) {
        Ok(timestamp) => timestamp.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => milliseconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_at_most_two_units() {
        let shown: Vec<String> = [5, 1_250, 61_000, 7_260_000, 90_000_000].into_iter().map(span).collect();
        assert_eq!(shown, ["5 ms", "1.2 s", "1 min 1 s", "2 h 1 min", "1 d 1 h"]);
    }
}
