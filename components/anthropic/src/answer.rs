//! Reading answers: events of a stream, and whole messages.

use std::collections::BTreeMap;

use homeagent_adapters::lenient::{count, items, label, some_text, text};
use homeagent_adapters::{Answer, Protocol, errors};
use homeagent_sdk::adapter::{FailureClass, FinishReason, ToolCallDelta, Usage};
use serde_json::Value;

use crate::thoughts::Layout;

/// The protocol's events and messages.
#[derive(Debug, Default)]
pub struct Messages {
    /// Blocks that have begun and not ended, by their index.
    open: BTreeMap<u64, Block>,
    layout: Layout,
    usage: Counts,
}

/// What of a block is told at its end.
#[derive(Debug)]
enum Block {
    Text,
    Thinking {
        thought: String,
        signature: String,
    },
    /// `input` is what the beginning said; it counts when no piece of it followed.
    Call {
        index: u32,
        input: Option<String>,
    },
    Other,
}

impl Protocol for Messages {
    fn chunk(&mut self, event: &str, value: &Value, answer: &mut Answer) {
        let index = || value.get("index").and_then(count).unwrap_or(0);
        match some_text(value, "type").unwrap_or(event) {
            "message_start" => {
                if let Some(message) = value.get("message") {
                    self.count(message.get("usage"), answer);
                }
            }
            "content_block_start" => {
                if let Some(block) = value.get("content_block") {
                    self.begin(index(), block, answer);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = value.get("delta") {
                    self.piece(index(), delta, answer);
                }
            }
            "content_block_stop" => self.end_block(index(), answer),
            "message_delta" => {
                self.count(value.get("usage"), answer);
                if let Some(reason) = value.get("delta").and_then(|delta| some_text(delta, "stop_reason")) {
                    self.finish(reason, answer);
                }
            }
            "message_stop" => {
                if !answer.is_finished() {
                    self.finish("end_turn", answer);
                }
                answer.close();
            }
            "message" => self.whole(value, answer),
            _ => {
                if let Some(error) = errors::find(value) {
                    answer.error(&error);
                }
            }
        }
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        if let Some(error) = errors::find(value) {
            return answer.error(&error);
        }
        let Some(content) = value.get("content").filter(|content| content.is_array()) else {
            return answer.fail(FailureClass::Protocol, "the answer has no content");
        };
        for (index, block) in (0..).zip(items(content)) {
            self.begin(index, block, answer);
            self.end_block(index, answer);
        }
        self.count(value.get("usage"), answer);
        self.finish(some_text(value, "stop_reason").unwrap_or("end_turn"), answer);
    }
}

impl Messages {
    fn begin(&mut self, index: u64, block: &Value, answer: &mut Answer) {
        let block = match text(block, "type") {
            Some("text") => {
                let words = text(block, "text").unwrap_or_default();
                self.layout.text(words);
                answer.text(words);
                Block::Text
            }
            Some("thinking") => {
                let thought = text(block, "thinking").unwrap_or_default().to_owned();
                answer.reasoning(&thought);
                Block::Thinking { thought, signature: text(block, "signature").unwrap_or_default().to_owned() }
            }
            Some("redacted_thinking") => {
                if let Some(data) = some_text(block, "data") {
                    self.layout.redacted(data, answer);
                }
                Block::Other
            }
            Some("tool_use") => {
                self.layout.call();
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                answer.tool_call(ToolCallDelta {
                    index: Some(index),
                    id: block.get("id").and_then(label),
                    name: some_text(block, "name").map(str::to_owned),
                    arguments: String::new(),
                });
                let input = block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                Block::Call { index, input: input.map(Value::to_string) }
            }
            _ => Block::Other,
        };
        self.open.insert(index, block);
    }

    fn piece(&mut self, index: u64, delta: &Value, answer: &mut Answer) {
        match (text(delta, "type"), self.open.get_mut(&index)) {
            (Some("text_delta"), _) => {
                let words = text(delta, "text").unwrap_or_default();
                self.layout.text(words);
                answer.text(words);
            }
            (Some("thinking_delta"), Some(Block::Thinking { thought, .. })) => {
                let more = text(delta, "thinking").unwrap_or_default();
                thought.push_str(more);
                answer.reasoning(more);
            }
            (Some("signature_delta"), Some(Block::Thinking { signature, .. })) => {
                signature.push_str(text(delta, "signature").unwrap_or_default());
            }
            (Some("input_json_delta"), Some(Block::Call { index, input })) => {
                let arguments = text(delta, "partial_json").unwrap_or_default();
                if !arguments.is_empty() {
                    *input = None;
                    let arguments = arguments.to_owned();
                    answer.tool_call(ToolCallDelta { index: Some(*index), id: None, name: None, arguments });
                }
            }
            _ => {}
        }
    }

    fn end_block(&mut self, index: u64, answer: &mut Answer) {
        match self.open.remove(&index) {
            Some(Block::Thinking { thought, signature }) => self.layout.thought(&thought, &signature, answer),
            Some(Block::Call { index, input: Some(arguments) }) => {
                answer.tool_call(ToolCallDelta { index: Some(index), id: None, name: None, arguments });
            }
            _ => {}
        }
    }

    fn count(&mut self, usage: Option<&Value>, answer: &mut Answer) {
        if let Some(usage) = usage.filter(|usage| usage.is_object()) {
            self.usage.take(usage);
            answer.usage(self.usage.total());
        }
    }

    fn finish(&mut self, reason: &str, answer: &mut Answer) {
        self.layout.finish(answer);
        answer.finish(match reason {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "pause_turn" => FinishReason::Pause,
            "refusal" => FinishReason::Refusal,
            _ => FinishReason::Other,
        });
    }
}

/// The vendor's counts; an event says some of them, and what it does not say stays as it was.
#[derive(Debug, Default)]
struct Counts {
    fresh: u64,
    read: Option<u64>,
    written: Option<u64>,
    output: u64,
}

impl Counts {
    fn take(&mut self, usage: &Value) {
        let field = |name: &str| usage.get(name).and_then(count);
        self.fresh = field("input_tokens").unwrap_or(self.fresh);
        self.read = field("cache_read_input_tokens").or(self.read);
        self.written = field("cache_creation_input_tokens").filter(|tokens| *tokens > 0).or(self.written);
        self.output = field("output_tokens").unwrap_or(self.output);
    }

    /// The vendor leaves what is read from the cache and written to it out of the input.
    fn total(&self) -> Usage {
        let input = self.fresh.saturating_add(self.read.unwrap_or(0)).saturating_add(self.written.unwrap_or(0));
        Usage { input, output: self.output, cached: self.read, cache_written: self.written }
    }
}
