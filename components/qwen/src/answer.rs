//! Reading answers. What stands in `output` looks like chat completions; in a stream each message is a piece.

use homeagent_adapters::completions::Completions;
use homeagent_adapters::lenient::{items, text};
use homeagent_adapters::{Answer, Protocol, errors};
use homeagent_sdk::adapter::{FailureClass, FinishReason};
use serde_json::{Value, json};

/// The protocol's answers.
#[derive(Debug, Default)]
pub struct Generation {
    completions: Completions,
}

impl Protocol for Generation {
    fn chunk(&mut self, event: &str, value: &Value, answer: &mut Answer) {
        self.read("delta", event, value, answer);
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        if errors::find(value).is_none() && choices(value).is_empty() {
            return answer.fail(FailureClass::Protocol, "the answer has no choices");
        }
        self.read("message", "", value, answer);
        if !answer.is_over() && !answer.is_finished() {
            answer.finish(FinishReason::Stop);
        }
    }
}

impl Generation {
    fn read(&mut self, kind: &str, event: &str, value: &Value, answer: &mut Answer) {
        if let Some(error) = errors::find(value) {
            return answer.error(&error);
        }
        let choices: Vec<Value> = choices(value)
            .iter()
            .map(|choice| {
                // While the model goes on, its reason to stop is the word "null".
                let reason = text(choice, "finish_reason").filter(|reason| *reason != "null");
                let mut same = json!({"finish_reason": reason});
                same[kind] = choice.get("message").cloned().unwrap_or_default();
                same
            })
            .collect();
        let usage = value.get("usage").cloned().unwrap_or_default();
        self.completions.chunk(event, &json!({"choices": choices, "usage": usage}), answer);
    }
}

fn choices(value: &Value) -> &[Value] {
    let choices = value.get("output").and_then(|output| output.get("choices"));
    items(choices.unwrap_or(&Value::Null))
}
