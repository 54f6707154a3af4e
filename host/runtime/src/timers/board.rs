//! All timers, in the order in which they are due.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use homeagent_settings::TimerRow;
use homeagent_types::Timestamp;

/// How long a plugin whose firing failed is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// A clock that is put back by more than this, in milliseconds, has calendars looked at anew.
const SETBACK: u64 = 60_000;

/// What the task that keeps the timers knows. A copy of what is on the disk.
#[derive(Default)]
pub(super) struct Board {
    timers: HashMap<i64, TimerRow>,
    by_name: HashMap<(String, String), i64>,
    /// Of each plugin, so that the many of one that can't be told hold up no other's.
    by_due: HashMap<String, BTreeSet<(Timestamp, i64)>>,
    /// Plugins that a firing is under way to: one for each at a time.
    firing: HashSet<String>,
    /// Plugins that are left alone until then.
    paused: HashMap<String, Instant>,
    /// What the clock said when it was last looked at; nothing since the start.
    seen: Option<Timestamp>,
}

/// A timer whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) timer: TimerRow,
    /// Intervals that have passed since, beside the one that is told.
    pub(super) missed: u64,
    /// What the clock said.
    pub(super) now: Timestamp,
}

impl Due {
    fn new(timer: TimerRow, now: Timestamp) -> Self {
        let late = now.saturating_sub(timer.due);
        Self { missed: timer.every.map_or(0, |every| late / every.max(1)), timer, now }
    }

    /// When it is due again by its interval, if it has one.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let intervals = self.missed.saturating_add(1);
        self.timer.every.map(|every| self.timer.due.saturating_add(every.saturating_mul(intervals)))
    }

    /// What tells this firing from all others.
    pub(super) fn id(&self) -> String {
        format!("{}-{}", self.timer.id, self.timer.due)
    }
}

impl Board {
    pub(super) fn new(timers: Vec<TimerRow>) -> Self {
        let mut board = Self::default();
        timers.into_iter().for_each(|timer| board.put(timer));
        board
    }

    pub(super) fn put(&mut self, timer: TimerRow) {
        self.remove(&timer.plugin, &timer.name);
        self.by_name.insert((timer.plugin.clone(), timer.name.clone()), timer.id);
        self.by_due.entry(timer.plugin.clone()).or_default().insert((timer.due, timer.id));
        self.timers.insert(timer.id, timer);
    }

    pub(super) fn remove(&mut self, plugin: &str, name: &str) {
        if let Some(id) = self.by_name.remove(&(plugin.to_owned(), name.to_owned()))
            && let Some(timer) = self.timers.remove(&id)
            && let Some(due) = self.by_due.get_mut(plugin)
        {
            due.remove(&(timer.due, id));
            if due.is_empty() {
                self.by_due.remove(plugin);
            }
        }
    }

    pub(super) fn forget(&mut self, plugin: &str) {
        let of_authors = format!("{plugin}@");
        let own = |of: &str| of == plugin || of.starts_with(&of_authors);
        let gone: Vec<_> = self.timers.values().filter(|timer| own(&timer.plugin)).cloned().collect();
        for timer in gone {
            self.remove(&timer.plugin, &timer.name);
        }
        self.paused.retain(|of, _| !own(of));
    }

    /// A plugin's timer.
    pub(super) fn get(&self, plugin: &str, name: &str) -> Option<&TimerRow> {
        let id = self.by_name.get(&(plugin.to_owned(), name.to_owned()))?;
        self.timers.get(id)
    }

    /// A plugin's timers, by name.
    pub(super) fn of(&self, plugin: &str) -> Vec<TimerRow> {
        let own = self.by_due.get(plugin).into_iter().flatten();
        let mut own: Vec<_> = own.filter_map(|(_, id)| self.timers.get(id)).cloned().collect();
        own.sort_by(|a, b| a.name.cmp(&b.name));
        own
    }

