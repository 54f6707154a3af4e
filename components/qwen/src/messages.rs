//! Writing the window: as chat completions have it for models of text, in parts of the vendor's own for the others.

use homeagent_adapters::completions::{self, Style};
use homeagent_adapters::content::{self, address, as_text};
use homeagent_sdk::adapter::{ContentPart, Message};
use serde_json::{Value, json};

/// What a model takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Senses {
    Text,
    Pictures,
    Everything,
}

impl Senses {
    /// What a name says: `qwen-vl-max` and `qwen3.7-plus` see, `qwen3-omni-flash` hears as well, `qwen-plus` and
    /// `qwen3.7-max` read.
    pub(crate) fn of(model: &str) -> Self {
        let name = model.to_lowercase();
        match () {
            () if completions::qwen_hears(&name) => Senses::Everything,
            () if completions::qwen_sees(&name) => Senses::Pictures,
            () => Senses::Text,
        }
    }

    fn shows(self, part: &ContentPart) -> bool {
        match part {
            ContentPart::Image(_) => self != Senses::Text,
            ContentPart::Audio(_) => self == Senses::Everything,
            ContentPart::Other(media) => self != Senses::Text && media.mime.starts_with("video/"),
            ContentPart::Text(_) => false,
        }
    }
}

/// The messages as the protocol has them.
pub(crate) fn write(messages: &[Message], senses: Senses) -> Vec<Value> {
    let mut written = completions::write(messages, &Style::default());
    // Each message of the window is one here, since no picture has a message of its own.
    for (message, written) in messages.iter().zip(&mut written) {
        if let Message::Tool(message) = message {
            written["name"] = message.name.as_str().into();
        }
        if senses == Senses::Text {
            if written["content"].is_null() {
                written["content"] = "".into();
            }
            continue;
        }
        let parts = |parts: &[ContentPart]| parts.iter().map(|part| self::part(part, senses)).collect();
        written["content"] = match message {
            Message::System(words) => json!([{"text": words}]),
            Message::User(said) => parts(said),
            Message::Assistant(message) => json!([{"text": message.text}]),
            Message::Tool(message) if message.content.iter().any(|part| senses.shows(part)) => parts(&message.content),
            Message::Tool(message) => json!([{"text": content::result_text(message, |_| false)}]),
        };
    }
    written
}

fn part(part: &ContentPart, senses: Senses) -> Value {
    match part {
        ContentPart::Image(media) if senses.shows(part) => json!({"image": address(media)}),
        ContentPart::Audio(media) if senses.shows(part) => json!({"audio": address(media)}),
        ContentPart::Other(media) if senses.shows(part) => json!({"video": address(media)}),
        other => json!({"text": as_text(other)}),
    }
}
