//! What reaches the agent.

use serde::{Deserialize, Serialize};

use crate::{Audience, Cause, Conversation, Meta, Peer, Principal, Timestamp};

/// Where the bytes of a medium are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediaSource {
    /// Here; base64 in JSON.
    Inline(#[serde(with = "crate::base64_bytes")] Vec<u8>),
    /// At an address.
    Url(String),
    /// In the host's own store, by content address.
    Stored(String),
}

/// A picture, a sound, a film or a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The media type, such as `image/png`.
    pub mime: String,
    /// A file name.
    pub name: Option<String>,
    /// The bytes, or where they are.
    pub source: MediaSource,
    /// Additions by name.
    pub meta: Meta,
}

/// What kind of medium something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// A film.
    Video,
    /// Anything else.
    File,
}

impl MediaKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Image, Self::Audio, Self::Video, Self::File];

    /// The kind that this media type is of.
    #[must_use]
    pub fn of(mime: &str) -> Self {
        match mime.split('/').next() {
            Some("image") => Self::Image,
            Some("audio") => Self::Audio,
            Some("video") => Self::Video,
            _ => Self::File,
        }
    }

    /// Its name, as settings and people have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::File => "file",
        }
    }
}

/// The content of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// What somebody said.
    Text(String),
    /// A JSON document, as text.
    Structured(String),
}

impl Payload {
    /// The text that the model reads.
    pub fn text(&self) -> &str {
        match self {
            Payload::Text(text) | Payload::Structured(text) => text,
        }
    }
}

/// What reaches the agent. Journaled before it is queued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The journal's id of it.
    pub id: String,
    /// The slot, or part of the host, that submitted it.
    pub source: String,
    /// Where it was said.
    pub conversation: Conversation,
    /// Who may read it.
    pub audience: Audience,
    /// Who said it.
    pub principal: Principal,
    /// `message` for what a person says; `notice`, `request`, `timer`, `event` and others for the rest.
    pub kind: String,
    /// What was said.
    pub payload: Payload,
    /// What came with it.
    pub media: Vec<Media>,
    /// Handed back with the answer; opaque to everyone but the channel.
    pub reply_route: Option<String>,
    /// When it was received.
    pub received_at: Timestamp,
    /// Additions by name.
    pub meta: Meta,
}

/// An input as a plugin (or the gateway) knows it, before the host has added what it alone may say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The platform's own id. The same id is taken once.
    pub platform_id: Option<String>,
    /// The other side of the conversation.
    pub peer: Peer,
    /// The account that spoke.
    pub user: String,
    /// A name for people to read.
    pub display_name: Option<String>,
    /// The connection it came over, where that is what vouches for the user.
    pub connection: Option<u64>,
    /// See [`Input::kind`].
    pub kind: String,
    /// What was said.
    pub payload: Payload,
    /// What came with it.
    pub media: Vec<Media>,
    /// See [`Input::reply_route`].
    pub reply_route: Option<String>,
    /// When it was received; now, if it is not said.
    pub received_at: Option<Timestamp>,
    /// Additions by name.
    pub meta: Meta,
}

/// What a timer has done for whoever set it: an input in their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The firing's, with the rights that whoever set the timer has now.
    pub cause: Cause,
    /// Where to, when not to the conversation in which the timer was set.
    pub to: Option<Conversation>,
    /// It does not wait for the turn that runs.
    pub interrupts: bool,
    /// What there is to do. The platform's id tells what this is the claim of; kind, peer and user are not looked at.
    pub submission: Submission,
}

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The input's id in the journal.
    pub input: String,
    /// It had been taken before.
    pub duplicate: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_are_written_as_base64_and_read_in_both_forms() {
        let source = MediaSource::Inline(vec![0xff, 0, 65]);
        let written = serde_json::to_value(&source).expect("it is written");
        assert_eq!(written, json!({ "inline": "/wBB" }));
        for form in [written, json!({ "inline": [255, 0, 65] })] {
            assert_eq!(serde_json::from_value::<MediaSource>(form).expect("it is read"), source);
        }
        for form in [json!({ "inline": "?" }), json!({ "inline": [256] }), json!({ "inline": {} })] {
            assert!(serde_json::from_value::<MediaSource>(form).is_err());
        }
    }
}
