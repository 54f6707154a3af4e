//! Thoughts that have to go back as they came, and at the place where they stood.
//!
//! A message is kept as one text, one list of calls and blobs. The blobs of a message with thoughts are: for each thought
//! its text (`thinking`, where it has one) and then its `signature`, or `redacted_thinking`; and at the end `blocks`, which
//! says in which order everything stood: `thinking,text:12,tool_use,thinking,tool_use`, with the bytes of each text.

use homeagent_adapters::Answer;
use homeagent_sdk::adapter::{AssistantMessage, Opaque};
use serde_json::{Value, json};

const THINKING: &str = "thinking";
const SIGNATURE: &str = "signature";
const REDACTED: &str = "redacted_thinking";
const BLOCKS: &str = "blocks";

/// The order of an answer's blocks.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    blocks: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Thought,
    /// So many bytes of the text.
    Text(usize),
    Call,
}

impl Layout {
    /// A piece of text.
    pub(crate) fn text(&mut self, text: &str) {
        match self.blocks.last_mut() {
            _ if text.is_empty() => {}
            Some(Place::Text(bytes)) => *bytes += text.len(),
            _ => self.blocks.push(Place::Text(text.len())),
        }
    }

    /// A call begins.
    pub(crate) fn call(&mut self) {
        self.blocks.push(Place::Call);
    }

    /// A whole thought. Without a signature nobody takes it back.
    pub(crate) fn thought(&mut self, thought: &str, signature: &str, answer: &mut Answer) {
        if signature.is_empty() {
            return;
        }
        self.blocks.push(Place::Thought);
        if !thought.is_empty() {
            answer.opaque(THINKING, thought);
        }
        answer.opaque(SIGNATURE, signature);
    }

    /// A thought that is not shown.
    pub(crate) fn redacted(&mut self, data: &str, answer: &mut Answer) {
        self.blocks.push(Place::Thought);
        answer.opaque(REDACTED, data);
    }

    /// The answer is complete: its order is told where there is more than one.
    pub(crate) fn finish(&mut self, answer: &mut Answer) {
        let blocks = std::mem::take(&mut self.blocks);
        if blocks.contains(&Place::Thought) {
            let names: Vec<String> = blocks.iter().map(|block| block.name()).collect();
            answer.opaque(BLOCKS, names.join(","));
        }
    }
}

impl Place {
    fn name(self) -> String {
        match self {
            Place::Thought => THINKING.to_owned(),
            Place::Text(bytes) => format!("text:{bytes}"),
            Place::Call => "tool_use".to_owned(),
        }
    }

    fn read(name: &str) -> Option<Self> {
        match name {
            THINKING => Some(Place::Thought),
            "tool_use" => Some(Place::Call),
            _ => name.strip_prefix("text:").and_then(|bytes| bytes.parse().ok()).map(Place::Text),
        }
    }
}

/// The thoughts of a message as blocks.
pub(crate) fn blocks(opaque: &[Opaque]) -> Vec<Value> {
    let mut thought = "";
    let mut blocks = Vec::new();
    for blob in opaque {
        match blob.kind.as_str() {
            THINKING => thought = &blob.value,
            SIGNATURE => {
                let thinking = std::mem::take(&mut thought);
                blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": blob.value}));
            }
            REDACTED => blocks.push(json!({"type": "redacted_thinking", "data": blob.value})),
            _ => {}
        }
    }
    blocks
}

/// Whether a block is a thought.
pub(crate) fn is_thought(block: &Value) -> bool {
    block["type"] == THINKING || block["type"] == REDACTED
}

/// Puts the blocks of a message in the order in which they came. Where the text or the calls are no longer those, the
/// thoughts come first, then the text, then the calls.
pub(crate) fn in_order(message: &AssistantMessage, thoughts: Vec<Value>, calls: Vec<Value>) -> Vec<Value> {
    let text = message.text.as_str();
    let kept = message.opaque.iter().find(|blob| blob.kind == BLOCKS);
    let order: Option<Vec<Place>> = kept.and_then(|blob| blob.value.split(',').map(Place::read).collect());
    let order = order.filter(|order| fits(order, text, thoughts.len(), calls.len())).unwrap_or_else(|| {
        let mut order = vec![Place::Thought; thoughts.len()];
        order.push(Place::Text(text.len()));
        order.extend(vec![Place::Call; calls.len()]);
        order
    });
    let (mut thoughts, mut calls, mut rest) = (thoughts.into_iter(), calls.into_iter(), text);
    let mut blocks = Vec::new();
    for place in order {
        match place {
            Place::Thought => blocks.extend(thoughts.next()),
            Place::Call => blocks.extend(calls.next()),
            Place::Text(bytes) => {
                let (part, after) = rest.split_at(bytes);
                rest = after;
                // The vendor refuses a text without a word in it.
                if !part.trim().is_empty() {
                    blocks.push(json!({"type": "text", "text": part}));
                }
            }
        }
    }
    blocks
}

fn fits(order: &[Place], text: &str, thoughts: usize, calls: usize) -> bool {
    let count = |wanted: Place| order.iter().filter(|place| **place == wanted).count();
    let mut end = 0_usize;
    let cuts = order.iter().all(|place| match place {
        Place::Text(bytes) => {
            end = end.saturating_add(*bytes);
            text.is_char_boundary(end)
        }
        _ => true,
    });
    cuts && end == text.len() && count(Place::Thought) == thoughts && count(Place::Call) == calls
}
