//! Writing the window.

use serde_json::{Map, Value, json};

use crate::content::{self, address, as_text};
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Media, Message, ToolCall, ToolMessage};

/// Where endpoints differ in what they take of the window.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Which thoughts go back to the model.
    pub thoughts: Thoughts,
    /// The model sees pictures.
    pub images: bool,
    /// The model hears sounds.
    pub audio: bool,
}

/// Which thoughts go back to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoughts {
    /// None.
    Never,
    /// Those of the turn under way: what comes after the last thing a person said.
    OfThisTurn,
    /// Those of every turn in which tools were called. Each of its messages has to have some, so one without (another
    /// vendor made it) gets a sentence about what it did.
    OfTurnsWithTools,
}

/// The messages as the protocol has them.
#[must_use]
pub fn write(messages: &[Message], style: Style) -> Vec<Value> {
    let mut written = Vec::with_capacity(messages.len());
    // A tool's answer is text. Its pictures follow as a message of their own, after all answers of the same round.
    let mut pictures = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if !matches!(message, Message::Tool(_)) {
            flush(&mut pictures, &mut written);
        }
        match message {
            Message::System(text) => written.push(json!({"role": "system", "content": text})),
            Message::User(parts) => written.push(json!({"role": "user", "content": content(parts, style)})),
            Message::Assistant(message) => {
                let thoughts = thoughts(message, style.thoughts, messages, place);
                written.push(assistant(message, thoughts));
            }
            Message::Tool(message) => {
                let text = content::result_text(message, |part| is_shown(part, style));
                written.push(json!({"role": "tool", "tool_call_id": message.call, "content": text}));
                pictures.extend(shown(message, style));
            }
        }
    }
    flush(&mut pictures, &mut written);
    written
}

/// The thoughts that the message at `place` is written with.
fn thoughts(message: &AssistantMessage, which: Thoughts, messages: &[Message], place: usize) -> Option<String> {
    let own = Some(message.reasoning.clone()).filter(|reasoning| !reasoning.is_empty());
    let is_user = |message: &Message| matches!(message, Message::User(_));
    match which {
        Thoughts::Never => None,
        Thoughts::OfThisTurn => own.filter(|_| !messages[place..].iter().any(is_user)),
        Thoughts::OfTurnsWithTools => {
            let begin = messages[..place].iter().rposition(is_user).unwrap_or(0);
            let end = messages[place..].iter().position(is_user).map_or(messages.len(), |ahead| place + ahead);
            let calls = |message: &Message| matches!(message, Message::Assistant(said) if !said.tool_calls.is_empty());
            messages[begin..end].iter().any(calls).then(|| own.unwrap_or_else(|| deed(message)))
        }
    }
}

/// What a message without thoughts does. The sentence has to differ from message to message: models that see the same one
/// again and again begin to repeat it.
fn deed(message: &AssistantMessage) -> String {
    let beginning = |text: &str| text.chars().take(80).collect::<String>();
    let call = |call: &ToolCall| format!("`{}` with {}", call.name, beginning(&call.arguments));
    let calls: Vec<String> = message.tool_calls.iter().map(call).collect();
    if calls.is_empty() {
        return format!("I can answer now: {}", beginning(&message.text));
    }
    format!("I call {}.", calls.join(" and "))
}

fn flush(pictures: &mut Vec<Value>, written: &mut Vec<Value>) {
    if !pictures.is_empty() {
        let mut parts = vec![json!({"type": "text", "text": content::FROM_RESULTS})];
        parts.append(pictures);
        written.push(json!({"role": "user", "content": parts}));
    }
}

fn is_shown(part: &ContentPart, style: Style) -> bool {
    match part {
        ContentPart::Text(_) | ContentPart::Other(_) => false,
        ContentPart::Image(_) => style.images,
        ContentPart::Audio(media) => style.audio && audio_format(media).is_some(),
    }
}

/// A text where everything is text, which every endpoint takes; else a list of parts.
fn content(parts: &[ContentPart], style: Style) -> Value {
    if parts.iter().any(|part| is_shown(part, style)) {
        return parts.iter().map(|part| part_value(part, style)).collect();
    }
    let texts: Vec<String> = parts.iter().map(as_text).collect();
    texts.join("\n").into()
}

fn part_value(part: &ContentPart, style: Style) -> Value {
    match part {
        ContentPart::Image(media) if style.images => {
            json!({"type": "image_url", "image_url": {"url": address(media)}})
        }
        ContentPart::Audio(media) => match audio_format(media).filter(|_| style.audio) {
            Some(format) => {
                let data = content::base64(media);
                json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
            }
            None => json!({"type": "text", "text": as_text(part)}),
        },
        _ => json!({"type": "text", "text": as_text(part)}),
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

fn assistant(message: &AssistantMessage, thoughts: Option<String>) -> Value {
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
    if let Some(thoughts) = thoughts {
        written.insert("reasoning_content".to_owned(), thoughts.into());
    }
    if !calls.is_empty() {
        written.insert("tool_calls".to_owned(), calls.into());
    }
    written.into()
}

/// The arguments as they came, to the last digit; endpoints refuse a history with some that are no JSON object.
fn arguments(text: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(_) => text.to_owned(),
        Err(_) => Value::Object(content::arguments(text)).to_string(),
    }
}

fn shown(message: &ToolMessage, style: Style) -> impl Iterator<Item = Value> {
    message.content.iter().filter(move |part| is_shown(part, style)).map(move |part| part_value(part, style))
}
