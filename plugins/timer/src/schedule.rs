//! When a timer is due.

use chrono::NaiveDate;
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use homeagent_sdk::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{ToSpan as _, Zoned};
use serde::{Deserialize, Serialize};
use sunrise::{Coordinates, SolarDay, SolarEvent};

/// The shortest interval, in milliseconds.
pub(crate) const SHORTEST: u64 = 60_000;
/// The longest interval, in milliseconds: ten years.
pub(crate) const LONGEST: u64 = 10 * 366 * DAY;
pub(crate) const DAY: u64 = 24 * 3_600_000;
/// The most that a sunrise is shifted by, in minutes.
pub(crate) const LARGEST_SHIFT: i64 = 12 * 60;
/// How many days are looked through for a sunrise.
const DAYS_LOOKED: i64 = 370;

/// What the sun does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sun {
    Sunrise,
    Sunset,
}

/// When a timer is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Schedule {
    /// Once, at this time.
    Once(Timestamp),
    /// Again and again, counted from a moment.
    Every { milliseconds: u64, from: Timestamp },
    /// By a cron expression, in the user's time zone.
    Cron(String),
    /// Each day, so many minutes after the sun does this.
    Sun { event: Sun, minutes: i64 },
}

/// A place on the earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place(Coordinates);

impl Place {
    /// Reads `latitude, longitude`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (latitude, longitude) = text.split_once([',', '，', ' '])?;
        Coordinates::new(latitude.trim().parse().ok()?, longitude.trim().parse().ok()?).map(Self)
    }
}

/// By what schedules are read.
#[derive(Clone, Debug)]
pub(crate) struct Here {
    pub(crate) zone: TimeZone,
    pub(crate) place: Option<Place>,
}

impl Here {
    /// A moment as the user's clock shows it.
    pub(crate) fn zoned(&self, time: Timestamp) -> Zoned {
        let milliseconds = i64::try_from(time).unwrap_or(i64::MAX);
        let moment = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX);
        moment.to_zoned(self.zone.clone())
    }

    /// When the user's clock first shows a time, or has just left it out.
    pub(crate) fn moment(&self, local: DateTime) -> Option<Timestamp> {
        let ambiguous = self.zone.to_ambiguous_zoned(local);
        let is_left_out = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
        let earlier = ambiguous.earlier().ok()?;
        if !is_left_out {
            return Some(timestamp(&earlier));
        }
        let put_ahead = self.zone.following(earlier.timestamp()).next()?.timestamp();
        u64::try_from(put_ahead.as_millisecond()).ok()
    }

    /// A moment in words that `words::parse` reads again.
    pub(crate) fn written(&self, time: Timestamp) -> String {
        let zoned = self.zoned(time);
        let format = if time.is_multiple_of(1_000) { "%Y-%m-%dT%H:%M:%S%:z" } else { "%Y-%m-%dT%H:%M:%S%.3f%:z" };
        zoned.strftime(format).to_string()
    }
}

/// The milliseconds since 1970 of a moment, which is not before.
pub(crate) fn timestamp(zoned: &Zoned) -> Timestamp {
    u64::try_from(zoned.timestamp().as_millisecond()).unwrap_or_default()
}

/// Reads a cron expression of five fields, or of six with seconds before them.
pub(crate) fn cron(expression: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Optional).build();
    parser.parse(expression).map_err(|error| format!("the cron expression {expression:?} can't be read: {error}"))
}

impl Schedule {
    /// The first time it is due after a moment; nothing where there is none.
    pub(crate) fn next(&self, after: Timestamp, here: &Here) -> Result<Option<Timestamp>, String> {
        match self {
            Self::Once(at) => Ok((*at > after).then_some(*at)),
            Self::Every { milliseconds, from } => {
                let passed = after.saturating_sub(*from) / (*milliseconds).max(1);
                Ok(passed.checked_add(1).and_then(|steps| steps.checked_mul(*milliseconds)?.checked_add(*from)))
            }
            // A time that the clock leaves out is the first one behind the gap, one that comes twice is the first of both;
            // what is due each minute or hour goes by the time that passes.
            Self::Cron(expression) => {
                let next = cron(expression)?.find_next_occurrence(&here.zoned(after), false);
                Ok(next.ok().map(|next| timestamp(&next)).filter(|next| *next > after))
            }
            Self::Sun { event, minutes } => match here.place {
                Some(place) => Ok(next_sun(*event, *minutes, after, here, place)),
                None => {
                    Err("the place is not known; the owner sets it: waiter settings set plugin.timer.place \"31.23, 121.47\""
                        .to_owned())
                }
            },
        }
    }

    /// Whether it is due more than once.
    pub(crate) fn repeats(&self) -> bool {
        !matches!(self, Self::Once(_))
    }

    /// In words that `words::parse` reads again.
    pub(crate) fn written(&self, here: &Here) -> String {
        match self {
            Self::Once(at) => here.written(*at),
            Self::Every { milliseconds, .. } => {
                let units = [("day", DAY), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)];
                let fits = |(_, length): &(&str, u64)| milliseconds.is_multiple_of(*length);
                let (unit, length) = units.into_iter().find(fits).unwrap_or(("second", 1_000));
                let count = milliseconds / length;
                format!("every {count} {unit}{}", if count == 1 { "" } else { "s" })
            }
            Self::Cron(expression) => expression.clone(),
            Self::Sun { event, minutes } => {
                let event = if *event == Sun::Sunrise { "sunrise" } else { "sunset" };
                match minutes {
                    0 => format!("every day at {event}"),
                    _ => {
                        let side = if *minutes < 0 { "before" } else { "after" };
                        format!("every day {} minutes {side} {event}", minutes.abs())
                    }
                }
            }
        }
    }
}

fn next_sun(event: Sun, minutes: i64, after: Timestamp, here: &Here, Place(place): Place) -> Option<Timestamp> {
    let event = if event == Sun::Sunrise { SolarEvent::Sunrise } else { SolarEvent::Sunset };
    // The sun's day may begin up to a day before or after the clock's, and it may be shifted by half of one.
    let first = here.zoned(after).date().checked_sub(2.days()).ok()?;
    (0..DAYS_LOOKED).find_map(|days| {
        let date = first.checked_add(days.days()).ok()?;
        let date =
            NaiveDate::from_ymd_opt(date.year().into(), date.month().try_into().ok()?, date.day().try_into().ok()?)?;
        let time = SolarDay::new(place, date).event_time(event)?;
        let time = u64::try_from(time.timestamp().checked_add(minutes * 60)?.checked_mul(1_000)?).ok()?;
        (time > after).then_some(time)
    })
}
