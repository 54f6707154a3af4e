//! Writing the window.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Media, Message, ToolMessage};

/// The messages as the protocol has them.
pub(crate) fn write(messages: &[Message], dialect: &Dialect) -> Vec<Value> {
    // Thoughts belong to the turn that is under way: what comes after the last thing a person said.
    let turn = messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let mut written = Vec::with_capacity(messages.len());
    // A tool's answer is text. Its pictures follow as a message of their own, after all answers of the same round.
    let mut pictures = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if !matches!(message, Message::Tool(_)) {
            flush(&mut pictures, &mut written);
        }
        match message {
            Message::System(text) => written.push(json!({"role": "system", "content": text})),
            Message::User(parts) => written.push(json!({"role": "user", "content": content(parts, dialect)})),
            Message::Assistant(message) => {
                let reasoning = dialect.send_reasoning && turn.is_none_or(|turn| place > turn);
                written.push(assistant(message, reasoning));
            }
            Message::Tool(message) => {
                written.push(tool(message, dialect));
                let shown = message.content.iter().filter(|part| is_shown(part, dialect));
                pictures.extend(shown.map(|part| part_value(part, dialect)));
            }
        }
    }
    flush(&mut pictures, &mut written);
    written
}

fn flush(pictures: &mut Vec<Value>, written: &mut Vec<Value>) {
    if !pictures.is_empty() {
        let mut parts = vec![json!({"type": "text", "text": "[from the tools' results]"})];
        parts.append(pictures);
        written.push(json!({"role": "user", "content": parts}));
    }
}

fn is_shown(part: &ContentPart, dialect: &Dialect) -> bool {
    match part {
        ContentPart::Text(_) | ContentPart::Other(_) => false,
        ContentPart::Image(_) => dialect.images,
        ContentPart::Audio(media) => audio_format(media).is_some(),
    }
}

/// A text where everything is text, which every endpoint takes; else a list of parts.
fn content(parts: &[ContentPart], dialect: &Dialect) -> Value {
    if parts.iter().any(|part| is_shown(part, dialect)) {
        return parts.iter().map(|part| part_value(part, dialect)).collect();
    }
    text_of(parts).into()
}

fn text_of(parts: &[ContentPart]) -> String {
    let texts: Vec<String> = parts.iter().map(as_text).collect();
    texts.join("\n")
}

fn as_text(part: &ContentPart) -> String {
    match part {
        ContentPart::Text(text) => text.clone(),
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::Other(media) => {
            format!("[{} that this model can't take in]", media.mime)
        }
    }
}

fn part_value(part: &ContentPart, dialect: &Dialect) -> Value {
    match part {
        ContentPart::Image(media) if dialect.images => {
            json!({"type": "image_url", "image_url": {"url": address(media)}})
        }
        ContentPart::Audio(media) => match audio_format(media) {
            Some(format) => {
                let data = STANDARD.encode(&media.data);
                json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
            }
            None => json!({"type": "text", "text": as_text(part)}),
        },
        _ => json!({"type": "text", "text": as_text(part)}),
    }
}

fn address(media: &Media) -> String {
    match &media.url {
        Some(url) if media.data.is_empty() => url.clone(),
        _ => format!("data:{};base64,{}", media.mime, STANDARD.encode(&media.data)),
    }
}

fn audio_format(media: &Media) -> Option<&'static str> {
    match media.mime.as_str() {
        _ if media.data.is_empty() => None,
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

fn assistant(message: &AssistantMessage, reasoning: bool) -> Value {
    let mut written = Map::new();
    written.insert("role".to_owned(), "assistant".into());
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            let function = json!({"name": call.name, "arguments": arguments(&call.arguments)});
            json!({"id": call.id, "type": "function", "function": function})
        })
        .collect();
    let silent = message.text.is_empty() && !calls.is_empty();
    written.insert("content".to_owned(), if silent { Value::Null } else { message.text.as_str().into() });
    if reasoning && !message.reasoning.is_empty() {
        written.insert("reasoning_content".to_owned(), message.reasoning.as_str().into());
    }
    if !calls.is_empty() {
        written.insert("tool_calls".to_owned(), calls.into());
    }
    written.into()
}

/// Endpoints refuse a history with arguments that are no JSON object, so a model's slip is wrapped in one.
fn arguments(text: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(_) => text.to_owned(),
        Err(_) if text.trim().is_empty() => "{}".to_owned(),
        Err(_) => json!({"not_json": text}).to_string(),
    }
}

fn tool(message: &ToolMessage, dialect: &Dialect) -> Value {
    let parts = message.content.iter().filter(|part| !is_shown(part, dialect));
    let texts: Vec<String> = parts.map(as_text).collect();
    let mut text = texts.join("\n");
    if text.is_empty() {
        text = match (message.failed, message.content.is_empty()) {
            (true, _) => "the tool failed and gave no reason",
            (false, true) => "done",
            (false, false) => "see the next message",
        }
        .to_owned();
    }
    json!({"role": "tool", "tool_call_id": message.call, "content": text})
}
