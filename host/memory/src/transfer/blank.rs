//! What is left of an event, and of a message in a window or a document, when its words are taken out: that it was there.

use homeagent_journal::FORGOTTEN;
use homeagent_types::model::{ContentPart, Message};
use serde_json::Value;

use crate::said::{LEAD, SPEAKER};

/// Fields whose texts are names that programs give, by which a window is rebuilt.
const GIVEN: &[&str] = &[
    "adapter",
    "audience",
    "by",
    "call",
    "channel",
    "code",
    "conversation",
    "effect",
    "finish",
    "id",
    "input_id",
    "kind",
    "line",
    "model",
    "namespace",
    "origin",
    "output_id",
    "plugin",
    "role",
    "run",
    "session",
    "source",
    "state",
    "status",
    "tool",
    "type",
    "user",
];

/// The longest name that a program gives, in bytes.
const LONGEST_GIVEN: usize = 200;

/// Takes the words out of an event's payload.
pub(super) fn payload(payload: &mut Value) {
    let Some(fields) = payload.as_object_mut() else { return words(payload) };
    // It counts bytes of a text that is another now.
    fields.remove(LEAD);
    for (name, value) in fields {
        let message = (name == "message").then(|| serde_json::from_value::<Message>(value.clone()).ok()).flatten();
        match message.and_then(|message| serde_json::to_value(blanked(message)).ok()) {
            Some(blanked) => *value = blanked,
            None if name == SPEAKER => speaker(value),
            None => field(name, value),
        }
    }
}

fn speaker(value: &mut Value) {
    if let Some(who) = value.as_object_mut() {
        who.remove("display_name");
    }
}

fn field(name: &str, value: &mut Value) {
    let is_given = |text: &str| text.len() <= LONGEST_GIVEN && !text.contains(char::is_whitespace);
    match value {
        Value::String(text) if GIVEN.contains(&name) && is_given(text) => {}
        other => words(other),
    }
}

fn words(value: &mut Value) {
    match value {
        Value::String(text) => FORGOTTEN.clone_into(text),
        Value::Array(list) => list.iter_mut().for_each(words),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| field(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A message without its words, with the calls and results that belong together.
pub(super) fn blanked(message: Message) -> Message {
    let content = || vec![ContentPart::Text(FORGOTTEN.to_owned())];
    match message {
        Message::System(_) => Message::System(FORGOTTEN.to_owned()),
        Message::User(_) => Message::User(content()),
        Message::Assistant { mut tool_calls, .. } => {
            tool_calls.iter_mut().for_each(|call| "{}".clone_into(&mut call.arguments));
            Message::Assistant { text: FORGOTTEN.to_owned(), reasoning: String::new(), tool_calls, opaque: Vec::new() }
        }
        Message::Tool { call, name, failed, .. } => Message::Tool { call, name, content: content(), failed },
    }
}
