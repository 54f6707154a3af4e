//! Writing the window.

use serde_json::{Map, Value, json};

use crate::content::{self, address, as_text};
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Media, Message, ToolCall, ToolMessage};

/// Where endpoints differ in what they take of the window. By default it is texts alone, without thoughts.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Which thoughts go back to the model.
    pub thoughts: Thoughts,
    /// The field in which they do.
    pub thoughts_field: &'static str,
    /// The model sees pictures.
    pub images: bool,
    /// The endpoint fetches pictures that are told by their address.
    pub distant: bool,
    /// The model hears sounds.
    pub audio: Audio,
    /// The model sees films.
    pub video: bool,
    /// The model reads documents.
    pub files: bool,
    /// Whose word rules are.
    pub system_role: &'static str,
    /// Rules stand at the beginning, in one message; those that come later are told as notes in what people say.
    pub system_first: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            thoughts: Thoughts::Never,
            thoughts_field: "reasoning_content",
            images: false,
            distant: true,
            audio: Audio::Never,
            video: false,
            files: false,
            system_role: "system",
            system_first: false,
        }
    }
}

/// How sounds are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audio {
    /// Not at all.
    Never,
    /// As bytes.
    Bytes,
    /// By its own address, or as bytes in a `data:` URL.
    Address,
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
pub fn write(messages: &[Message], style: &Style) -> Vec<Value> {
    let mut written = Vec::with_capacity(messages.len());
    // A tool's answer is text. Its pictures follow as a message of their own, after all answers of the same round.
    let mut pictures = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if !matches!(message, Message::Tool(_)) {
            flush(&mut pictures, &mut written);
        }
        match message {
            Message::System(text) => add_rule(&mut written, text, style),
            Message::User(parts) => add_said(&mut written, content(parts, style), style),
            Message::Assistant(message) => {
                let thoughts = thoughts(message, style.thoughts, messages, place);
                written.push(assistant(message, thoughts.map(|thoughts| (style.thoughts_field, thoughts))));
            }
            Message::Tool(message) => {
                let text = content::result_text(message, |part| is_shown(part, style));
                let text = harmless(text, style);
                written.push(json!({"role": "tool", "tool_call_id": message.call, "content": text}));
                pictures.extend(shown(message, style));
            }
        }
    }
    flush(&mut pictures, &mut written);
    written
}

/// Adds a rule to what is written.
pub fn add_rule(written: &mut Vec<Value>, rule: &str, style: &Style) {
    if !style.system_first {
        return written.push(json!({"role": style.system_role, "content": rule}));
    }
    match written.as_mut_slice() {
        [] => written.push(json!({"role": style.system_role, "content": rule})),
        [head] if head["role"] == style.system_role => {
            let before = head["content"].as_str().unwrap_or_default();
            head["content"] = format!("{before}\n\n{rule}").into();
        }
        // After a tool's answer it is the model's turn.
        [.., last] if last["role"] == "tool" => {
            let before = last["content"].as_str().unwrap_or_default();
            last["content"] = format!("{before}\n\n{}", content::note(rule)).into();
        }
        _ => add_said(written, content::note(rule).into(), style),
    }
}

/// Adds what a person says. Where rules have to stand at the beginning, people and the model have to take turns as well.
fn add_said(written: &mut Vec<Value>, content: Value, style: &Style) {
    match written.last_mut().filter(|last| style.system_first && last["role"] == "user") {
        Some(last) => {
            let before = last["content"].take();
            last["content"] = match (before, content) {
                (Value::String(before), Value::String(content)) => format!("{before}\n\n{content}").into(),
                (before, content) => [parts(before), parts(content)].concat().into(),
            };
        }
        None => written.push(json!({"role": "user", "content": content})),
    }
}

/// Content as a list of parts.
fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        text => vec![json!({"type": "text", "text": text})],
    }
}

/// What people and tools write must not look like a note, where there are notes.
fn harmless(text: String, style: &Style) -> String {
    if style.system_first { content::no_note(&text) } else { text }
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

fn is_shown(part: &ContentPart, style: &Style) -> bool {
    match part {
        ContentPart::Text(_) => false,
        ContentPart::Image(media) => style.images && (style.distant || !media.data.is_empty()),
        ContentPart::Audio(media) => match style.audio {
            Audio::Never => false,
            Audio::Bytes => !media.data.is_empty() && audio_format(media).is_some(),
            Audio::Address => audio_format(media).is_some(),
        },
        ContentPart::Other(media) if media.mime == "application/pdf" => style.files && !media.data.is_empty(),
        ContentPart::Other(media) => style.video && media.mime.starts_with("video/"),
    }
}

/// A text where everything is text, which every endpoint takes; else a list of parts.
fn content(parts: &[ContentPart], style: &Style) -> Value {
    if parts.iter().any(|part| is_shown(part, style)) {
        return parts.iter().map(|part| part_value(part, style)).collect();
    }
    let texts: Vec<String> = parts.iter().map(as_text).collect();
    harmless(texts.join("\n"), style).into()
}

fn part_value(part: &ContentPart, style: &Style) -> Value {
    match part {
        ContentPart::Text(text) => json!({"type": "text", "text": harmless(text.clone(), style)}),
        part if !is_shown(part, style) => json!({"type": "text", "text": harmless(as_text(part), style)}),
        ContentPart::Image(media) => json!({"type": "image_url", "image_url": {"url": address(media)}}),
        ContentPart::Audio(media) => {
            let data = match style.audio {
                Audio::Address => address(media),
                Audio::Bytes | Audio::Never => content::base64(media),
            };
            json!({"type": "input_audio", "input_audio": {"data": data, "format": audio_format(media)}})
        }
        ContentPart::Other(media) if media.mime.starts_with("video/") => {
            json!({"type": "video_url", "video_url": {"url": address(media)}})
        }
        ContentPart::Other(media) => {
            json!({"type": "file", "file": {"filename": content::file_name(media), "file_data": address(media)}})
        }
    }
}

fn audio_format(media: &Media) -> Option<&'static str> {
    match media.mime.as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

fn assistant(message: &AssistantMessage, thoughts: Option<(&str, String)>) -> Value {
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
    if let Some((field, thoughts)) = thoughts {
        written.insert(field.to_owned(), thoughts.into());
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

fn shown(message: &ToolMessage, style: &Style) -> impl Iterator<Item = Value> {
    message.content.iter().filter(move |part| is_shown(part, style)).map(move |part| part_value(part, style))
}
