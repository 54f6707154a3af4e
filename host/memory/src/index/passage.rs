//! A passage: the smallest thing that recall finds.

use homeagent_types::Audience;
use serde::{Deserialize, Serialize};

/// What a passage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassageKind {
    /// What somebody said to the agent.
    Said,
    /// What the agent answered.
    Answered,
    /// A piece of a document.
    Document,
    /// A sentence to which facts refer.
    Sentence,
}

impl PassageKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Said, Self::Answered, Self::Document, Self::Sentence];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Answered => "answered",
            Self::Document => "document",
            Self::Sentence => "sentence",
        }
    }

    /// The number it is stored under.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Said => 1,
            Self::Answered => 2,
            Self::Document => 3,
            Self::Sentence => 4,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// A text that can be recalled, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// What it is.
    pub kind: PassageKind,
    /// What it was taken from, unique within its kind: the journal's sequence number, a document's or a sentence's id.
    pub origin: String,
    /// Which piece of the origin it is, from 0: long texts are kept in pieces.
    #[serde(default)]
    pub part: u32,
    /// Where it was said, or the document it stands in.
    pub conversation: String,
    /// The stretch of the conversation it belongs to: one sitting, a day, a chapter. Unique within the conversation.
    pub session: String,
    /// Its place in the conversation. Passages that follow each other there are neighbours.
    pub position: i64,
    /// Who said or wrote it, as people call them; empty where that is nobody.
    pub speaker: String,
    /// Who may see it.
    pub audience: Audience,
    /// When it was said, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// What was said, and what else it is to be found by (such as the caption of a picture).
    pub text: String,
}

impl Passage {
    /// The text that the index and the embedder are given: with the speaker's name, since a question names who said it.
    #[must_use]
    pub(crate) fn searched(speaker: &str, text: &str) -> String {
        if speaker.is_empty() { text.to_owned() } else { format!("{speaker}: {text}") }
    }
}
