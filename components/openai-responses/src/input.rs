//! Writing the window as items.

use homeagent_adapters::content::{self, address, as_text};
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Message, ToolCall, ToolMessage};
use serde_json::{Map, Value, json};

use crate::places;

/// The window as the protocol has it. `reasoning`: what the model thought goes back to it.
pub(crate) fn write(messages: &[Message], reasoning: bool) -> Vec<Value> {
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::System(words) => items.push(json!({"role": "developer", "content": words})),
            Message::User(parts) => items.push(json!({"role": "user", "content": content(parts)})),
            Message::Assistant(message) => said(message, reasoning, &mut items),
            Message::Tool(message) => items.push(result(message)),
        }
    }
    items
}

/// A text where everything is text, else a list of parts.
fn content(parts: &[ContentPart]) -> Value {
    if parts.iter().any(is_shown) {
        return parts.iter().map(part).collect();
    }
    let texts: Vec<String> = parts.iter().map(as_text).collect();
    texts.join("\n").into()
}

fn is_shown(part: &ContentPart) -> bool {
    match part {
        ContentPart::Image(_) => true,
        ContentPart::Other(media) => media.mime == "application/pdf",
        ContentPart::Text(_) | ContentPart::Audio(_) => false,
    }
}

fn part(part: &ContentPart) -> Value {
    match part {
        ContentPart::Image(media) => json!({"type": "input_image", "image_url": address(media)}),
        ContentPart::Other(media) if is_shown(part) => match &media.url {
            Some(url) if media.data.is_empty() => json!({"type": "input_file", "file_url": url}),
            _ => json!({"type": "input_file", "filename": content::file_name(media), "file_data": address(media)}),
        },
        other => json!({"type": "input_text", "text": as_text(other)}),
    }
}

/// A message of the model's: its text, its calls, and what it thought before each.
fn said(message: &AssistantMessage, reasoning: bool, items: &mut Vec<Value>) {
    let begin = items.len();
    let mut text = message.text.as_str();
    let mut calls = message.tool_calls.iter();
    let (mut written, mut called) = (0, 0);
    let kept = message.opaque.iter().filter(|_| reasoning).filter_map(places::read);
    for (bytes, before, item) in kept {
        // Where the text is no longer the one that came, the place in it means nothing.
        let piece = bytes.checked_sub(written).and_then(|bytes| text.get(..bytes)).unwrap_or_default();
        spoken(piece, items);
        text = &text[piece.len()..];
        written += piece.len();
        for call in calls.by_ref().take(before.saturating_sub(called)) {
            items.push(self::call(call));
        }
        called = called.max(before);
        items.push(item);
    }
    spoken(text, items);
    items.extend(calls.map(call));
    // The vendor refuses reasoning that nothing follows: what it led to is gone.
    while items.len() > begin && items.last().is_some_and(|item| item["type"] == "reasoning") {
        items.pop();
    }
}

fn spoken(text: &str, items: &mut Vec<Value>) {
    if !text.is_empty() {
        items.push(json!({"role": "assistant", "content": text}));
    }
}

fn call(call: &ToolCall) -> Value {
    // The arguments as they came, to the last digit; a model's slip is wrapped in an object.
    let arguments = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(_) => call.arguments.clone(),
        Err(_) => Value::Object(content::arguments(&call.arguments)).to_string(),
    };
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
}

fn result(message: &ToolMessage) -> Value {
    let output: Value = if message.content.iter().any(is_shown) {
        message.content.iter().map(part).collect()
    } else {
        content::result_text(message, |_| false).into()
    };
    json!({"type": "function_call_output", "call_id": message.call, "output": output})
}
