//! Inputs that the agent has not taken yet, in order.
//!
//! Each is among them from when it is made until the agent has it, so that an instance which is saved meanwhile hands
//! it on: what it was made of has been seen, and would not be heard a second time.

use std::collections::VecDeque;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use homeagent_sdk::inputs::Submission;
use homeagent_sdk::sockets::ConnectionId;
use homeagent_sdk::{Media, MediaSource, Payload, Peer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// So many are kept.
const MOST: usize = 256;

/// The inputs that the agent has not taken yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kept(VecDeque<One>);

#[derive(Debug, Serialize, Deserialize)]
struct One(#[serde(with = "SubmissionForm")] Submission);

impl Kept {
    /// Keeps an input behind the others; false, where there is no room for it.
    pub(crate) fn push(&mut self, submission: Submission) -> bool {
        let is_room = self.0.len() < MOST;
        if is_room {
            self.0.push_back(One(submission));
        }
        is_room
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The platform's ids of all.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|one| one.0.platform_id.as_deref())
    }

    /// The input that is to be offered next. It stays until [`Kept::pop`].
    pub(crate) fn first(&self) -> Option<&Submission> {
        self.0.front().map(|one| &one.0)
    }

    /// The first one is with the agent, or never will be.
    pub(crate) fn pop(&mut self) {
        self.0.pop_front();
    }
}

/// How a [`Submission`] is saved.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Submission")]
struct SubmissionForm {
    platform_id: Option<String>,
    #[serde(with = "PeerForm")]
    peer: Peer,
    user: String,
    display_name: Option<String>,
    connection: Option<ConnectionId>,
    kind: String,
    #[serde(with = "PayloadForm")]
    payload: Payload,
    #[serde(serialize_with = "save_media", deserialize_with = "load_media")]
    media: Vec<Media>,
    reply_route: Option<String>,
    received_at: Option<u64>,
    meta: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Peer")]
enum PeerForm {
    Person(String),
    Group(String),
    Other(String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Payload")]
enum PayloadForm {
    Text(String),
    Structured(String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Media")]
struct MediaForm {
    mime: String,
    name: Option<String>,
    #[serde(with = "SourceForm")]
    source: MediaSource,
    meta: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "MediaSource")]
enum SourceForm {
    #[serde(serialize_with = "save_bytes", deserialize_with = "load_bytes")]
    Inline(Vec<u8>),
    Url(String),
    Stored(String),
}

#[derive(Serialize, Deserialize)]
struct Medium(#[serde(with = "MediaForm")] Media);

fn save_media<S: Serializer>(media: &[Media], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(media.iter().cloned().map(Medium))
}

fn load_media<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Media>, D::Error> {
    let media = Vec::<Medium>::deserialize(deserializer)?;
    Ok(media.into_iter().map(|medium| medium.0).collect())
}

fn save_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64.encode(bytes))
}

fn load_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    BASE64.decode(String::deserialize(deserializer)?).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission(text: &str) -> Submission {
        let media = |source| Media { mime: "audio/mpeg".to_owned(), name: None, source, meta: Vec::new() };
        Submission {
            media: vec![
                media(MediaSource::Inline(vec![0xff, 0])),
                media(MediaSource::Url("https://x/a.mp3".to_owned())),
                media(MediaSource::Stored("abc".to_owned())),
            ],
            reply_route: Some("{}".to_owned()),
            received_at: Some(5),
            meta: vec![("account".to_owned(), "1".to_owned())],
            ..Submission::text(Peer::Group("30".to_owned()), "20", text).platform_id("1:5").over(3)
        }
    }

    #[test]
    fn what_is_kept_is_the_same_after_it_was_saved_and_stays_in_order() {
        let mut kept = Kept::default();
        assert!(kept.push(submission("一")));
        assert!(kept.push(submission("二")));
        let saved = serde_json::to_vec(&kept).expect("it is saved");
        let mut loaded: Kept = serde_json::from_slice(&saved).expect("it is loaded");
        for text in ["一", "二"] {
            assert_eq!(loaded.first(), Some(&submission(text)));
            loaded.pop();
        }
        assert_eq!(loaded.first(), None);
    }

    #[test]
    fn so_many_are_kept_and_the_first_stay() {
        let mut kept = Kept::default();
        for _ in 0..MOST {
            assert!(kept.push(submission("一")));
        }
        assert!(!kept.push(submission("二")));
        assert_eq!(kept.first(), Some(&submission("一")));
    }
}
