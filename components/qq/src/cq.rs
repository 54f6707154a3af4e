//! CQ strings: text with codes in it, such as `[CQ:face,id=14]`, in which `&`, `[`, `]` and, within codes, `,` are
//! written as entities.

use serde_json::{Map, Value};

use crate::field;
use crate::segment::Segment;

const OPEN: &str = "[CQ:";

/// Reads a CQ string. What looks like a code and is none stays text.
pub(crate) fn parse(text: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let (before, code) = rest.split_at(start);
        plain.push_str(&unescape(before));
        let inside = &code[OPEN.len()..];
        // A code ends at the next bracket; an opening one before it means that this one was never closed.
        let end = inside.find(['[', ']']).filter(|end| inside[*end..].starts_with(']'));
        match end.and_then(|end| Some((self::code(&inside[..end])?, end))) {
            Some((segment, end)) => {
                push_text(&mut segments, &mut plain);
                segments.push(segment);
                rest = &inside[end + 1..];
            }
            None => {
                plain.push_str(OPEN);
                rest = inside;
            }
        }
    }
    plain.push_str(&unescape(rest));
    push_text(&mut segments, &mut plain);
    segments
}

fn push_text(segments: &mut Vec<Segment>, plain: &mut String) {
    if !plain.is_empty() {
        segments.push(Segment::text(&std::mem::take(plain)));
    }
}

/// What stands between `[CQ:` and `]`.
fn code(inside: &str) -> Option<Segment> {
    let mut parts = inside.split(',');
    let kind = parts.next()?.trim();
    if kind.is_empty() || !kind.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')) {
        return None;
    }
    let fields = parts.filter_map(|part| part.split_once('='));
    let data = fields.map(|(key, value)| (key.trim().to_owned(), Value::from(unescape(value)))).collect();
    Some(Segment { kind: kind.to_owned(), data })
}

/// Writes segments as a CQ string.
pub(crate) fn write(segments: &[Segment]) -> String {
    let mut text = String::new();
    for segment in segments {
        if segment.kind == "text" {
            text.push_str(&escape(&segment.string("text").unwrap_or_default()));
            continue;
        }
        text.push_str(OPEN);
        text.push_str(&segment.kind);
        write_fields(&mut text, &segment.data);
        text.push(']');
    }
    text
}

fn write_fields(text: &mut String, data: &Map<String, Value>) {
    for (key, value) in data {
        if let Some(value) = field::text(value) {
            text.push(',');
            text.push_str(key);
            text.push('=');
            text.push_str(&escape_within(&value));
        }
    }
}

/// Text as it stands outside codes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('[', "&#91;").replace(']', "&#93;")
}

/// Text as it stands inside codes.
fn escape_within(text: &str) -> String {
    escape(text).replace(',', "&#44;")
}

/// The text that was escaped. Entities that CQ strings do not have stay as they are.
fn unescape(text: &str) -> String {
    // The ampersand last: what it makes is no entity.
    text.replace("&#91;", "[").replace("&#93;", "]").replace("&#44;", ",").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        parse(text).into_iter().map(|segment| segment.kind).collect()
    }

    #[test]
    fn codes_and_text_are_told_apart() {
        let segments = parse("看[CQ:image,file=a.jpg,url=http://x/?a=1&amp;b=2]和[CQ:at,qq=99] 吧");
        assert_eq!(segments.len(), 5);
        assert_eq!(segments[1].string("url").as_deref(), Some("http://x/?a=1&b=2"));
        assert_eq!(segments[3].string("qq").as_deref(), Some("99"));
        assert_eq!(segments[4].string("text").as_deref(), Some(" 吧"));
    }

    #[test]
    fn what_is_no_code_stays_text() {
        for text in ["[CQ:", "[CQ:]", "[CQ:image,file=a", "[CQ:,a=b]", "[CQ:a b]", "[cq:face,id=1]", "]["] {
            assert_eq!(kinds(text), ["text"], "{text}");
            assert_eq!(parse(text)[0].string("text").as_deref(), Some(text), "{text}");
        }
        assert_eq!(kinds("[CQ:face[CQ:face,id=1]"), ["text", "face"]);
        assert!(parse("").is_empty());
    }

    #[test]
    fn entities_are_read_once() {
        assert_eq!(parse("&amp;#91;")[0].string("text").as_deref(), Some("&#91;"));
        assert_eq!(parse("&lt;&amp;&#91;")[0].string("text").as_deref(), Some("&lt;&["));
    }

    #[test]
    fn text_never_becomes_a_code() {
        let text = "[CQ:at,qq=all],&#91;";
        let written = write(&[Segment::text(text)]);
        assert!(!written.contains(OPEN), "{written}");
        assert_eq!(parse(&written), [Segment::text(text)]);
    }

    proptest! {
        #[test]
        fn text_survives_being_written(text in "\\PC*|[\\[\\]&,;#CQ:=0-9amp]*") {
            let segments = if text.is_empty() { Vec::new() } else { vec![Segment::text(&text)] };
            prop_assert_eq!(parse(&write(&segments)), segments);
        }

        #[test]
        fn codes_survive_being_written(
            kind in "[a-z]{1,8}",
            fields in prop::collection::btree_map("[a-z]{1,5}", "[\\[\\]&,;#=甲😀 -~]{0,12}", 0..4),
        ) {
            prop_assume!(kind != "text");
            let data = fields.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
            let segments = [Segment { kind, data }];
            let read = parse(&write(&segments));
            prop_assert_eq!(read.as_slice(), segments.as_slice());
        }

        #[test]
        fn any_string_is_read(text in "(\\[CQ:|\\]|,|=|&amp;|[a-z甲😀]){0,40}") {
            let read = parse(&text);
            prop_assert_eq!(parse(&write(&read)), read);
        }
    }
}
