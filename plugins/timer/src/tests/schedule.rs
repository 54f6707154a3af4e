use super::{at, here};
use crate::schedule::{Here, Place, Schedule, Sun};

fn firings(schedule: &Schedule, from: &str, how_many: usize, here: &Here) -> Vec<String> {
    let mut last = at(from, here);
    let mut firings = Vec::new();
    for _ in 0..how_many {
        last = schedule.next(last, here).expect("it can be read").expect("there is one more");
        firings.push(here.zoned(last).strftime("%m-%d %H:%M %:z").to_string());
    }
    firings
}

#[test]
fn a_time_that_the_clock_leaves_out_is_the_first_behind_the_gap_and_one_that_comes_twice_is_the_first() {
    let berlin = here("Europe/Berlin");
    let daily = Schedule::Cron("30 2 * * *".to_owned());
    assert_eq!(
        firings(&daily, "2026-03-28 00:00", 3, &berlin),
        ["03-28 02:30 +01:00", "03-29 03:00 +02:00", "03-30 02:30 +02:00"]
    );
    assert_eq!(firings(&daily, "2026-10-24 12:00", 2, &berlin), ["10-25 02:30 +02:00", "10-26 02:30 +01:00"]);
}

#[test]
fn what_is_due_every_half_hour_goes_by_the_time_that_passes() {
    let new_york = here("America/New_York");
    let half_hourly = Schedule::Cron("*/30 * * * *".to_owned());
    assert_eq!(
        firings(&half_hourly, "2026-11-01 00:30", 5, &new_york),
        ["11-01 01:00 -04:00", "11-01 01:30 -04:00", "11-01 01:00 -05:00", "11-01 01:30 -05:00", "11-01 02:00 -05:00"]
    );
    assert_eq!(
        firings(&half_hourly, "2026-03-08 01:00", 3, &new_york),
        ["03-08 01:30 -05:00", "03-08 03:00 -04:00", "03-08 03:30 -04:00"]
    );
}

#[test]
fn nine_in_the_morning_is_nine_in_the_morning_all_year() {
    for zone in ["Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"] {
        let here = here(zone);
        let schedule = Schedule::Cron("0 9 * * *".to_owned());
        let days = firings(&schedule, "2026-01-01 00:00", 365, &here);
        assert!(days.iter().all(|day| day.contains(" 09:00 ")), "{zone}: {days:?}");
        assert_eq!(days.last().map(|day| &day[..5]), Some("12-31"), "{zone}");
    }
}

#[test]
fn an_interval_keeps_its_beat() {
    let here = here("Asia/Shanghai");
    let from = at("2026-11-30 11:00", &here);
    let every = Schedule::Every { milliseconds: 600_000, from };
    assert_eq!(every.next(from, &here), Ok(Some(from + 600_000)));
    assert_eq!(every.next(from + 600_000, &here), Ok(Some(from + 1_200_000)));
    assert_eq!(every.next(from + 601_234, &here), Ok(Some(from + 1_200_000)));
}

#[test]
fn the_sun_rises_each_day_and_where_it_does_not_the_next_time_it_does() {
    let here = here("Asia/Shanghai");
    let sunrise = Schedule::Sun { event: Sun::Sunrise, minutes: 0 };
    let days = firings(&sunrise, "2026-06-01 00:00", 365, &here);
    let dates: std::collections::BTreeSet<&str> = days.iter().map(|day| &day[..5]).collect();
    assert_eq!(dates.len(), 365, "one for each day");
    let arctic = Here { place: Place::parse("78.2, 15.6"), ..super::here("Arctic/Longyearbyen") };
    let next = &firings(&sunrise, "2026-11-30 00:00", 1, &arctic)[0];
    assert!(next.starts_with("02-"), "{next}");
    let nowhere = Here { place: None, ..here };
    assert!(sunrise.next(0, &nowhere).expect_err("nobody knows").contains("plugin.timer.place"));
}
