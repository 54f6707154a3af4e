//! Reading answers with a script's functions.

use std::rc::Rc;

use homeagent_sdk::Error;
use homeagent_sdk::adapter::{Delta, FailureClass, FinishReason, HttpResponse, StreamEvent};
use homeagent_sdk::script::Interpreter;
use serde_json::Value;

use super::{called, deltas, failure, records};
use crate::errors;
use crate::reader::Answer;

/// What a script makes of an answer; that it could not be loaded is the answer's failure.
pub(super) fn at_once<I>(script: Result<Rc<I>, Error>, read: impl FnOnce(&I) -> Vec<Delta>) -> Vec<Delta> {
    match script {
        Ok(script) => read(&script),
        Err(error) => vec![Delta::Error(failure(&error))],
    }
}

/// Reads the next events of a stream. Each is a call of its own, so where a batch ends makes no difference.
pub(super) fn step<I: Interpreter>(script: &I, answer: &mut Answer, events: &[StreamEvent]) -> Vec<Delta> {
    for event in events {
        one(script, answer, event);
    }
    answer.take()
}

fn one<I: Interpreter>(script: &I, answer: &mut Answer, event: &StreamEvent) {
    let data = event.data.trim();
    if answer.is_over() || data.is_empty() {
        return;
    }
    if data == "[DONE]" {
        if !answer.is_finished() {
            answer.finish(FinishReason::Stop);
        }
        return answer.close();
    }
    let value = serde_json::from_str::<Value>(data);
    if event.event == "error" {
        return answer.error(&errors::force(&value.unwrap_or_else(|_| data.into())));
    }
    if let Err(error) = &value
        && data.starts_with(['{', '['])
    {
        return answer.fail(FailureClass::Protocol, format!("an event of the stream is not JSON: {error}"));
    }
    take(script, answer, "transform_stream_chunk", records::event(event, value.ok()));
}

/// Reads a whole answer.
pub(super) fn whole<I: Interpreter>(script: &I, answer: &mut Answer, response: &HttpResponse) -> Vec<Delta> {
    if take(script, answer, "transform_response", records::response(response)) == Taken::Missing {
        answer.fail(FailureClass::Protocol, "the script has no `transform_response`: it reads streams only");
    }
    answer.take()
}

/// The stream has ended.
pub(super) fn end<I: Interpreter>(script: &I, answer: &mut Answer) -> Vec<Delta> {
    if !answer.is_over() {
        take(script, answer, "end_of_stream", Value::Null);
    }
    answer.take()
}

#[derive(PartialEq, Eq)]
enum Taken {
    Returned,
    Missing,
}

/// Calls a function of the script and puts what it returns to the answer; what it raises ends the answer.
fn take<I: Interpreter>(script: &I, answer: &mut Answer, function: &'static str, argument: Value) -> Taken {
    let outcome = match called(script, function, argument) {
        Ok(None) => return Taken::Missing,
        Ok(Some(returned)) => deltas::put(function, returned, answer),
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        answer.fail(FailureClass::Protocol, error.message());
    }
    Taken::Returned
}

/// Reads one answer with a script that runs natively: for the tests of interpreters and of adapters that are scripts.
pub struct ScriptReader<'a, I> {
    script: &'a I,
    answer: Answer,
}

impl<'a, I: Interpreter> ScriptReader<'a, I> {
    /// A reader for one answer. The script has to be one that has read none before.
    pub fn new(script: &'a I) -> Self {
        Self { script, answer: Answer::default() }
    }

    /// Reads the next events of a stream.
    pub fn step(&mut self, events: &[StreamEvent]) -> Vec<Delta> {
        step(self.script, &mut self.answer, events)
    }

    /// Reads a whole answer.
    pub fn whole(&mut self, response: &HttpResponse) -> Vec<Delta> {
        whole(self.script, &mut self.answer, response)
    }

    /// The stream has ended.
    pub fn end(&mut self) -> Vec<Delta> {
        end(self.script, &mut self.answer)
    }
}
