//! Writing the window.

use homeagent_adapters::content::{self, as_text};
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Message, ToolMessage};
use serde_json::{Map, Value, json};

/// The messages as the protocol has them. `thoughts`: those of the turn under way go back to the model.
pub(crate) fn write(messages: &[Message], thoughts: bool) -> Vec<Value> {
    let turn = content::turn_start(messages).unwrap_or(0);
    let mut written = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        written.push(match message {
            Message::System(words) => json!({"role": "system", "content": words}),
            Message::User(parts) => user(parts),
            Message::Assistant(message) => assistant(message, thoughts && place > turn),
            Message::Tool(message) => result(message),
        });
    }
    written
}

/// Texts and pictures stand apart here.
fn user(parts: &[ContentPart]) -> Value {
    with_pictures(json!({"role": "user", "content": texts(parts)}), parts)
}

fn result(message: &ToolMessage) -> Value {
    let text = match message.content.iter().any(is_shown) {
        true => texts(&message.content),
        false => content::result_text(message, |_| false),
    };
    let written = json!({"role": "tool", "tool_name": message.name, "tool_call_id": message.call, "content": text});
    with_pictures(written, &message.content)
}

fn texts(parts: &[ContentPart]) -> String {
    let texts: Vec<String> = parts.iter().filter(|part| !is_shown(part)).map(as_text).collect();
    texts.join("\n")
}

fn with_pictures(mut message: Value, parts: &[ContentPart]) -> Value {
    let pictures: Vec<String> = parts
        .iter()
        .filter(|part| is_shown(part))
        .filter_map(|part| match part {
            ContentPart::Image(media) => Some(content::base64(media)),
            _ => None,
        })
        .collect();
    if !pictures.is_empty() {
        message["images"] = pictures.into();
    }
    message
}

/// The server fetches nothing, so a picture has to come along.
fn is_shown(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Image(media) if !media.data.is_empty())
}

fn assistant(message: &AssistantMessage, thoughts: bool) -> Value {
    let mut written = Map::new();
    written.insert("role".to_owned(), "assistant".into());
    written.insert("content".to_owned(), message.text.as_str().into());
    if thoughts && !message.reasoning.is_empty() {
        written.insert("thinking".to_owned(), message.reasoning.as_str().into());
    }
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            let function = json!({"name": call.name, "arguments": content::arguments(&call.arguments)});
            json!({"id": call.id, "function": function})
        })
        .collect();
    if !calls.is_empty() {
        written.insert("tool_calls".to_owned(), calls.into());
    }
    written.into()
}
