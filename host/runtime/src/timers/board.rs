//! All timers, in the order in which they are due.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use homeagent_settings::TimerRow;
use homeagent_types::Timestamp;

/// How long a plugin whose firing failed is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// What the task that keeps the timers knows. A copy of what is on the disk, changed after it.
#[derive(Default)]
pub(super) struct Board {
    timers: HashMap<i64, TimerRow>,
    by_name: HashMap<(String, String), i64>,
    by_due: BTreeSet<(Timestamp, i64)>,
    /// Plugins that a firing is under way to: one for each at a time.
    firing: HashSet<String>,
    /// Plugins that are left alone until then.
    paused: HashMap<String, Instant>,
    /// What the clock said when it was last looked at.
    seen: Timestamp,
}

/// A timer whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) timer: TimerRow,
    /// Intervals that have passed since, beside the one that is told.
    pub(super) missed: u64,
}

impl Due {
    fn new(timer: TimerRow, now: Timestamp) -> Self {
        let late = now.saturating_sub(timer.due);
        Self { missed: timer.every.map_or(0, |every| late / every.max(1)), timer }
    }

    /// When it is due again, if it is.
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
        self.by_due.insert((timer.due, timer.id));
        self.timers.insert(timer.id, timer);
    }

    pub(super) fn remove(&mut self, plugin: &str, name: &str) {
        if let Some(id) = self.by_name.remove(&(plugin.to_owned(), name.to_owned()))
            && let Some(timer) = self.timers.remove(&id)
        {
            self.by_due.remove(&(timer.due, id));
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

    /// A plugin's timers, by name.
    pub(super) fn of(&self, plugin: &str) -> Vec<TimerRow> {
        let mut own: Vec<_> = self.timers.values().filter(|timer| timer.plugin == plugin).cloned().collect();
        own.sort_by(|a, b| a.name.cmp(&b.name));
        own
    }

    /// Takes what is due of the plugins that can be told, the earliest of each.
    pub(super) fn take_due(&mut self, now: Timestamp, ready: &HashSet<String>) -> Vec<Due> {
        self.look_at_clock(now);
        let monotonic = Instant::now();
        self.paused.retain(|_, until| *until > monotonic);
        let mut taken = Vec::new();
        for (_, id) in self.by_due.range(..=(now, i64::MAX)) {
            let Some(timer) = self.timers.get(id) else { continue };
            let plugin = &timer.plugin;
            if ready.contains(plugin) && !self.paused.contains_key(plugin) && !self.firing.contains(plugin) {
                self.firing.insert(plugin.clone());
                taken.push(Due::new(timer.clone(), now));
            }
        }
        taken
    }

    /// Of a clock that was put back, an interval waits no longer than it is.
    fn look_at_clock(&mut self, now: Timestamp) {
        if now < self.seen {
            let late = self.timers.values().filter_map(|timer| {
                let latest = now.saturating_add(timer.every?);
                (timer.due > latest).then(|| TimerRow { due: latest, ..timer.clone() })
            });
            for timer in late.collect::<Vec<_>>() {
                self.put(timer);
            }
        }
        self.seen = now;
    }

    /// How long nothing more is due.
    pub(super) fn quiet(&self, now: Timestamp) -> Option<Duration> {
        let next = self.by_due.range((now.saturating_add(1), i64::MIN)..).next();
        let next = next.map(|(due, _)| Duration::from_millis(due - now));
        let paused = self.paused.values().map(|until| until.saturating_duration_since(Instant::now()));
        paused.chain(next).min()
    }

    /// A firing is over: the timer, where it is still the same one, is due again or gone.
    pub(super) fn finish(&mut self, due: &Due) {
        self.firing.remove(&due.timer.plugin);
        let Some(timer) = self.timers.get(&due.timer.id).cloned() else { return };
        match due.next() {
            Some(next) => self.put(TimerRow { due: next, attempts: 0, ..timer }),
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
        TimerRow { id, plugin, name, due, every, payload: "null".to_owned(), attempts: 0 }
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
        board.finish(&due[0]);
        assert_eq!(names(&board.take_due(20, &ready(&["a", "b"]))), [1]);
        assert_eq!(board.of("c").len(), 1, "it waits for its plugin");
    }

    #[test]
    fn missed_intervals_are_told_as_one_and_the_next_is_in_the_future() {
        let mut board = Board::new(vec![timer(1, "a", 10, Some(10))]);
        let due = board.take_due(47, &ready(&["a"]));
        assert_eq!((due[0].missed, due[0].next(), due[0].id().as_str()), (3, Some(50), "1-10"));
        board.finish(&due[0]);
        assert_eq!(names(&board.take_due(49, &ready(&["a"]))), [0; 0]);
        assert_eq!(board.quiet(49), Some(Duration::from_millis(1)));
        assert_eq!(board.take_due(50, &ready(&["a"]))[0].missed, 0);
    }

    #[test]
    fn a_clock_that_is_put_back_delays_no_interval_by_more_than_its_length() {
        let mut board = Board::new(vec![timer(1, "a", 1_000_010, Some(10)), timer(2, "b", 1_000_010, None)]);
        assert_eq!(board.take_due(1_000_000, &ready(&["a", "b"])), []);
        assert_eq!(board.take_due(100, &ready(&["a", "b"])), []);
        assert_eq!(names(&board.take_due(110, &ready(&["a", "b"]))), [1]);
    }

    #[test]
    fn what_was_set_anew_while_it_fired_is_not_ended_by_the_end_of_the_firing() {
        let mut board = Board::new(vec![timer(1, "a", 10, None)]);
        let due = board.take_due(10, &ready(&["a"]));
        board.put(TimerRow { id: 2, due: 30, ..timer(1, "a", 10, None) });
        board.finish(&due[0]);
        assert_eq!(names(&board.take_due(30, &ready(&["a"]))), [2]);
    }

    #[test]
    fn a_plugin_whose_firing_failed_is_left_alone_for_a_while_and_others_are_told() {
        let mut board = Board::new(vec![timer(1, "a", 10, None), timer(2, "b", 20, None)]);
        let due = board.take_due(10, &ready(&["a", "b"]));
        board.postpone(&due[0], 1);
        assert_eq!(names(&board.take_due(20, &ready(&["a", "b"]))), [2]);
        assert!(board.quiet(20).is_some_and(|quiet| quiet <= PAUSE));
        assert_eq!(board.of("a")[0].attempts, 1);
    }
}
