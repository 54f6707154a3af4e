//! Reading answers: chunks of a stream, and whole ones.

use serde_json::Value;

use crate::errors;
use crate::lenient::{count, items, label, some_text, text};
use crate::reader::{Answer, Protocol};
use homeagent_sdk::adapter::{FailureClass, FinishReason, ToolCallDelta, Usage};

/// The protocol's chunks and whole answers.
#[derive(Debug, Default)]
pub struct Completions {
    /// The model has put its words into `refusal`.
    refused: bool,
}

impl Protocol for Completions {
    fn chunk(&mut self, _: &str, chunk: &Value, answer: &mut Answer) {
        let choice = first_choice(chunk);
        if let Some(choice) = choice {
            self.choice(choice, answer);
        }
        let usage = chunk.get("usage").or_else(|| chunk.get("x_groq").and_then(|groq| groq.get("usage")));
        let usage = usage.and_then(usage_of).or_else(|| choice?.get("usage").and_then(usage_of));
        if let Some(usage) = usage {
            answer.usage(usage);
        }
        let error = errors::find(chunk)
            .or_else(|| choice.filter(|choice| choice.get("error").is_some()).and_then(errors::find));
        if let Some(error) = error {
            answer.error(&error);
        } else if let Some(reason) = choice.and_then(|choice| some_text(choice, "finish_reason")) {
            self.finish_reason(reason, answer);
        }
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        self.chunk("", value, answer);
        if answer.is_over() || answer.is_finished() {
            return;
        }
        if value.get("choices").is_some_and(|choices| !items(choices).is_empty()) {
            self.finish(FinishReason::Stop, answer);
        } else {
            answer.fail(FailureClass::Protocol, "the answer has no choices");
        }
    }
}

impl Completions {
    fn choice(&mut self, choice: &Value, answer: &mut Answer) {
        let streamed = choice.get("delta").filter(|delta| delta.is_object());
        let Some(message) = streamed.or_else(|| choice.get("message").filter(|message| message.is_object())) else {
            return;
        };
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|field| some_text(message, field));
        answer.reasoning(reasoning.unwrap_or_default());
        match message.get("content") {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| content_part(part, answer)),
            Some(Value::String(content)) => answer.text(content),
            _ => {}
        }
        if let Some(refusal) = some_text(message, "refusal") {
            self.refused = true;
            answer.text(refusal);
        }
        let whole = streamed.is_none();
        for (place, call) in items(message.get("tool_calls").unwrap_or(&Value::Null)).iter().enumerate() {
            // In a whole message every item is a call; in a stream only the vendor knows.
            let place = whole.then(|| u32::try_from(place).unwrap_or(u32::MAX));
            if let Some(piece) = tool_call(call, place) {
                answer.tool_call(piece);
            }
        }
        if let Some(function) = message.get("function_call").filter(|function| function.is_object()) {
            answer.tool_call(function_piece(function, Some(0), None));
        }
    }

    fn finish_reason(&self, reason: &str, answer: &mut Answer) {
        let reason = match reason.to_lowercase().as_str() {
            "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => FinishReason::Stop,
            "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishReason::ToolCalls,
            "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => FinishReason::Length,
            "content_filter" | "sensitive" | "safety" => FinishReason::ContentFilter,
            "refusal" => FinishReason::Refusal,
            "error" | "network_error" | "insufficient_system_resource" | "abort" => {
                let message = format!("the vendor stopped in the middle of the answer: {reason}");
                return answer.fail(FailureClass::Overloaded, message);
            }
            _ => FinishReason::Other,
        };
        self.finish(reason, answer);
    }

    fn finish(&self, reason: FinishReason, answer: &mut Answer) {
        let refused = self.refused && matches!(reason, FinishReason::Stop);
        answer.finish(if refused { FinishReason::Refusal } else { reason });
    }
}

/// The first of the choices; requests never ask for a second.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let choices = items(chunk.get("choices")?);
    choices.iter().find(|choice| choice.get("index").and_then(count).unwrap_or(0) == 0)
}

/// Content in parts, some of which are thoughts.
fn content_part(part: &Value, answer: &mut Answer) {
    match text(part, "type") {
        Some("thinking" | "reasoning") => {
            for field in ["thinking", "reasoning", "text"] {
                match part.get(field) {
                    Some(Value::String(thought)) => return answer.reasoning(thought),
                    Some(Value::Array(inner)) => {
                        let thoughts = inner.iter().filter_map(|inner| some_text(inner, "text"));
                        return thoughts.for_each(|thought| answer.reasoning(thought));
                    }
                    _ => {}
                }
            }
        }
        _ => answer.text(some_text(part, "text").unwrap_or_default()),
    }
}

fn tool_call(call: &Value, place: Option<u32>) -> Option<ToolCallDelta> {
    let index = call.get("index").and_then(count).and_then(|index| u32::try_from(index).ok());
    let id = call.get("id").and_then(label);
    let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    call.is_object().then(|| function_piece(function, place.or(index), id))
}

fn function_piece(function: &Value, index: Option<u32>, id: Option<String>) -> ToolCallDelta {
    let arguments = match function.get("arguments") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(arguments)) => arguments.clone(),
        Some(other) => other.to_string(),
    };
    ToolCallDelta { index, id, name: some_text(function, "name").map(str::to_owned), arguments }
}

/// What a call cost, in the shapes in which OpenAI and those who follow it tell.
#[must_use]
pub fn usage_of(usage: &Value) -> Option<Usage> {
    let field = |names: &[&str]| names.iter().find_map(|name| usage.get(name).and_then(count));
    let detail = |of: &str, name: &str| usage.get(of)?.get(name).and_then(count);
    let input = field(&["prompt_tokens", "input_tokens"]);
    let output = field(&["completion_tokens", "output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, mut output) = (input.unwrap_or(0), output.unwrap_or(0));
    // Some count thinking beside the answer instead of in it; the total tells.
    let thinking = detail("completion_tokens_details", "reasoning_tokens").unwrap_or(0);
    let beside = input.saturating_add(output).saturating_add(thinking);
    if thinking > 0 && field(&["total_tokens"]) == Some(beside) {
        output += thinking;
    }
    let cached = detail("prompt_tokens_details", "cached_tokens")
        .or_else(|| detail("input_tokens_details", "cached_tokens"))
        .or_else(|| field(&["prompt_cache_hit_tokens", "cached_tokens"]));
    Some(Usage { input, output, cached, cache_written: None })
}