    /// Takes what is due of the plugins that can be told, the earliest of each.
    pub(super) fn take_due(&mut self, now: Timestamp, ready: &HashSet<String>) -> Vec<Due> {
        self.look_at_clock(now);
        let monotonic = Instant::now();
        self.paused.retain(|_, until| *until > monotonic);
        let mut taken = Vec::new();
        for plugin in ready.iter().filter(|plugin| self.is_free(plugin)) {
            let first = self.by_due.get(plugin).and_then(BTreeSet::first).filter(|(due, _)| *due <= now);
            if let Some(timer) = first.and_then(|(_, id)| self.timers.get(id)) {
                taken.push(Due::new(timer.clone(), now));
            }
        }
        self.firing.extend(taken.iter().map(|due| due.timer.plugin.clone()));
        taken.sort_by_key(|due| (due.timer.due, due.timer.id));
        taken
    }

    /// Whether a plugin may be told of a firing now.
    fn is_free(&self, plugin: &str) -> bool {
        !self.firing.contains(plugin) && !self.paused.contains_key(plugin)
    }

    /// Of a clock that was put back, an interval waits no longer than it is, and a calendar is looked at anew.
    fn look_at_clock(&mut self, now: Timestamp) {
        // Before the start it may have been anywhere. An interval shows that by itself; a calendar's plugin would have to be
        // asked of each timer, at every start.
        if self.seen.is_none_or(|seen| now < seen) {
            let set_back = self.seen.is_some_and(|seen| seen - now > SETBACK);
            let late = self.timers.values().filter_map(|timer| {
                let latest = match timer.every {
                    Some(every) => now.saturating_add(every),
                    None if timer.calendar && set_back => now,
                    None => return None,
                };
                (timer.due > latest).then(|| TimerRow { due: latest, ..timer.clone() })
            });
            for timer in late.collect::<Vec<_>>() {
                self.put(timer);
            }
        }
        self.seen = Some(now);
    }

    /// How long nothing more is due of the plugins that can be told, unless something changes.
    pub(super) fn quiet(&self, now: Timestamp, ready: &HashSet<String>) -> Option<Duration> {
        let free = ready.iter().filter(|plugin| self.is_free(plugin));
        let next = free.filter_map(|plugin| self.by_due.get(plugin)?.first());
        let next = next.map(|(due, _)| Duration::from_millis(due.saturating_sub(now))).min();
        let paused = self.paused.values().map(|until| until.saturating_duration_since(Instant::now()));
        paused.chain(next).min()
    }

    /// A firing is over: the timer, where it is still the same one, is due again or gone.
    pub(super) fn finish(&mut self, due: &Due, next: Option<Timestamp>, payload: Option<String>) {
        self.firing.remove(&due.timer.plugin);
        let Some(timer) = self.timers.get(&due.timer.id).cloned() else { return };
        match next {
            Some(next) => {
                let payload = payload.unwrap_or_else(|| timer.payload.clone());
                self.put(TimerRow { due: next, attempts: 0, payload, ..timer });
            }
            None => self.remove(&timer.plugin, &timer.name),
        }
    }

