//! Reading answers: chunks of a stream, and whole ones.

use serde_json::Value;

use crate::errors::{self, Verdict};
use crate::lenient::{count, items, label, some_text, text};
use homeagent_sdk::adapter::{
    Delta, Failure, FailureClass, FinishReason, HttpResponse, StreamEvent, ToolCallDelta, Usage,
};

/// Reads one answer; keeps what has to be known between chunks.
#[derive(Debug, Default)]
pub struct Reader {
    /// The vendor has said why the model stopped.
    finished: bool,
    /// `[DONE]` or an error came: what follows is not read.
    over: bool,
    /// The model has put its words into `refusal`.
    refused: bool,
}

impl Reader {
    /// A reader for one answer.
    #[must_use]
    pub fn new() -> Self {
        Reader::default()
    }

    /// Reads the next events of a stream.
    pub fn step(&mut self, events: &[StreamEvent]) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for event in events {
            self.event(event, &mut deltas);
        }
        deltas
    }

    /// Reads a whole answer.
    pub fn whole(&mut self, response: &HttpResponse) -> Vec<Delta> {
        let mut deltas = Vec::new();
        let Ok(value) = serde_json::from_slice::<Value>(&response.body) else {
            self.mislabelled(&String::from_utf8_lossy(&response.body), &mut deltas);
            return deltas;
        };
        self.chunk(&value, &mut deltas);
        if self.over || self.finished {
            return deltas;
        }
        if value.get("choices").is_some_and(|choices| !items(choices).is_empty()) {
            self.finish(FinishReason::Stop, &mut deltas);
        } else {
            self.fail(FailureClass::Protocol, "the answer has no choices", &mut deltas);
        }
        deltas
    }

    /// Some servers call a stream of events a JSON document.
    fn mislabelled(&mut self, body: &str, deltas: &mut Vec<Delta>) {
        let mut any = false;
        for data in body.lines().filter_map(|line| line.strip_prefix("data:")) {
            any = true;
            let event = StreamEvent { event: String::new(), data: data.trim().to_owned() };
            self.event(&event, deltas);
        }
        if !any {
            let fault = if body.trim().is_empty() { "the answer is empty" } else { "the answer is not JSON" };
            self.fail(FailureClass::Protocol, fault, deltas);
        }
    }

    fn event(&mut self, event: &StreamEvent, deltas: &mut Vec<Delta>) {
        let data = event.data.trim();
        if self.over || data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            if !self.finished {
                self.finish(FinishReason::Stop, deltas);
            }
            self.over = true;
            return;
        }
        match serde_json::from_str::<Value>(data) {
            Ok(value) if event.event == "error" => self.error(&errors::force(&value), deltas),
            Ok(value) => {
                for chunk in items(&value) {
                    self.chunk(chunk, deltas);
                }
            }
            Err(_) if event.event == "error" => {
                self.error(&errors::force(&Value::String(data.to_owned())), deltas);
            }
            Err(error) => {
                let message = format!("an event of the stream is not JSON: {error}");
                self.fail(FailureClass::Protocol, &message, deltas);
            }
        }
    }

    fn chunk(&mut self, chunk: &Value, deltas: &mut Vec<Delta>) {
        if self.over {
            return;
        }
        let choice = first_choice(chunk);
        if let Some(choice) = choice {
            self.choice(choice, deltas);
        }
        let usage = chunk.get("usage").or_else(|| chunk.get("x_groq").and_then(|groq| groq.get("usage")));
        let usage = usage.and_then(usage_of).or_else(|| choice?.get("usage").and_then(usage_of));
        deltas.extend(usage.map(Delta::Usage));
        let error = errors::find(chunk)
            .or_else(|| choice.filter(|choice| choice.get("error").is_some()).and_then(errors::find));
        if let Some(error) = error {
            self.error(&error, deltas);
        } else if let Some(reason) = choice.and_then(|choice| some_text(choice, "finish_reason")) {
            self.finish_reason(reason, deltas);
        }
    }

    fn choice(&mut self, choice: &Value, deltas: &mut Vec<Delta>) {
        let streamed = choice.get("delta").filter(|delta| delta.is_object());
        let Some(message) = streamed.or_else(|| choice.get("message").filter(|message| message.is_object())) else {
            return;
        };
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|field| some_text(message, field));
        deltas.extend(reasoning.map(|reasoning| Delta::Reasoning(reasoning.to_owned())));
        match message.get("content") {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| content_part(part, deltas)),
            Some(Value::String(content)) if !content.is_empty() => deltas.push(Delta::Text(content.clone())),
            _ => {}
        }
        if let Some(refusal) = some_text(message, "refusal") {
            self.refused = true;
            deltas.push(Delta::Text(refusal.to_owned()));
        }
        let whole = streamed.is_none();
        for (place, call) in items(message.get("tool_calls").unwrap_or(&Value::Null)).iter().enumerate() {
            // In a whole message every item is a call; in a stream only the vendor knows.
            let place = whole.then(|| u32::try_from(place).unwrap_or(u32::MAX));
            deltas.extend(tool_call(call, place).map(Delta::ToolCall));
        }
        if let Some(function) = message.get("function_call").filter(|function| function.is_object()) {
            let call = function_piece(function, Some(0), None);
            deltas.push(Delta::ToolCall(call));
        }
    }

    fn finish_reason(&mut self, reason: &str, deltas: &mut Vec<Delta>) {
        let reason = match reason.to_lowercase().as_str() {
            "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => FinishReason::Stop,
            "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishReason::ToolCalls,
            "length" | "max_tokens" | "model_length" => FinishReason::Length,
            "content_filter" | "sensitive" | "safety" => FinishReason::ContentFilter,
            "refusal" => FinishReason::Refusal,
            "error" | "network_error" | "insufficient_system_resource" | "abort" => {
                let message = format!("the vendor stopped in the middle of the answer: {reason}");
                return self.fail(FailureClass::Overloaded, &message, deltas);
            }
            _ => FinishReason::Other,
        };
        self.finish(reason, deltas);
    }

    fn finish(&mut self, reason: FinishReason, deltas: &mut Vec<Delta>) {
        let refused = self.refused && matches!(reason, FinishReason::Stop);
        self.finished = true;
        deltas.push(Delta::Finish(if refused { FinishReason::Refusal } else { reason }));
    }

    fn error(&mut self, error: &errors::VendorError, deltas: &mut Vec<Delta>) {
        match errors::verdict(error, None) {
            Verdict::Failed(failure) => {
                self.over = true;
                deltas.push(Delta::Error(failure));
            }
            Verdict::Filtered => self.finish(FinishReason::ContentFilter, deltas),
        }
    }

    fn fail(&mut self, class: FailureClass, message: &str, deltas: &mut Vec<Delta>) {
        self.over = true;
        deltas.push(Delta::Error(Failure { class, message: message.to_owned(), retry_after_ms: None }));
    }
}

/// The first of the choices; requests never ask for a second.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let choices = items(chunk.get("choices")?);
    choices.iter().find(|choice| choice.get("index").and_then(count).unwrap_or(0) == 0)
}

/// Content in parts, some of which are thoughts.
fn content_part(part: &Value, deltas: &mut Vec<Delta>) {
    match text(part, "type") {
        Some("thinking" | "reasoning") => {
            for field in ["thinking", "reasoning", "text"] {
                match part.get(field) {
                    Some(Value::String(thought)) => return deltas.push(Delta::Reasoning(thought.clone())),
                    Some(Value::Array(inner)) => {
                        let thoughts = inner.iter().filter_map(|inner| some_text(inner, "text"));
                        return deltas.extend(thoughts.map(|thought| Delta::Reasoning(thought.to_owned())));
                    }
                    _ => {}
                }
            }
        }
        _ => deltas.extend(some_text(part, "text").map(|text| Delta::Text(text.to_owned()))),
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

fn usage_of(usage: &Value) -> Option<Usage> {
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
    Some(Usage { input, output, cached })
}
