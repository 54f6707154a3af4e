//! What is counted of model calls.

use std::time::Instant;

use homeagent_types::model::{AssistantAnswer, FailureClass};
use metrics::{Histogram, counter, describe_counter, describe_histogram, histogram};

const CALLS: &str = "homeagent_model_calls_total";
const FAILURES: &str = "homeagent_model_failures_total";
const DURATION: &str = "homeagent_model_call_duration_seconds";
const FIRST_PIECE: &str = "homeagent_model_first_piece_seconds";
const TOKENS: &str = "homeagent_model_tokens_total";

/// Says what each of the metrics about models means, and begins those at zero whose labels are known.
pub fn describe() {
    describe_counter!(CALLS, "Calls of model sources, by source and outcome");
    describe_counter!(FAILURES, "Calls of model sources that failed, by the class of the failure");
    describe_histogram!(DURATION, "How long calls of model sources took, whatever they came to");
    describe_histogram!(FIRST_PIECE, "How long model sources took until the first piece of their answer");
    describe_counter!(TOKENS, "Tokens as the vendors counted them, by source and direction");
    for class in FailureClass::ALL {
        counter!(FAILURES, "class" => class.as_str()).increment(0);
    }
}

/// A call of a source under way. Dropped before its end, it counts as cancelled.
pub(crate) struct ModelCall {
    source: String,
    begun: Instant,
    outcome: &'static str,
}

impl ModelCall {
    pub(crate) fn begin(source: &str) -> Self {
        Self { source: source.to_owned(), begun: Instant::now(), outcome: "cancelled" }
    }

    /// Measures how long the first piece takes from the call's beginning.
    pub(crate) fn first_piece(&self) -> FirstPiece {
        FirstPiece { begun: self.begun, takes: histogram!(FIRST_PIECE, "source" => self.source.clone()) }
    }

    /// The call has come to its end.
    pub(crate) fn end(mut self, answer: &AssistantAnswer) {
        self.outcome = "answered";
        if let Some(failure) = &answer.error {
            self.outcome = "failed";
            counter!(FAILURES, "class" => failure.class.as_str()).increment(1);
        }
        let usage = answer.usage.unwrap_or_default();
        for (direction, tokens) in [("input", usage.input), ("output", usage.output)] {
            counter!(TOKENS, "source" => self.source.clone(), "direction" => direction).increment(tokens);
        }
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        let source = std::mem::take(&mut self.source);
        histogram!(DURATION, "source" => source.clone()).record(self.begun.elapsed());
        counter!(CALLS, "source" => source, "outcome" => self.outcome).increment(1);
    }
}

/// See [`ModelCall::first_piece`].
pub(crate) struct FirstPiece {
    begun: Instant,
    takes: Histogram,
}

impl FirstPiece {
    /// It is there.
    pub(crate) fn arrived(self) {
        self.takes.record(self.begun.elapsed());
    }
}
