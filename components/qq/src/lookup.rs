//! What has to be asked for before a message can be read whole, and what came of it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::event::Place;
use crate::fetch::{self, Fetched};
use crate::field;
use crate::segment::{self, Segment, is_address};

/// The longest sound that is taken along within a message, in characters of base64: an input has at most 1 MiB.
const LONGEST_INLINE: usize = 600 << 10;

/// Something to ask the client for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lookup {
    /// What a mentioned person is called.
    Name(String),
    /// The messages of a forward, by its id.
    Forward(String),
    /// A voice as MP3, by its file.
    Voice(String),
    /// Where a picture is, by its file.
    Image(String),
    /// A picture itself, by its address, and where it is asked for: not at the client.
    Picture { url: String, address: String },
    /// The message that was replied to, by its id.
    Quoted(String),
}

/// What is known by now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// What people are called, by account.
    pub(crate) names: BTreeMap<String, String>,
    /// The messages of forwards.
    pub(crate) forwards: BTreeMap<String, Vec<Value>>,
    /// Where files are.
    pub(crate) files: BTreeMap<String, String>,
    /// Pictures that were fetched, by their address.
    pub(crate) pictures: BTreeMap<String, Fetched>,
    pub(crate) quoted: Option<Quoted>,
}

/// The message that was replied to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quoted {
    pub(crate) user: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) segments: Vec<Segment>,
    /// There is more to it than these pieces say; only the client can tell.
    pub(crate) more: bool,
}

impl Lookup {
    /// The action of the client's that finds it out, and its parameters.
    pub(crate) fn request(&self, place: &Place) -> Option<(&'static str, Value)> {
        Some(match self {
            Self::Name(user) => match place {
                Place::Group(group) => {
                    ("get_group_member_info", json!({"group_id": field::number(group), "user_id": field::number(user)}))
                }
                Place::Private(_) => ("get_stranger_info", json!({"user_id": field::number(user)})),
            },
            // Clients disagree about the parameter's name.
            Self::Forward(id) => ("get_forward_msg", json!({"id": id, "message_id": id})),
            Self::Voice(file) => ("get_record", json!({"file": file, "out_format": "mp3"})),
            Self::Image(file) => ("get_image", json!({"file": file})),
            Self::Quoted(id) => ("get_msg", json!({"message_id": field::number(id)})),
            Self::Picture { .. } => return None,
        })
    }
}

impl Facts {
    /// Takes in what the client answered; an answer that says nothing changes nothing.
    pub(crate) fn learn(&mut self, lookup: &Lookup, data: &Value) {
        match lookup {
            Lookup::Name(user) => {
                if let Some(name) = field::name(&data["card"]).or_else(|| field::name(&data["nickname"])) {
                    self.names.insert(user.clone(), name);
                }
            }
            Lookup::Forward(id) => {
                let nodes = ["messages", "message"].into_iter().find_map(|key| data[key].as_array());
                if let Some(nodes) = nodes {
                    self.forwards.insert(id.clone(), nodes.clone());
                }
            }
            Lookup::Voice(file) => {
                let sound = bytes(data).filter(|bytes| bytes.len() <= LONGEST_INLINE);
                let sound = sound.map(|bytes| format!("data:audio/mpeg;base64,{bytes}"));
                if let Some(url) = sound.or_else(|| place(data)) {
                    self.files.insert(file.clone(), url);
                }
            }
            Lookup::Image(file) => {
                if let Some(url) = place(data) {
                    self.files.insert(file.clone(), url);
                }
                let picture = bytes(data).filter(|bytes| bytes.len() <= fetch::LARGEST * 4 / 3 + 4);
                if let Some(picture) = picture.and_then(|bytes| BASE64.decode(bytes).ok()) {
                    let url = self.files.entry(file.clone()).or_insert_with(|| format!("client:{file}"));
                    self.pictures.insert(url.clone(), Fetched::read(picture));
                }
            }
            // What became of it is told, not answered.
            Lookup::Picture { .. } => {}
            Lookup::Quoted(_) => {
                let sender = &data["sender"];
                let user = field::party(&sender["user_id"]).or_else(|| field::party(&data["user_id"]));
                let name = field::name(&sender["card"]).or_else(|| field::name(&sender["nickname"]));
                let mut segments = segment::read(&data["message"]);
                if segments.is_empty() {
                    segments = segment::read(&data["raw_message"]);
                }
                if user.is_some() || !segments.is_empty() {
                    self.quoted = Some(Quoted { user, name, segments, more: false });
                }
            }
        }
    }
}

/// The bytes of a file in base64, where they came with the answer.
fn bytes(data: &Value) -> Option<&str> {
    let bytes = data["base64"].as_str().or_else(|| data["file"].as_str());
    let bytes = bytes.map(|bytes| bytes.strip_prefix("base64://").unwrap_or(bytes));
    let is_said = data["base64"].is_string() || data["file"].as_str().is_some_and(|file| file.starts_with("base64://"));
    bytes.filter(|bytes| is_said && !bytes.is_empty())
}

/// Where a file is: on the network, else on the client's machine.
fn place(data: &Value) -> Option<String> {
    let said = || ["url", "file"].into_iter().filter_map(|key| data[key].as_str());
    let address = said().find(|text| is_address(text)).map(str::to_owned);
    address.or_else(|| {
        let path = said().find(|text| text.starts_with('/') || text.starts_with("file:///"))?;
        Some(if path.starts_with('/') { format!("file://{path}") } else { path.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(lookup: &Lookup, data: &Value) -> Facts {
        let mut facts = Facts::default();
        facts.learn(lookup, data);
        facts
    }

    #[test]
    fn a_voice_is_found_wherever_the_client_puts_it() {
        let voice = Lookup::Voice("a.amr".to_owned());
        for (data, url) in [
            (json!({"file": "/tmp/a.mp3"}), "file:///tmp/a.mp3"),
            (json!({"file": "/tmp/a.mp3", "url": "https://x/a.mp3"}), "https://x/a.mp3"),
            (json!({"file": "/tmp/a.mp3", "base64": "AAAA"}), "data:audio/mpeg;base64,AAAA"),
            (json!({"file": "base64://AAAA"}), "data:audio/mpeg;base64,AAAA"),
        ] {
            assert_eq!(learnt(&voice, &data).files["a.amr"], url, "{data}");
        }
        for data in [json!(null), json!({"file": "a.mp3"}), json!({"file": 5}), json!({"base64": "A".repeat(1 << 20)})]
        {
            assert!(learnt(&voice, &data).files.is_empty());
        }
    }

    #[test]
    fn an_answer_that_says_nothing_teaches_nothing() {
        for lookup in [Lookup::Name("1".to_owned()), Lookup::Forward("1".to_owned()), Lookup::Quoted("1".to_owned())] {
            for data in [json!(null), json!([]), json!({"card": "", "nickname": 5, "messages": "x"})] {
                assert_eq!(learnt(&lookup, &data), Facts::default(), "{lookup:?} {data}");
            }
        }
    }
}
