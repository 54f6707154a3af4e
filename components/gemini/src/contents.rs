//! Writing the window as contents that take turns.

use homeagent_adapters::content::{self, as_text};
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Media, Message, ToolMessage};
use serde_json::{Value, json};

use crate::model::Model;
use crate::signatures;

/// The window in the vendor's shape.
#[derive(Debug)]
pub(crate) struct Window {
    /// The rules that stand at its beginning.
    pub(crate) system: Vec<Value>,
    pub(crate) contents: Vec<Value>,
}

/// Writes the window.
pub(crate) fn write(messages: &[Message], model: Model) -> Window {
    let head = messages.iter().take_while(|message| matches!(message, Message::System(_))).count();
    let system = messages[..head].iter().filter_map(|message| match message {
        Message::System(words) if !words.trim().is_empty() => Some(text(words)),
        _ => None,
    });
    let mut turns = Turns::default();
    for message in &messages[head..] {
        if !matches!(message, Message::Tool(_)) {
            turns.flush();
        }
        match message {
            Message::System(words) if words.trim().is_empty() => {}
            Message::System(words) => turns.add("user", vec![text(&content::note(words))]),
            Message::User(parts) => turns.add("user", parts.iter().filter_map(part).collect()),
            Message::Assistant(message) => turns.add("model", said(message, model)),
            Message::Tool(message) => {
                turns.add("user", vec![result(message)]);
                turns.shown.extend(message.content.iter().filter(|part| is_shown(part)).filter_map(part));
            }
        }
    }
    turns.flush();
    Window { system: system.collect(), contents: turns.written() }
}

/// Messages of one side in a row are one content.
#[derive(Debug, Default)]
struct Turns {
    turns: Vec<(&'static str, Vec<Value>)>,
    /// Pictures and sounds of results, which follow all results of the same round.
    shown: Vec<Value>,
}

impl Turns {
    fn add(&mut self, role: &'static str, mut parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some((last, before)) if *last == role => before.append(&mut parts),
            _ => self.turns.push((role, parts)),
        }
    }

    fn flush(&mut self) {
        if !self.shown.is_empty() {
            let mut parts = vec![text(content::FROM_RESULTS)];
            parts.append(&mut self.shown);
            self.add("user", parts);
        }
    }

    fn written(self) -> Vec<Value> {
        self.turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
    }
}

fn text(words: &str) -> Value {
    json!({"text": words})
}

/// A part of a message; the vendor refuses an empty one.
fn part(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::Other(media) if is_shown(part) => {
            Some(medium(media))
        }
        other => Some(as_text(other)).filter(|words| !words.is_empty()).map(|words| text(&content::no_note(&words))),
    }
}

/// Whether the vendor takes it as it is.
fn is_shown(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text(_) => false,
        ContentPart::Image(media) => {
            matches!(media.mime.as_str(), "image/png" | "image/jpeg" | "image/webp" | "image/heic" | "image/heif")
        }
        ContentPart::Audio(media) => matches!(
            media.mime.as_str(),
            "audio/wav"
                | "audio/x-wav"
                | "audio/mpeg"
                | "audio/mp3"
                | "audio/aiff"
                | "audio/aac"
                | "audio/ogg"
                | "audio/flac"
        ),
        ContentPart::Other(media) => matches!(
            media.mime.as_str(),
            "application/pdf"
                | "video/mp4"
                | "video/mpeg"
                | "video/quicktime"
                | "video/x-msvideo"
                | "video/x-flv"
                | "video/webm"
                | "video/x-ms-wmv"
                | "video/3gpp"
        ),
    }
}

fn medium(media: &Media) -> Value {
    let mime = match media.mime.as_str() {
        "audio/mpeg" => "audio/mp3",
        "audio/x-wav" => "audio/wav",
        "video/quicktime" => "video/mov",
        "video/x-msvideo" => "video/avi",
        "video/x-ms-wmv" => "video/wmv",
        mime => mime,
    };
    match &media.url {
        Some(url) if media.data.is_empty() => json!({"fileData": {"mimeType": mime, "fileUri": url}}),
        _ => json!({"inlineData": {"mimeType": mime, "data": content::base64(media)}}),
    }
}

fn said(message: &AssistantMessage, model: Model) -> Vec<Value> {
    let mut parts = Vec::new();
    for (piece, signature) in signatures::of_text(&message.opaque, &message.text) {
        let mut part = text(piece);
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        parts.push(part);
    }
    for (place, call) in message.tool_calls.iter().enumerate() {
        let arguments = content::arguments(&call.arguments);
        let mut part = json!({"functionCall": {"id": call.id, "name": call.name, "args": arguments}});
        // Of calls side by side the first alone is signed.
        let foreign = (place == 0 && model.signs()).then_some(signatures::FOREIGN);
        if let Some(signature) = signatures::of_call(&message.opaque, place).or(foreign) {
            part["thoughtSignature"] = signature.into();
        }
        parts.push(part);
    }
    parts
}

fn result(message: &ToolMessage) -> Value {
    let text = content::no_note(&content::result_text(message, is_shown));
    let response = if message.failed { json!({"error": text}) } else { json!({"result": text}) };
    json!({"functionResponse": {"id": message.call, "name": message.name, "response": response}})
}
