use homeagent_providers::framing::{EventTooLarge, Framer};
use homeagent_types::model::{Framing, StreamEvent};
use proptest::prelude::*;

/// All events of `bytes`, which come in the given pieces.
fn events<'a>(framing: Framing, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<StreamEvent> {
    let mut framer = Framer::new(framing, 1 << 20);
    let mut events = Vec::new();
    for piece in pieces {
        framer.push(piece, &mut events).expect("small enough");
    }
    framer.finish(&mut events).expect("small enough");
    events
}

/// The bytes, and the names and data of their events.
type Case = (&'static [u8], &'static [(&'static str, &'static str)]);

fn sse(bytes: &[u8]) -> Vec<(String, String)> {
    events(Framing::Sse, std::iter::once(bytes)).into_iter().map(|event| (event.event, event.data)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(event, data)| ((*event).to_owned(), (*data).to_owned())).collect()
}

#[test]
fn the_rules_of_the_standard_hold() {
    let cases: &[Case] = &[
        (b"data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
        (b"data: a\r\ndata: b\r\n\r\n", &[("", "a\nb")]),
        (b"data: a\rdata: b\r\r", &[("", "a\nb")]),
        (b"\xEF\xBB\xBFdata: a\n\n", &[("", "a")]),
        (b"data:a\ndata:  b\n\n", &[("", "a\n b")]),
        (b": comment\n\n\n:\ndata: a\n\n", &[("", "a")]),
        (b"event: ping\ndata: {}\nid: 7\nretry: 10\n\ndata: x\n\n", &[("ping", "{}"), ("", "x")]),
        (b"event: lonely\n\ndata: x\n\n", &[("", "x")]),
        (b"data\n\n", &[("", "")]),
        (b"data\ndata\n\n", &[("", "\n")]),
        (b"nonsense: a\ndata: b: c\n\n", &[("", "b: c")]),
        (b"data: \xE4\xB8\n\n", &[("", "\u{FFFD}")]),
        ("data: 茶\n\n".as_bytes(), &[("", "茶")]),
    ];
    for (bytes, expected) in cases {
        assert_eq!(sse(bytes), pairs(expected), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn an_event_without_its_blank_line_counts_only_when_it_is_whole() {
    assert_eq!(sse(b"data: {\"a\":1}"), pairs(&[("", "{\"a\":1}")]));
    assert_eq!(sse(b"data: [DONE]\n"), pairs(&[("", "[DONE]")]));
    assert_eq!(sse(b"data: {\"a\":"), pairs(&[]));
    assert_eq!(sse(b"data: {\"a\":1}\n\nda"), pairs(&[("", "{\"a\":1}")]));
}

#[test]
fn lines_of_json_need_no_last_line_break() {
    let bytes: &[u8] = b"\xEF\xBB\xBF{\"a\":\"\\r\"}\r\n\n {\"b\":2} \n{\"c\":3}";
    let data: Vec<String> = events(Framing::Ndjson, bytes.chunks(2)).into_iter().map(|event| event.data).collect();
    assert_eq!(data, ["{\"a\":\"\\r\"}", "{\"b\":2}", "{\"c\":3}"]);
}

#[test]
fn an_endless_event_is_refused() {
    let attempt = |framing, piece: &[u8]| -> Result<(), EventTooLarge> {
        let mut framer = Framer::new(framing, 1000);
        let mut events: Vec<StreamEvent> = Vec::new();
        for _ in 0..10_000 {
            framer.push(piece, &mut events)?;
        }
        Ok(())
    };
    for piece in [&b"data: aaaaaaaa\n"[..], b"aaaaaaaa", b"data\n"] {
        assert_eq!(attempt(Framing::Sse, piece), Err(EventTooLarge { limit: 1000 }));
    }
    assert_eq!(attempt(Framing::Ndjson, b"{\"a\":"), Err(EventTooLarge { limit: 1000 }));
    assert_eq!(attempt(Framing::Sse, b": keep-alive\n\n"), Ok(()));
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                Just(b"data: ".to_vec()), Just(b"event: e".to_vec()), Just(b"\n".to_vec()), Just(b"\r".to_vec()),
                Just(b"\r\n".to_vec()), Just(b"\n\n".to_vec()), Just(b": c".to_vec()), Just(b"\xEF\xBB\xBF".to_vec()),
                Just("茶🍵".as_bytes().to_vec()), Just(b"{\"a\":1}".to_vec()), prop::collection::vec(any::<u8>(), 0..4),
            ],
            0..40,
        ),
        cuts in prop::collection::vec(1usize..7, 1..40),
    ) {
        let bytes = parts.concat();
        for framing in [Framing::Sse, Framing::Ndjson] {
            let whole = events(framing, std::iter::once(&bytes[..]));
            prop_assert_eq!(&events(framing, bytes.chunks(1)), &whole);
            let mut rest = &bytes[..];
            let mut pieces = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(&events(framing, pieces.into_iter()), &whole);
        }
    }
}
