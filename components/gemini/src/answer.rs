//! Reading answers: chunks of a stream, and whole ones, which look alike.

use homeagent_adapters::lenient::{count, items, label, some_text};
use homeagent_adapters::{Answer, Protocol, errors};
use homeagent_sdk::adapter::{FailureClass, FinishReason, ToolCallDelta, Usage};
use serde_json::Value;

use crate::signatures;

/// The protocol's answers.
#[derive(Debug, Default)]
pub struct Candidates {
    /// How many calls there were.
    calls: u32,
    /// How many bytes of text there were.
    text: usize,
}

impl Protocol for Candidates {
    fn chunk(&mut self, _: &str, chunk: &Value, answer: &mut Answer) {
        if let Some(error) = errors::find(chunk) {
            return answer.error(&error);
        }
        let candidates = items(chunk.get("candidates").unwrap_or(&Value::Null));
        let first = candidates.iter().find(|candidate| candidate.get("index").and_then(count).unwrap_or(0) == 0);
        let parts = first.and_then(|candidate| candidate.get("content")).and_then(|content| content.get("parts"));
        for part in items(parts.unwrap_or(&Value::Null)) {
            self.part(part, answer);
        }
        if let Some(usage) = chunk.get("usageMetadata").and_then(usage) {
            answer.usage(usage);
        }
        let blocked = chunk.get("promptFeedback").and_then(|feedback| some_text(feedback, "blockReason"));
        if blocked.is_some_and(|reason| reason != "BLOCK_REASON_UNSPECIFIED") {
            return answer.finish(FinishReason::ContentFilter);
        }
        if let Some(candidate) = first
            && let Some(reason) = some_text(candidate, "finishReason")
        {
            finish(reason, some_text(candidate, "finishMessage"), answer);
        }
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        // Without `alt=sse` a stream is one list of its chunks.
        let chunks = items(value);
        for chunk in chunks {
            if !answer.is_over() {
                self.chunk("", chunk, answer);
            }
        }
        if answer.is_over() || answer.is_finished() {
            return;
        }
        if chunks.iter().any(|chunk| chunk.get("candidates").is_some_and(|candidates| !items(candidates).is_empty())) {
            answer.finish(FinishReason::Stop);
        } else {
            answer.fail(FailureClass::Protocol, "the answer has no candidates");
        }
    }
}

impl Candidates {
    fn part(&mut self, part: &Value, answer: &mut Answer) {
        let signature = some_text(part, "thoughtSignature");
        let words = some_text(part, "text").unwrap_or_default();
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            let arguments = call.get("args").filter(|arguments| arguments.is_object()).map(Value::to_string);
            // Each part is a whole call, and there may be no id to tell two of them apart.
            answer.tool_call(ToolCallDelta {
                index: Some(self.calls),
                id: call.get("id").and_then(label),
                name: some_text(call, "name").map(str::to_owned),
                arguments: arguments.unwrap_or_else(|| "{}".to_owned()),
            });
            if let Some(signature) = signature {
                signatures::tell_call(self.calls, signature, answer);
            }
            self.calls = self.calls.saturating_add(1);
        } else if part.get("thought").and_then(Value::as_bool) == Some(true) {
            // A summary for people: the signature of what was thought stands on what follows.
            answer.reasoning(words);
        } else {
            answer.text(words);
            if let Some(signature) = signature {
                signatures::tell_text(self.text, words.len(), signature, answer);
            }
            self.text += words.len();
        }
    }
}

fn finish(reason: &str, message: Option<&str>, answer: &mut Answer) {
    answer.finish(match reason {
        "FINISH_REASON_UNSPECIFIED" => return,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE" => {
            let more = message.map_or_else(String::new, |message| format!(": {message}"));
            return answer.fail(FailureClass::Protocol, format!("the model's answer is of no use ({reason}){more}"));
        }
        _ => FinishReason::Other,
    });
}

/// The vendor counts thinking beside the answer, and the results of its own tools beside the prompt.
fn usage(usage: &Value) -> Option<Usage> {
    let field = |name: &str| usage.get(name).and_then(count);
    let sum = |names: [&str; 2]| {
        let [first, second] = names.map(field);
        Some(first.or(second)?.saturating_add(first.and(second).unwrap_or(0)))
    };
    let input = sum(["promptTokenCount", "toolUsePromptTokenCount"]);
    let output = sum(["candidatesTokenCount", "thoughtsTokenCount"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        cached: field("cachedContentTokenCount"),
        cache_written: None,
    })
}
