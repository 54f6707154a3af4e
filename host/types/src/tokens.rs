//! How many tokens something is, estimated before a vendor has counted it.
//!
//! An estimate is for budgets and windows, so it errs upwards: a vendor should count no more.

use crate::model::{ContentPart, Message, Prompt};

/// What stands around each message, each tool and each call, in tokens.
const AROUND: u64 = 8;

/// A picture or a sound, whatever its size: what the vendors that count by tiles take for a large one.
const MEDIUM: u64 = 1_600;

/// About how many tokens a text is: one for three bytes, which is less than vendors count for none of the languages that
/// were tried - about four bytes of English, and one Chinese character of three.
#[must_use]
pub fn of_text(text: &str) -> u64 {
    u64::try_from(text.len().div_ceil(3)).unwrap_or(u64::MAX)
}

/// About how many tokens a message is, with what stands around it.
#[must_use]
pub fn of_message(message: &Message) -> u64 {
    let parts = |parts: &[ContentPart]| -> u64 {
        let part = |part: &ContentPart| match part {
            ContentPart::Text(text) => of_text(text),
            ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::Other(_) => MEDIUM,
        };
        parts.iter().map(part).sum()
    };
    AROUND
        + match message {
            Message::System(text) => of_text(text),
            Message::User(content) => parts(content),
            Message::Tool { name, content, .. } => of_text(name) + parts(content),
            Message::Assistant { text, reasoning, tool_calls, opaque } => {
                let calls: u64 =
                    tool_calls.iter().map(|call| AROUND + of_text(&call.name) + of_text(&call.arguments)).sum();
                let blobs: u64 = opaque.iter().map(|blob| of_text(&blob.value)).sum();
                of_text(text) + of_text(reasoning) + calls + blobs
            }
        }
}

/// About how many tokens a prompt is, its tools among them.
#[must_use]
pub fn of_prompt(prompt: &Prompt) -> u64 {
    let messages: u64 = prompt.messages.iter().map(of_message).sum();
    let tools: u64 = prompt
        .tools
        .iter()
        .map(|tool| AROUND + of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string()))
        .sum();
    messages + tools
}
