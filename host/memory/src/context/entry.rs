//! One message with all that is known of it: as it stands in a window, in the file of a context and in a document.

use homeagent_journal::Event;
use homeagent_types::model::{ContentPart, Message};
use serde::{Deserialize, Serialize};

/// The field of a message's event that says which message of its run it is, from 1 on.
pub const NUMBER: &str = "n";

/// The field of a message's event that says that others may have written it.
pub const FOREIGN: &str = "foreign";

/// The field of a message's event that says the time that the model is told behind it.
pub const AT: &str = "at";

/// The field of a tool result's event that says that nothing is computed on it.
pub const NO_MEMORY: &str = "no_memory";

/// The field of a tool result's event with the JSON pointer to what is computed on.
pub const CLEANER: &str = "cleaner";

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// `<run>/<number in it>`, or `seq/<place in the journal>` where no number was noted. Empty: it is in no journal,
    /// since it only closes a call that was cut off.
    pub id: String,
    /// Where it was said.
    pub conversation: String,
    /// Who may see it, in the text form of [`homeagent_types::Audience`].
    pub audience: String,
    /// When it was said, in milliseconds since 1970.
    pub at_ms: i64,
    /// The message.
    pub message: Message,
    /// Others may have written it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The time that the model is told behind it. It is told where it was, so that what precedes the next message stays
    /// the same for ever and vendors' caches hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// A result on which nothing is computed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_memory: bool,
    /// The JSON pointer to the part of a result that is computed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaner: Option<String>,
    /// The document that it came back from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

impl Entry {
    /// What an event of the journal says was put into the window; nothing for one that says no such thing.
    #[must_use]
    pub fn of_event(event: &Event) -> Option<Self> {
        let message = event.payload.get("message").cloned()?;
        let message = serde_json::from_value::<Message>(message)
            .inspect_err(|error| tracing::warn!(seq = event.seq, %error, "a message in the journal can't be read"))
            .ok()?;
        let number = event.run.as_ref().zip(event.payload[NUMBER].as_u64());
        Some(Self {
            id: number.map_or_else(|| format!("seq/{}", event.seq), |(run, number)| numbered(run, number)),
            conversation: event.conversation.clone(),
            audience: event.audience.clone(),
            at_ms: event.at_ms,
            message,
            foreign: event.payload[FOREIGN] == true,
            time: event.payload[AT].as_str().map(str::to_owned),
            no_memory: event.payload[NO_MEMORY] == true,
            cleaner: event.payload[CLEANER].as_str().map(str::to_owned),
            document: None,
        })
    }

    /// Whether it is what a person said.
    #[must_use]
    pub fn is_said(&self) -> bool {
        matches!(self.message, Message::User(_))
    }

    /// The bytes that it holds, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let parts = |parts: &[ContentPart]| -> usize {
            parts.iter().map(|part| if let ContentPart::Text(text) = part { text.len() } else { 64 }).sum()
        };
        let held = match &self.message {
            Message::System(text) => text.len(),
            Message::User(content) | Message::Tool { content, .. } => parts(content),
            Message::Assistant { text, reasoning, tool_calls, opaque } => {
                let calls: usize = tool_calls.iter().map(|call| call.arguments.len() + 64).sum();
                let blobs: usize = opaque.iter().map(|blob| blob.value.len() + 64).sum();
                text.len() + reasoning.len() + calls + blobs
            }
        };
        held + self.id.len() + self.conversation.len() + self.audience.len() + 64
    }
}

/// The id of a run's message.
#[must_use]
pub fn numbered(run: &str, number: u64) -> String {
    format!("{run}/{number}")
}
