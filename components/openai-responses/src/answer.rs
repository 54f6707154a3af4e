//! Reading answers: events of a stream, and whole responses.

use std::collections::BTreeSet;

use homeagent_adapters::completions::usage_of;
use homeagent_adapters::lenient::{count, items, label, some_text, text};
use homeagent_adapters::{Answer, Protocol, errors};
use homeagent_sdk::adapter::{FailureClass, FinishReason, ToolCallDelta};
use serde_json::Value;

use crate::places;

/// The protocol's events and responses.
#[derive(Debug, Default)]
pub struct Output {
    /// Calls that have begun, and items of which pieces came: their whole, which follows, says nothing new.
    begun: BTreeSet<u64>,
    told: BTreeSet<u64>,
    text: usize,
    refused: bool,
}

impl Protocol for Output {
    fn chunk(&mut self, event: &str, value: &Value, answer: &mut Answer) {
        let index = value.get("output_index").and_then(count).unwrap_or(0);
        let delta = text(value, "delta").unwrap_or_default();
        match some_text(value, "type").unwrap_or(event) {
            "response.output_text.delta" => {
                self.told.insert(index);
                self.words(delta, answer);
            }
            "response.refusal.delta" => {
                self.told.insert(index);
                self.refused = true;
                self.words(delta, answer);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.told.insert(index);
                answer.reasoning(delta);
            }
            "response.reasoning_summary_part.added" if self.told.contains(&index) => answer.reasoning("\n\n"),
            "response.output_item.added" => {
                if let Some(call) = value.get("item").filter(|item| text(item, "type") == Some("function_call")) {
                    self.begin(index, call, answer);
                }
            }
            "response.function_call_arguments.delta" => {
                self.told.insert(index);
                self.arguments(index, delta, answer);
            }
            "response.output_item.done" => {
                if let Some(item) = value.get("item") {
                    self.item(index, item, answer);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.end(value.get("response").unwrap_or(&Value::Null), answer);
            }
            "error" => answer.error(&errors::force(value)),
            kind => {
                // A gateway tells of an error in its own shape.
                if !kind.starts_with("response.")
                    && let Some(error) = errors::find(value)
                {
                    answer.error(&error);
                }
            }
        }
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        let output = value.get("output").filter(|output| output.is_array());
        if output.is_none() && errors::find(value).is_none() {
            return answer.fail(FailureClass::Protocol, "the answer has no output");
        }
        for (index, item) in (0..).zip(items(output.unwrap_or(&Value::Null))) {
            self.item(index, item, answer);
        }
        self.end(value, answer);
    }
}

impl Output {
    fn words(&mut self, words: &str, answer: &mut Answer) {
        self.text += words.len();
        answer.text(words);
    }

    fn begin(&mut self, index: u64, call: &Value, answer: &mut Answer) {
        if self.begun.insert(index) {
            answer.tool_call(ToolCallDelta {
                index: u32::try_from(index).ok(),
                id: call.get("call_id").and_then(label),
                name: some_text(call, "name").map(str::to_owned),
                arguments: String::new(),
            });
        }
    }

    fn arguments(&self, index: u64, arguments: &str, answer: &mut Answer) {
        if !arguments.is_empty() {
            let arguments = arguments.to_owned();
            answer.tool_call(ToolCallDelta { index: u32::try_from(index).ok(), id: None, name: None, arguments });
        }
    }

    /// An item that is complete.
    fn item(&mut self, index: u64, item: &Value, answer: &mut Answer) {
        let fresh = !self.told.contains(&index);
        let part = |name: &str| items(item.get(name).unwrap_or(&Value::Null)).to_vec();
        match text(item, "type") {
            Some("message") if fresh => {
                for part in part("content") {
                    self.refused |= text(&part, "type") == Some("refusal");
                    let words = some_text(&part, "text").or_else(|| some_text(&part, "refusal"));
                    self.words(words.unwrap_or_default(), answer);
                }
            }
            Some("function_call") => {
                self.begin(index, item, answer);
                if fresh {
                    self.arguments(index, text(item, "arguments").unwrap_or_default(), answer);
                }
            }
            Some("reasoning") => {
                if fresh {
                    let thoughts: Vec<String> = part("summary")
                        .iter()
                        .chain(&part("content"))
                        .filter_map(|part| some_text(part, "text").map(str::to_owned))
                        .collect();
                    answer.reasoning(&thoughts.join("\n\n"));
                }
                places::tell(item, self.text, self.begun.len(), answer);
            }
            _ => {}
        }
    }

    fn end(&mut self, response: &Value, answer: &mut Answer) {
        if let Some(usage) = response.get("usage").and_then(usage_of) {
            answer.usage(usage);
        }
        if let Some(error) = errors::find(response) {
            answer.error(&error);
        } else {
            let why = response.get("incomplete_details").and_then(|details| some_text(details, "reason"));
            match (some_text(response, "status").unwrap_or("completed"), why) {
                ("failed", _) => answer.fail(FailureClass::Overloaded, "the vendor gave up without a reason"),
                ("incomplete", Some("max_output_tokens")) => answer.finish(FinishReason::Length),
                ("incomplete", Some("content_filter")) => answer.finish(FinishReason::ContentFilter),
                ("completed", _) if self.refused => answer.finish(FinishReason::Refusal),
                ("completed", _) if !self.begun.is_empty() => answer.finish(FinishReason::ToolCalls),
                ("completed", _) => answer.finish(FinishReason::Stop),
                _ => answer.finish(FinishReason::Other),
            }
        }
        answer.close();
    }
}
