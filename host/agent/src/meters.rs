//! What the agent counts.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_histogram, histogram};

const TURNS: &str = "homeagent_turns_total";
const TURN_DURATION: &str = "homeagent_turn_duration_seconds";
const TOOL_CALLS: &str = "homeagent_tool_calls_total";

/// Says what each of the agent's metrics means, and begins the usual ones at zero.
pub fn describe() {
    describe_counter!(TURNS, "Turns that ended, by why they ended");
    describe_histogram!(TURN_DURATION, "How long turns took, from their beginning to their last output");
    describe_counter!(TOOL_CALLS, "Calls of tools that came to an end, by outcome");
    for finish in ["stop", "stopped", "failed", "timeout"] {
        counter!(TURNS, "finish" => finish).increment(0);
    }
    for outcome in ["answered", "failed", "refused", "timeout"] {
        counter!(TOOL_CALLS, "outcome" => outcome).increment(0);
    }
}

/// A turn has ended; `finish` is that of its result.
pub(crate) fn turn_ended(finish: &str, took: Duration) {
    counter!(TURNS, "finish" => finish.to_owned()).increment(1);
    histogram!(TURN_DURATION).record(took);
}

/// A call of a tool has come to its end.
pub(crate) fn tool_called(outcome: &'static str) {
    counter!(TOOL_CALLS, "outcome" => outcome).increment(1);
}
