//! The pieces that a message is made of.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{cq, field};

/// As many pieces of one message are looked at; what is beyond is said to be left out.
const MOST: usize = 500;

/// One piece of a message: text, a picture, a mention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// Such as `text`, `image`, `at`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// What is said about it.
    pub(crate) data: Map<String, Value>,
}

impl Segment {
    /// A piece of the kind, with nothing said about it.
    pub(crate) fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), data: Map::new() }
    }

    /// A piece of text.
    pub(crate) fn text(text: &str) -> Self {
        Self::new("text").with("text", text)
    }

    /// With this said about it.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    /// A field as text, where it is one and not empty.
    pub(crate) fn string(&self, key: &str) -> Option<String> {
        self.data.get(key).and_then(field::text).filter(|text| !text.is_empty())
    }

    /// A field as an id.
    pub(crate) fn id(&self, key: &str) -> Option<String> {
        self.data.get(key).and_then(field::id)
    }

    /// Whether its words are all there is to it.
    pub(crate) fn is_words(&self) -> bool {
        matches!(self.kind.as_str(), "text" | "at" | "face" | "reply")
    }

    /// A field that is the address of something on the network.
    pub(crate) fn address(&self, key: &str) -> Option<String> {
        self.string(key).filter(|text| is_address(text))
    }
}

/// Whether a text is an address that others can fetch.
pub(crate) fn is_address(text: &str) -> bool {
    let has = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    (has("http://") || has("https://")) && !text.contains(|c: char| c.is_control() || c == ' ')
}

/// Reads a message in any of its forms: a list of pieces, one piece, or a CQ string.
pub(crate) fn read(message: &Value) -> Vec<Segment> {
    match message {
        Value::String(text) => bounded(cq::parse(text).into_iter()),
        Value::Array(items) => bounded(items.iter().filter_map(piece)),
        other => piece(other).into_iter().collect(),
    }
}

fn bounded(segments: impl Iterator<Item = Segment>) -> Vec<Segment> {
    let mut segments = segments;
    let mut taken: Vec<Segment> = segments.by_ref().take(MOST).collect();
    let left = segments.count();
    if left > 0 {
        taken.push(Segment::text(&format!("[另有{left}段未显示]")));
    }
    taken
}

/// One piece; nothing, where it is none.
fn piece(value: &Value) -> Option<Segment> {
    match value {
        // Some clients put bare strings between the pieces.
        Value::String(text) => Some(Segment::text(text)),
        Value::Object(object) => {
            let kind = object.get("type")?.as_str()?.to_owned();
            let data = object.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
            Some(Segment { kind, data })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::samples::any_json;

    #[test]
    fn every_form_is_read() {
        let expected = [Segment::text("hi")];
        for message in [
            json!([{"type": "text", "data": {"text": "hi"}}]),
            json!({"type": "text", "data": {"text": "hi"}}),
            json!("hi"),
            json!(["hi", 1, null, {"type": 5}, {"data": {}}]),
        ] {
            assert_eq!(read(&message), expected, "{message}");
        }
        for message in [json!(null), json!(1), json!([]), json!({})] {
            assert!(read(&message).is_empty(), "{message}");
        }
        assert_eq!(read(&json!([{"type": "shake", "data": null}])), [Segment::new("shake")]);
    }

    #[test]
    fn a_message_of_a_thousand_pieces_is_cut() {
        let pieces = read(&Value::from(vec![json!({"type": "face", "data": {"id": 1}}); 1000]));
        assert_eq!(pieces.len(), MOST + 1);
        assert_eq!(pieces[MOST].string("text").as_deref(), Some("[另有500段未显示]"));
    }

    #[test]
    fn addresses_are_those_of_the_network() {
        assert!(is_address("https://a/b?c=d") && is_address("HTTP://a"));
        for text in ["file:///etc/passwd", "/etc/passwd", "a.jpg", "base64://aa", "", "https://a b", "甲"] {
            assert!(!is_address(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_json_is_read(message in any_json()) {
            prop_assert!(read(&message).len() <= MOST + 1);
        }
    }
}
