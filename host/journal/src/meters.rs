//! What the journal counts.

use std::time::Duration;

use metrics::{Counter, Histogram, counter, describe_counter, describe_histogram, histogram};

const COMMITS: &str = "homeagent_journal_commits_total";
const COMMIT_DURATION: &str = "homeagent_journal_commit_duration_seconds";
const EVENTS: &str = "homeagent_journal_events_total";

/// Says what each of the journal's metrics means.
pub fn describe() {
    describe_counter!(COMMITS, "Transactions of the journal, by outcome");
    describe_histogram!(COMMIT_DURATION, "How long the journal's transactions took, until they were on the disk");
    describe_counter!(EVENTS, "Events that were put into the journal");
}

/// The counters of the writing thread, looked up once.
pub(crate) struct Meters {
    done: Counter,
    failed: Counter,
    duration: Histogram,
    events: Counter,
}

impl Meters {
    pub(crate) fn new() -> Self {
        Self {
            done: counter!(COMMITS, "outcome" => "done"),
            failed: counter!(COMMITS, "outcome" => "failed"),
            duration: histogram!(COMMIT_DURATION),
            events: counter!(EVENTS),
        }
    }

    /// A transaction has ended.
    pub(crate) fn commit(&self, done: bool, took: Duration) {
        if done { &self.done } else { &self.failed }.increment(1);
        self.duration.record(took);
    }

    /// So many further events are on the disk.
    pub(crate) fn events(&self, further: i64) {
        self.events.increment(u64::try_from(further).unwrap_or(0));
    }
}
