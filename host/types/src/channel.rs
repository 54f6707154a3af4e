//! What goes out to people.

use serde::{Deserialize, Serialize};

use crate::{Conversation, Media, Meta};

/// What an output channel can carry, as a set of flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutputCapabilities(pub u8);

impl OutputCapabilities {
    /// Text.
    pub const TEXT: Self = Self(1);
    /// Files.
    pub const FILE: Self = Self(2);
    /// Pictures.
    pub const IMAGE: Self = Self(4);
    /// Sounds.
    pub const AUDIO: Self = Self(8);
    /// JSON documents.
    pub const STRUCTURED: Self = Self(16);

    /// Each flag with its name, in order.
    pub const NAMED: [(Self, &'static str); 5] = [
        (Self::TEXT, "text"),
        (Self::FILE, "file"),
        (Self::IMAGE, "image"),
        (Self::AUDIO, "audio"),
        (Self::STRUCTURED, "structured"),
    ];

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names of the flags that are set, in order.
    pub fn names(self) -> Vec<&'static str> {
        Self::NAMED.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect()
    }
}

/// An output channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelDefinition {
    /// The name in `output_send__<name>`.
    pub name: String,
    /// What it is, for the model.
    pub description: String,
    /// What it can carry.
    pub capabilities: OutputCapabilities,
    /// What a sender should know.
    pub help: String,
    /// Wants pieces of answers while they are written.
    pub streaming: bool,
    /// Additions by name.
    pub meta: Meta,
}

/// What kind of output a message is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// The final text of a turn.
    Reply,
    /// Sent by a tool in the middle of a turn.
    Message,
    /// A turn ended without a reply, or an input could not be taken; a code such as `stopped`, `refused`, `failed`,
    /// `waiting`, `shutting-down`.
    Notice(String),
    /// A kind this version does not know.
    Other(String),
}

/// One message to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Unique; the journal's `output_queued` and `output_sent` carry it.
    pub id: String,
    /// The turn it belongs to.
    pub run: Option<String>,
    /// Where to.
    pub conversation: Conversation,
    /// The reply route of the input that is being answered.
    pub reply_route: Option<String>,
    /// What kind it is.
    pub kind: OutputKind,
    /// The text.
    pub text: String,
    /// What goes with it.
    pub media: Vec<Media>,
    /// A JSON text, for channels that carry structured messages.
    pub structured: Option<String>,
    /// Additions by name.
    pub meta: Meta,
}

/// What the platform said to a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The platform's id of the message.
    pub platform_id: Option<String>,
    /// Additions by name.
    pub meta: Meta,
}

/// A piece of an answer that is still being written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// A piece of the text.
    Text(String),
    /// A piece of what the model thinks.
    Reasoning(String),
    /// A tool starts, by name.
    ToolStarted(String),
    /// A tool ended, by name.
    ToolEnded(String),
    /// What was shown of this round's text is void.
    Void,
}

/// A piece of an answer and whom it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputDelta {
    /// The turn.
    pub run: String,
    /// Where to.
    pub conversation: Conversation,
    /// The reply route of the input that is being answered.
    pub reply_route: Option<String>,
    /// The piece.
    pub content: Shown,
}
