//! What the runtime counts.

use homeagent_types::CallError;
use metrics::{Counter, counter, describe_counter};

const CALLS: &str = "homeagent_plugin_calls_total";
const RESTARTS: &str = "homeagent_plugin_restarts_total";
const SWAPS: &str = "homeagent_plugin_swaps_total";
const TRAPS: &str = "homeagent_plugin_traps_total";

/// Says what each of the runtime's metrics means.
pub fn describe() {
    describe_counter!(CALLS, "Calls into plugins and adapters, by plugin and outcome");
    describe_counter!(RESTARTS, "Restarts of plugins whose instance failed, by plugin");
    describe_counter!(SWAPS, "Replacements of plugins by what was loaded anew, by plugin and outcome");
    describe_counter!(TRAPS, "Traps that ended an instance of a plugin, by plugin");
}

/// The counters of one slot or adapter, looked up once: a call may be as short as a piece of an answer.
pub(crate) struct SlotMeters {
    plugin: String,
    answered: Counter,
    restarts: Counter,
    traps: Counter,
    swaps: Counter,
    swaps_refused: Counter,
}

impl SlotMeters {
    pub(crate) fn new(plugin: &str) -> Self {
        let plugin = plugin.to_owned();
        Self {
            answered: counter!(CALLS, "plugin" => plugin.clone(), "outcome" => "answered"),
            restarts: counter!(RESTARTS, "plugin" => plugin.clone()),
            traps: counter!(TRAPS, "plugin" => plugin.clone()),
            swaps: counter!(SWAPS, "plugin" => plugin.clone(), "outcome" => "done"),
            swaps_refused: counter!(SWAPS, "plugin" => plugin.clone(), "outcome" => "refused"),
            plugin,
        }
    }

    /// A call has been answered, or has failed with this error.
    pub(crate) fn called(&self, error: Option<&CallError>) {
        match error {
            None => self.answered.increment(1),
            Some(error) => {
                counter!(CALLS, "plugin" => self.plugin.clone(), "outcome" => error.code()).increment(1);
            }
        }
    }

    /// The instance failed and is started again.
    pub(crate) fn restarted(&self) {
        self.restarts.increment(1);
    }

    /// An instance was ended by a trap.
    pub(crate) fn trapped(&self) {
        self.traps.increment(1);
    }

    /// New code was put in the place of the old, or was refused.
    pub(crate) fn swapped(&self, done: bool) {
        if done { &self.swaps } else { &self.swaps_refused }.increment(1);
    }
}
