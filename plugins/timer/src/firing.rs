//! What is done when the host tells of a timer. Decided without the host, from what it said and what the clock says.

use homeagent_sdk::Timestamp;
use jiff::civil::Time;

use crate::entry::{Entry, Missed};
use crate::schedule::{Here, Schedule};

/// Later than this, in milliseconds, a time was missed.
const GRACE: u64 = 60_000;
/// The most runs that one firing makes up for.
pub(crate) const MOST_RUNS: usize = 100;
/// As many missed times are counted; more are "more than".
const MOST_COUNTED: u64 = 1_000;

/// The hours in which timers wait that are not urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuietHours {
    from: Time,
    to: Time,
}

impl QuietHours {
    /// Reads `22:30-07:00`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.replace('：', ":");
        let (from, to) = text.split_once(['-', '–', '—', '~', '～'])?;
        let time = |text: &str| {
            let (hour, minute) = match text.trim() {
                "24:00" => ("0", "00"),
                time => time.split_once(':')?,
            };
            Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
        };
        let (from, to) = (time(from)?, time(to)?);
        (from != to).then_some(Self { from, to })
    }

    /// When the quiet hours end that a moment lies in; nothing where it lies in none.
    fn end(self, now: Timestamp, here: &Here) -> Option<Timestamp> {
        let local = here.zoned(now);
        let time = local.time();
        let overnight = self.from > self.to;
        let quiet = if overnight { time >= self.from || time < self.to } else { time >= self.from && time < self.to };
        let date = if overnight && time >= self.from { local.date().tomorrow().ok()? } else { local.date() };
        let end = here.moment(date.to_datetime(self.to))?;
        // Where the clock is put back the end may seem to have passed.
        (quiet && end > now).then_some(end)
    }
}

/// A run of a timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The time it is for.
    pub(crate) time: Timestamp,
    /// Other times that it stands for, too.
    pub(crate) missed: u64,
}

impl Run {
    /// What is left of a run that stands for others, when the one of its own time was told before them.
    pub(crate) fn rest(&self, entry: &Entry, here: &Here) -> Result<Option<Self>, String> {
        let Some(missed) = self.missed.checked_sub(1) else { return Ok(None) };
        Ok(entry.schedule.next(self.time, here)?.map(|time| Self { time, missed }))
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// In order.
    pub(crate) runs: Vec<Run>,
    /// When the host is to tell of it again, and what it is then; nothing: it is over.
    pub(crate) again: Option<(Timestamp, Entry)>,
}

/// Decides. `due`: when the host was to tell of it.
pub(crate) fn decide(
    entry: &Entry,
    due: Timestamp,
    now: Timestamp,
    here: &Here,
    quiet: Option<QuietHours>,
) -> Result<Decision, String> {
    let wait = |at: Timestamp, entry: Entry| Decision { runs: Vec::new(), again: Some((at, entry)) };
    if entry.paused {
        return Ok(wait(entry.due(), entry.clone()));
    }
    if now < entry.next {
        // The clock was put back.
        let entry = reset(entry, now, here)?;
        return Ok(wait(entry.next, entry));
    }
    let quiet = quiet.filter(|_| !entry.urgent);
    let quiet_end = |time| quiet.and_then(|quiet| quiet.end(time, here));
    let was_missed = now.saturating_sub(due) > GRACE;
    // What was due before the quiet hours and is skipped, is over; what is due in them waits, however late it is told.
    let is_over = was_missed && entry.missed == Missed::Skip && quiet_end(due).is_none();
    if let Some(end) = quiet_end(now).filter(|_| !is_over) {
        return Ok(wait(end, entry.clone()));
    }
    let runs = match entry.missed {
        Missed::Skip if was_missed => Vec::new(),
        Missed::All => each(entry, now, here)?,
        Missed::Skip | Missed::Once => {
            vec![Run { time: entry.next, missed: counted(entry, entry.next, now, here)? }]
        }
    };
    let again = match entry.schedule.repeats() {
        true => entry.schedule.next(now, here)?.map(|next| (next, Entry { next, ..entry.clone() })),
        false => None,
    };
    Ok(Decision { runs, again })
}

/// The timer after the clock was put back: it waits no longer than its schedule says from now on.
fn reset(entry: &Entry, now: Timestamp, here: &Here) -> Result<Entry, String> {
    let schedule = match &entry.schedule {
        // Counted anew: the times of before have been used.
        Schedule::Every { milliseconds, .. } if entry.next > now.saturating_add(*milliseconds) => {
            Schedule::Every { milliseconds: *milliseconds, from: now }
        }
        other => other.clone(),
    };
    let next = match &schedule {
        Schedule::Every { from, .. } if *from > now => entry.next,
        _ => schedule.next(now, here)?.unwrap_or(entry.next),
    };
    Ok(Entry { schedule, next: next.min(entry.next), ..entry.clone() })
}

/// A run for each time up to now, at most so many; the last says how many it stands for.
fn each(entry: &Entry, now: Timestamp, here: &Here) -> Result<Vec<Run>, String> {
    let mut runs = vec![Run { time: entry.next, missed: 0 }];
    let mut last = entry.next;
    while runs.len() < MOST_RUNS && entry.schedule.repeats() {
        match entry.schedule.next(last, here)? {
            Some(time) if time <= now => {
                runs.push(Run { time, missed: 0 });
                last = time;
            }
            _ => return Ok(runs),
        }
    }
    if let Some(run) = runs.last_mut().filter(|_| entry.schedule.repeats()) {
        run.missed = counted(entry, last, now, here)?;
    }
    Ok(runs)
}

/// How many times there are after one, up to now.
fn counted(entry: &Entry, after: Timestamp, now: Timestamp, here: &Here) -> Result<u64, String> {
    if let Schedule::Every { milliseconds, .. } = entry.schedule {
        return Ok(now.saturating_sub(after) / milliseconds.max(1));
    }
    let (mut count, mut last) = (0, after);
    while count < MOST_COUNTED && entry.schedule.repeats() {
        match entry.schedule.next(last, here)? {
            Some(time) if time <= now => (count, last) = (count + 1, time),
            _ => break,
        }
    }
    Ok(count)
}
