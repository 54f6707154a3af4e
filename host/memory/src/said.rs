//! What was said, read from the journal.

use std::hash::{DefaultHasher, Hash, Hasher};

use homeagent_journal::{Event, EventKind};
use homeagent_types::model::{ContentPart, Message};
use homeagent_types::{Audience, Principal};

use crate::context::FOREIGN;

/// The field of a message's event that says who speaks: a [`Principal`].
pub const SPEAKER: &str = "speaker";

/// The field of a message's event that says how many bytes the agent put before the speaker's own words.
pub const LEAD: &str = "lead";

/// The field of a message's event that says what kind of input it was.
pub const KIND: &str = "kind";

/// The field of a message's event that says that the agent may have repeated others' words in it. Unlike the mark of others'
/// own words, it makes no window others'.
pub const REPEATS: &str = "repeats";

/// Who said something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A person.
    Person(Principal),
    /// Somebody in this conversation, of whom no more was kept.
    Somebody,
    /// The agent.
    Agent,
}

/// A message of the journal that said something to somebody.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Its place in the journal.
    pub seq: i64,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Where.
    pub conversation: String,
    /// In which session.
    pub session: String,
    /// In which turn.
    pub run: Option<String>,
    /// Before whom.
    pub audience: Audience,
    /// By whom.
    pub speaker: Speaker,
    /// Whether others may have written it than whom it is said to come from, or the agent may have repeated their words.
    pub foreign: bool,
    /// The speaker's own words.
    pub text: String,
    /// The [`trace`] of the message.
    pub trace: u64,
}

impl Said {
    /// What an event says; none where it says nothing: it is of another kind, of a timer, or the host's own words.
    #[must_use]
    pub fn read(event: &Event) -> Option<Self> {
        let payload = &event.payload;
        if !matches!(event.kind, EventKind::UserMessageAdded | EventKind::AssistantMessageAdded)
            || payload.get("by").is_some()
            || payload.get(KIND).is_some_and(|kind| kind != "message")
        {
            return None;
        }
        let message: Message = serde_json::from_value(payload.get("message")?.clone()).ok()?;
        let whole = visible(&message);
        let speaker = match &message {
            Message::User(_) => {
                let speaker = payload.get(SPEAKER).cloned().and_then(|speaker| serde_json::from_value(speaker).ok());
                speaker.map_or(Speaker::Somebody, Speaker::Person)
            }
            Message::Assistant { .. } => Speaker::Agent,
            Message::System(_) | Message::Tool { .. } => return None,
        };
        let lead = payload[LEAD].as_u64().and_then(|lead| usize::try_from(lead).ok()).unwrap_or(0);
        let text = whole.get(lead..).unwrap_or(&whole).trim().to_owned();
        (!text.is_empty()).then(|| Self {
            seq: event.seq,
            at_ms: event.at_ms,
            conversation: event.conversation.clone(),
            session: event.session.clone(),
            run: event.run.clone(),
            audience: Audience::parse(&event.audience),
            speaker,
            foreign: payload[FOREIGN] == true || payload[REPEATS] == true,
            trace: trace(&message),
            text,
        })
    }

    /// Who speaks, as `namespace:user`; none for the agent and for somebody unknown.
    #[must_use]
    pub fn account(&self) -> Option<String> {
        match &self.speaker {
            Speaker::Person(who) => Some(who.to_string()),
            Speaker::Somebody | Speaker::Agent => None,
        }
    }

    /// The speaker's name for people; none for the agent.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        match &self.speaker {
            Speaker::Person(who) => Some(who.display_name.clone().unwrap_or_else(|| who.user.clone())),
            Speaker::Somebody => Some("somebody".to_owned()),
            Speaker::Agent => None,
        }
    }
}

/// The words of a message that people see.
#[must_use]
pub fn visible(message: &Message) -> String {
    match message {
        Message::System(text) | Message::Assistant { text, .. } => text.clone(),
        Message::User(parts) | Message::Tool { content: parts, .. } => {
            let texts = parts.iter().filter_map(|part| match part {
                ContentPart::Text(text) => Some(text.as_str()),
                _ => None,
            });
            texts.collect()
        }
    }
}

/// A number by which a message in a window is known again in the journal.
#[must_use]
pub fn trace(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    visible(message).hash(&mut hasher);
    hasher.finish()
}
