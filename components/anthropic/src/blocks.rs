//! Writing the window as blocks of messages that take turns.

use homeagent_adapters::content::{self, address, as_text};
use homeagent_sdk::adapter::{AssistantMessage, ContentPart, Media, Message, ToolMessage};
use serde_json::{Map, Value, json};

use crate::cache::Cache;
use crate::thoughts;

/// The window in the vendor's shape.
#[derive(Debug)]
pub(crate) struct Window {
    /// The rules that stand at its beginning.
    pub(crate) system: Vec<Value>,
    pub(crate) messages: Vec<Value>,
    /// Thoughts are among the messages.
    pub(crate) thoughts: bool,
}

/// Writes the window. `send_thoughts`: thoughts go back to the model. `last`: a rule for this answer alone.
pub(crate) fn write(messages: &[Message], send_thoughts: bool, last: Option<String>, cache: Cache) -> Window {
    let head = messages.iter().take_while(|message| matches!(message, Message::System(_))).count();
    let mut system: Vec<Value> = messages[..head].iter().flat_map(rule).collect();
    cache.mark(&mut system);
    // What changes from call to call stands at the end, behind what is kept.
    let kept =
        messages.iter().rposition(|message| !matches!(message, Message::System(_))).map_or(head, |last| last + 1);
    let mut turns = Turns::default();
    for message in &messages[head..kept.max(head)] {
        turns.message(message, send_thoughts);
    }
    if let Some((_, blocks)) = turns.turns.last_mut() {
        cache.mark(blocks);
    }
    for message in messages.get(kept.max(head)..).unwrap_or_default() {
        turns.message(message, send_thoughts);
    }
    if let Some(last) = last {
        turns.add("user", vec![text(&content::note(&last))]);
    }
    let thoughts = turns.thoughts;
    Window { system, messages: turns.written(), thoughts }
}

/// Messages of one side in a row are one message.
#[derive(Debug, Default)]
struct Turns {
    turns: Vec<(&'static str, Vec<Value>)>,
    thoughts: bool,
}

impl Turns {
    fn message(&mut self, message: &Message, send_thoughts: bool) {
        match message {
            Message::System(words) if words.trim().is_empty() => {}
            Message::System(words) => self.add("user", vec![text(&content::note(words))]),
            Message::User(parts) => self.add("user", parts.iter().filter_map(part).collect()),
            Message::Assistant(message) => {
                let thought = if send_thoughts { thoughts::blocks(&message.opaque) } else { Vec::new() };
                self.thoughts |= !thought.is_empty();
                let mut blocks = thoughts::in_order(message, thought, calls(message));
                // The vendor refuses a message that ends with a thought: what followed it is gone.
                while blocks.last().is_some_and(thoughts::is_thought) {
                    blocks.pop();
                }
                self.add("assistant", blocks);
            }
            Message::Tool(message) => self.add("user", vec![result(message)]),
        }
    }

    fn add(&mut self, role: &'static str, mut blocks: Vec<Value>) {
        if blocks.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some((last, before)) if *last == role => before.append(&mut blocks),
            _ => self.turns.push((role, blocks)),
        }
    }

    fn written(mut self) -> Vec<Value> {
        if self.turns.first().is_none_or(|(role, _)| *role == "assistant") {
            // The vendor wants a person to begin.
            self.turns.insert(0, ("user", vec![text("(earlier messages are left out)")]));
        }
        self.turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
    }
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn rule(message: &Message) -> Option<Value> {
    match message {
        Message::System(words) if !words.trim().is_empty() => Some(text(words)),
        _ => None,
    }
}

/// A part as a block; the vendor refuses a text without a word in it.
fn part(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Image(media) if is_picture(media) => Some(json!({"type": "image", "source": source(media)})),
        ContentPart::Other(media) if is_document(media) => {
            let mut document = json!({"type": "document", "source": source(media)});
            if media.name.is_some() {
                document["title"] = content::file_name(media).into();
            }
            Some(document)
        }
        other => {
            Some(as_text(other)).filter(|words| !words.trim().is_empty()).map(|words| text(&content::no_note(&words)))
        }
    }
}

fn is_picture(media: &Media) -> bool {
    matches!(media.mime.as_str(), "image/jpeg" | "image/png" | "image/gif" | "image/webp")
}

fn is_document(media: &Media) -> bool {
    media.mime == "application/pdf"
}

fn source(media: &Media) -> Value {
    if media.data.is_empty() {
        return json!({"type": "url", "url": address(media)});
    }
    json!({"type": "base64", "media_type": media.mime, "data": content::base64(media)})
}

fn calls(message: &AssistantMessage) -> Vec<Value> {
    let call = |call: &homeagent_sdk::adapter::ToolCall| {
        let input: Map<String, Value> = content::arguments(&call.arguments);
        json!({"type": "tool_use", "id": id(&call.id), "name": call.name, "input": input})
    };
    message.tool_calls.iter().map(call).collect()
}

fn result(message: &ToolMessage) -> Value {
    let mut blocks: Vec<Value> = message.content.iter().filter_map(part).collect();
    if blocks.is_empty() {
        blocks.push(text(&content::result_text(message, |_| false)));
    }
    let mut result = json!({"type": "tool_result", "tool_use_id": id(&message.call), "content": blocks});
    if message.failed {
        result["is_error"] = true.into();
    }
    result
}

/// An id as the vendor takes it: other vendors' have characters in them that it refuses.
fn id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
