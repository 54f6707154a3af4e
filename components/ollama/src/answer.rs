//! Reading answers: lines of a stream, and whole ones, which look alike.

use homeagent_adapters::lenient::{count, items, label, some_text};
use homeagent_adapters::{Answer, Protocol, errors};
use homeagent_sdk::adapter::{FailureClass, FinishReason, ToolCallDelta, Usage};
use serde_json::Value;

/// The protocol's answers.
#[derive(Debug, Default)]
pub struct Chat {
    /// How many calls there were.
    calls: u32,
}

impl Protocol for Chat {
    fn chunk(&mut self, _: &str, line: &Value, answer: &mut Answer) {
        if let Some(error) = errors::find(line) {
            return answer.error(&error);
        }
        if let Some(message) = line.get("message") {
            answer.reasoning(some_text(message, "thinking").unwrap_or_default());
            answer.text(some_text(message, "content").unwrap_or_default());
            for call in items(message.get("tool_calls").unwrap_or(&Value::Null)) {
                self.call(call, answer);
            }
        }
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            if let Some(usage) = usage(line) {
                answer.usage(usage);
            }
            answer.finish(match some_text(line, "done_reason") {
                None | Some("stop") => FinishReason::Stop,
                Some("length") => FinishReason::Length,
                Some(_) => FinishReason::Other,
            });
            answer.close();
        }
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        self.chunk("", value, answer);
        if answer.is_over() || answer.is_finished() {
            return;
        }
        if value.get("message").is_some_and(Value::is_object) {
            answer.finish(FinishReason::Stop);
        } else {
            answer.fail(FailureClass::Protocol, "the answer has no message");
        }
    }
}

impl Chat {
    /// Each is a whole call, and there may be no id to tell two of them apart.
    fn call(&mut self, call: &Value, answer: &mut Answer) {
        let Some(function) = call.get("function").filter(|function| function.is_object()) else { return };
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(Value::String(arguments)) => arguments.clone(),
            Some(other) => other.to_string(),
        };
        let name = some_text(function, "name").map(str::to_owned);
        let id = call.get("id").and_then(label);
        answer.tool_call(ToolCallDelta { index: Some(self.calls), id, name, arguments });
        self.calls = self.calls.saturating_add(1);
    }
}

fn usage(line: &Value) -> Option<Usage> {
    let field = |name: &str| line.get(name).and_then(count);
    let (input, output) = (field("prompt_eval_count"), field("eval_count"));
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), cached: None, cache_written: None })
}