    /// A firing failed and is to come again.
    pub(super) fn postpone(&mut self, due: &Due, attempts: u32) {
        self.firing.remove(&due.timer.plugin);
        self.paused.insert(due.timer.plugin.clone(), Instant::now() + PAUSE);
        if let Some(timer) = self.timers.get_mut(&due.timer.id) {
            timer.attempts = attempts;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(id: i64, plugin: &str, due: Timestamp, every: Option<u64>) -> TimerRow {
        let (plugin, name) = (plugin.to_owned(), format!("t{id}"));
        TimerRow {
            id,
            plugin,
            name,
            due,
            every,
            calendar: false,
            payload: "null".to_owned(),
            creator: None,
            attempts: 0,
        }
    }

    fn names(due: &[Due]) -> Vec<i64> {
        due.iter().map(|due| due.timer.id).collect()
    }

    fn ready(plugins: &[&str]) -> HashSet<String> {
        plugins.iter().map(|&plugin| plugin.to_owned()).collect()
    }

    #[test]
    fn each_plugin_is_told_one_at_a_time_in_the_order_in_which_they_are_due() {
        let mut board = Board::new(vec![
            timer(1, "a", 20, None),
            timer(2, "a", 10, None),
            timer(3, "b", 15, None),
            timer(4, "c", 5, None),
        ]);
        let due = board.take_due(20, &ready(&["a", "b"]));
        assert_eq!(names(&due), [2, 3]);
        assert_eq!(names(&board.take_due(20, &ready(&["a", "b"]))), [0; 0]);
        board.finish(&due[0], due[0].next(), None);
        assert_eq!(names(&board.take_due(20, &ready(&["a", "b"]))), [1]);
        assert_eq!(board.of("c").len(), 1, "it waits for its plugin");
    }

    #[test]
    fn missed_intervals_are_told_as_one_and_the_next_is_in_the_future() {
        let mut board = Board::new(vec![timer(1, "a", 10, Some(10))]);
        let due = board.take_due(47, &ready(&["a"]));
        assert_eq!((due[0].missed, due[0].next(), due[0].id().as_str()), (3, Some(50), "1-10"));
        board.finish(&due[0], due[0].next(), None);
        assert_eq!(names(&board.take_due(49, &ready(&["a"]))), [0; 0]);
        assert_eq!(board.quiet(49, &ready(&["a"])), Some(Duration::from_millis(1)));
        assert_eq!(board.take_due(50, &ready(&["a"]))[0].missed, 0);
    }

    #[test]
    fn a_clock_that_is_put_back_delays_no_interval_by_more_than_its_length() {
        let mut board = Board::new(vec![timer(1, "a", 1_000_010, Some(10)), timer(2, "b", 1_000_010, None)]);
        assert_eq!(board.take_due(1_000_000, &ready(&["a", "b"])), []);
        assert_eq!(board.take_due(100, &ready(&["a", "b"])), []);
        assert_eq!(names(&board.take_due(110, &ready(&["a", "b"]))), [1]);
        // It was put back while nothing ran.
        let mut board = Board::new(vec![timer(1, "a", 1_000_010, Some(10))]);
        assert_eq!(board.take_due(100, &ready(&["a"])), []);
        assert_eq!(names(&board.take_due(110, &ready(&["a"]))), [1]);
    }

    #[test]
    fn what_was_set_anew_while_it_fired_is_not_ended_by_the_end_of_the_firing() {
        let mut board = Board::new(vec![timer(1, "a", 10, None)]);
        let due = board.take_due(10, &ready(&["a"]));
        board.put(TimerRow { id: 2, due: 30, ..timer(1, "a", 10, None) });
        board.finish(&due[0], due[0].next(), None);
        assert_eq!(names(&board.take_due(30, &ready(&["a"]))), [2]);
    }

    #[test]
    fn a_plugin_whose_firing_failed_is_left_alone_for_a_while_and_others_are_told() {
        let mut board = Board::new(vec![timer(1, "a", 10, None), timer(2, "b", 20, None)]);
        let due = board.take_due(10, &ready(&["a", "b"]));
        board.postpone(&due[0], 1);
        assert_eq!(names(&board.take_due(20, &ready(&["a", "b"]))), [2]);
        assert!(board.quiet(20, &ready(&["a"])).is_some_and(|quiet| quiet <= PAUSE));
        assert_eq!(board.of("a")[0].attempts, 1);
    }

    #[test]
    fn a_calendar_is_looked_at_anew_when_the_clock_was_put_back_by_more_than_a_minute() {
        let calendar = TimerRow { calendar: true, ..timer(1, "a", 9_000_000, None) };
        let mut board = Board::new(vec![calendar, timer(2, "b", 9_000_000, None)]);
        let both = ready(&["a", "b"]);
        assert_eq!(board.take_due(8_000_000, &both), []);
        assert_eq!(board.take_due(7_950_000, &both), [], "a minute is no matter");
        let due = board.take_due(7_000_000, &both);
        assert_eq!((names(&due), due[0].now), (vec![1], 7_000_000));
        board.finish(&due[0], Some(7_500_000), Some("1".to_owned()));
        assert_eq!(board.of("a")[0].payload, "1");
        assert_eq!(names(&board.take_due(7_500_000, &both)), [1]);
    }

    #[test]
    fn ten_thousand_that_wait_for_their_plugin_hold_up_no_other() {
        let waiting = (0..10_000).map(|id| timer(id, "a", 10, None));
        let mut board = Board::new(waiting.chain([timer(20_000, "b", 11, None)]).collect());
        assert_eq!(names(&board.take_due(11, &ready(&["b"]))), [20_000]);
        assert_eq!(board.quiet(11, &ready(&["b"])), None);
    }
}
