use homeagent_sdk::Timestamp;

use super::{at, here};
use crate::entry::{Entry, Missed, NEVER, Work};
use crate::firing::{Decision, MOST_RUNS, QuietHours, Run, decide};
use crate::schedule::{Here, Schedule};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn shanghai() -> Here {
    here("Asia/Shanghai")
}

fn entry(schedule: Schedule, next: Timestamp, missed: Missed) -> Entry {
    Entry {
        uid: "u".to_owned(),
        name: "tea".to_owned(),
        by: "cli:me".to_owned(),
        work: Work::Message("drink tea".to_owned()),
        schedule,
        next,
        missed,
        urgent: false,
        to: None,
        paused: false,
    }
}

fn daily(next: &str, missed: Missed) -> Entry {
    entry(Schedule::Cron("0 9 * * *".to_owned()), at(next, &shanghai()), missed)
}

fn when(entry: &Entry, due: Timestamp, now: Timestamp) -> Decision {
    decide(entry, due, now, &shanghai(), None).expect("it can be decided")
}

fn next(decision: &Decision) -> Option<u64> {
    decision.again.as_ref().map(|(due, _)| *due)
}

#[test]
fn what_is_due_once_runs_and_is_over() {
    let once = entry(Schedule::Once(1_000), 1_000, Missed::Once);
    let decision = when(&once, 1_000, 1_003);
    assert_eq!(decision, Decision { runs: vec![Run { time: 1_000, missed: 0 }], again: None });
}

#[test]
fn what_was_missed_is_skipped_or_run_once_or_run_for_each() {
    let here = shanghai();
    let (first, now) = (at("2026-11-01 09:00", &here), at("2026-11-04 12:00", &here));
    let following = at("2026-11-05 09:00", &here);
    let skip = when(&daily("2026-11-01 09:00", Missed::Skip), first, now);
    assert_eq!((skip.runs.len(), next(&skip)), (0, Some(following)));
    let once = when(&daily("2026-11-01 09:00", Missed::Once), first, now);
    assert_eq!((once.runs.as_slice(), next(&once)), (&[Run { time: first, missed: 3 }][..], Some(following)));
    let all = when(&daily("2026-11-01 09:00", Missed::All), first, now);
    let times: Vec<_> = all.runs.iter().map(|run| run.time).collect();
    assert_eq!((times, next(&all)), ((0..4).map(|day| first + day * DAY).collect(), Some(following)));
    // On time, all are alike.
    for missed in [Missed::Skip, Missed::Once, Missed::All] {
        assert_eq!(when(&daily("2026-11-01 09:00", missed), first, first + 40).runs, [Run { time: first, missed: 0 }]);
    }
}

#[test]
fn no_more_than_a_hundred_runs_make_up_for_what_was_missed() {
    let every = entry(Schedule::Every { milliseconds: 60_000, from: 0 }, 60_000, Missed::All);
    let decision = when(&every, 60_000, DAY);
    assert_eq!(decision.runs.len(), MOST_RUNS);
    assert_eq!(decision.runs.last(), Some(&Run { time: 100 * 60_000, missed: 24 * 60 - 100 }));
    assert_eq!(next(&decision), Some(DAY + 60_000));
}

#[test]
fn a_clock_that_is_put_ahead_gives_one_run_and_one_that_is_put_back_holds_up_no_schedule() {
    let every = entry(Schedule::Every { milliseconds: 600_000, from: 0 }, DAY, Missed::Once);
    let ahead = when(&every, DAY, 400 * DAY);
    assert_eq!(ahead.runs.len(), 1);
    let (_, entry) = ahead.again.expect("it repeats");
    assert_eq!(entry.next, 400 * DAY + 600_000);
    // The host tells of it at once when the clock is put back.
    let back = when(&entry, DAY + 5, DAY + 5);
    assert_eq!((back.runs.len(), next(&back)), (0, Some(DAY + 5 + 600_000)));
    let (_, entry) = back.again.expect("it repeats");
    assert_eq!(when(&entry, entry.next, entry.next).runs, [Run { time: entry.next, missed: 0 }]);
}

#[test]
fn a_calendar_goes_by_the_date_after_the_clock_was_put_back_and_claims_the_same_times() {
    let here = shanghai();
    let entry = daily("2026-12-26 09:00", Missed::Once);
    let now = at("2026-11-30 11:00", &here);
    let back = when(&entry, now, now);
    assert_eq!((back.runs.len(), next(&back)), (0, Some(at("2026-12-01 09:00", &here))));
    let (due, entry) = back.again.expect("it repeats");
    let run = &when(&entry, due, due).runs[0];
    assert_eq!(entry.claim(run.time), format!("u@{due}"));
    // What is due once waits for its time.
    let once = self::entry(Schedule::Once(now + DAY), now + DAY, Missed::Once);
    assert_eq!(next(&when(&once, now, now)), Some(now + DAY));
}

#[test]
fn in_quiet_hours_a_timer_waits_for_their_end_and_an_urgent_one_does_not() {
    let here = shanghai();
    let quiet = QuietHours::parse("22:30-07:00").expect("hours");
    let due = at("2026-11-30 23:00", &here);
    let entry = entry(Schedule::Once(due), due, Missed::Skip);
    let decide = |entry: &Entry, now| decide(entry, due, now, &here, Some(quiet)).expect("it can be decided");
    let end = at("2026-12-01 07:00", &here);
    let waits = decide(&entry, due);
    assert_eq!(waits, Decision { runs: Vec::new(), again: Some((end, entry.clone())) });
    assert_eq!(next(&decide(&entry, at("2026-12-01 06:59", &here))), Some(end));
    let runs = super::super::firing::decide(&entry, end, end, &here, Some(quiet)).expect("it can be decided").runs;
    assert_eq!(runs, [Run { time: due, missed: 0 }], "it is not taken for one that was missed");
    assert_eq!(decide(&Entry { urgent: true, ..entry.clone() }, due).runs.len(), 1);
    let before = at("2026-11-30 21:00", &here);
    let missed = Entry { next: before, ..entry };
    let skipped = super::super::firing::decide(&missed, before, due, &here, Some(quiet)).expect("it can be decided");
    assert_eq!(skipped, Decision { runs: Vec::new(), again: None }, "it was due before they began");
    assert_eq!(QuietHours::parse("22:30-24:00"), QuietHours::parse("22:30-0:00"));
    for text in ["", "22:30", "22:30-22:30", "25:00-07:00", "x-y"] {
        assert_eq!(QuietHours::parse(text), None, "{text}");
    }
}

#[test]
fn a_run_that_was_told_before_the_times_it_stands_for_leaves_them_to_the_next() {
    let here = shanghai();
    let entry = daily("2026-11-01 09:00", Missed::Once);
    let now = at("2026-11-04 10:00", &here);
    let decision = when(&entry, entry.next, now);
    let run = &decision.runs[0];
    assert_eq!(run, &Run { time: entry.next, missed: 3 });
    let rest = run.rest(&entry, &here).expect("the schedule goes on").expect("there is more");
    assert_eq!(rest, Run { time: at("2026-11-02 09:00", &here), missed: 2 });
    let last = Run { time: at("2026-11-04 09:00", &here), missed: 0 };
    assert_eq!(last.rest(&entry, &here), Ok(None));
}

#[test]
fn a_paused_timer_does_nothing() {
    let paused = Entry { paused: true, ..daily("2026-11-01 09:00", Missed::All) };
    let decision = when(&paused, NEVER, NEVER);
    assert_eq!((decision.runs.len(), next(&decision)), (0, Some(NEVER)));
}
