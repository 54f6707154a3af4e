use homeagent_providers::assembler::{AnswerLimits, Assembler};
use homeagent_types::model::{AssistantAnswer, FailureClass, FinishReason, ModelDelta, ToolCallDelta, Usage};
use proptest::prelude::*;

/// What it is about, the pieces, and the calls' names and arguments.
type Case = (&'static str, Vec<ModelDelta>, &'static [(&'static str, &'static str)]);

/// The piece of this place in an answer without an end.
type Endless = fn(u32) -> ModelDelta;

fn piece(index: Option<u32>, id: &str, name: &str, arguments: &str) -> ModelDelta {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ModelDelta::ToolCall(ToolCallDelta { index, id: some(id), name: some(name), arguments: arguments.to_owned() })
}

fn assemble(pieces: Vec<ModelDelta>) -> AssistantAnswer {
    let mut assembler = Assembler::new(AnswerLimits::default());
    for piece in pieces {
        assembler.push(piece);
    }
    assembler.push(ModelDelta::Finish(FinishReason::Stop));
    assembler.finish()
}

fn calls(pieces: Vec<ModelDelta>) -> Vec<(String, String)> {
    let answer = assemble(pieces);
    let mut ids: Vec<&str> = answer.tool_calls.iter().map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), answer.tool_calls.len(), "ids are unique");
    assert!(ids.iter().all(|id| !id.is_empty()));
    answer.tool_calls.into_iter().map(|call| (call.name, call.arguments)).collect()
}

#[test]
fn pieces_of_calls_find_each_other() {
    let cases: Vec<Case> = vec![
        (
            "id and name repeated",
            vec![
                piece(Some(0), "a", "add", "{\"a\""),
                piece(Some(0), "a", "add", ":1"),
                piece(Some(0), "a", "add", "}"),
            ],
            &[("add", "{\"a\":1}")],
        ),
        (
            "one index, taking turns",
            vec![
                piece(Some(0), "a", "add", "{"),
                piece(Some(0), "b", "mul", "{"),
                piece(Some(0), "a", "", "}"),
                piece(Some(0), "b", "", "}"),
            ],
            &[("add", "{}"), ("mul", "{}")],
        ),
        (
            "by id, without index",
            vec![
                piece(None, "a", "add", "{"),
                piece(None, "b", "mul", "{"),
                piece(None, "a", "", "}"),
                piece(None, "b", "", "}"),
            ],
            &[("add", "{}"), ("mul", "{}")],
        ),
        (
            "whole calls, one index, no ids",
            vec![
                piece(Some(0), "", "add", "{\"a\":1}"),
                piece(Some(0), "", "add", "{\"a\":2}"),
                piece(Some(0), "", "now", ""),
            ],
            &[("add", "{\"a\":1}"), ("add", "{\"a\":2}"), ("now", "{}")],
        ),
        (
            "a made-up id for every piece",
            vec![piece(Some(0), "x1", "add", "{\"a\""), piece(Some(0), "x2", "", ":1"), piece(Some(0), "x3", "", "}")],
            &[("add", "{\"a\":1}")],
        ),
        (
            "one id for all calls",
            vec![piece(Some(0), "call", "add", "{}"), piece(Some(1), "call", "mul", "{}")],
            &[("add", "{}"), ("mul", "{}")],
        ),
        (
            "arguments said twice",
            vec![piece(Some(0), "a", "add", "{\"a\":\"}\"}"), piece(Some(0), "a", "add", "{\"a\":\"}\"}")],
            &[("add", "{\"a\":\"}\"}")],
        ),
        ("no call at all", vec![piece(Some(0), "", "", ""), piece(None, "", "", " ")], &[]),
        ("null arguments", vec![piece(Some(3), "", "now", "null")], &[("now", "{}")]),
        ("name after id", vec![piece(Some(0), "a", "", ""), piece(Some(0), "", "add", "{}")], &[("add", "{}")]),
    ];
    for (what, pieces, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|(name, args)| ((*name).to_owned(), (*args).to_owned())).collect();
        assert_eq!(calls(pieces), expected, "{what}");
    }
}

#[test]
fn a_stream_that_breaks_keeps_what_came() {
    let mut assembler = Assembler::new(AnswerLimits::default());
    assembler.push(ModelDelta::Text("一半".to_owned()));
    assembler.push(ModelDelta::Usage(Usage { input: 1, output: 1, cached: None, cache_written: None }));
    assembler.push(ModelDelta::Usage(Usage { input: 1, output: 2, cached: Some(1), cache_written: None }));
    let answer = assembler.finish();
    assert_eq!(answer.text, "一半");
    assert_eq!(answer.finish, None);
    assert_eq!(answer.usage, Some(Usage { input: 1, output: 2, cached: Some(1), cache_written: None }));
    assert_eq!(answer.error.map(|failure| failure.class), Some(FailureClass::StreamEndedEarly));
}

#[test]
fn nothing_grows_without_bounds() {
    let limits = AnswerLimits { text: 100, reasoning: 100, arguments: 100, calls: 10, opaque: 100 };
    let endless: [(&str, Endless); 5] = [
        ("text", |_| ModelDelta::Text("0123456789".to_owned())),
        ("reasoning", |_| ModelDelta::Reasoning("0123456789".to_owned())),
        ("arguments", |_| piece(Some(0), "a", "f", "0123456789")),
        ("calls", |place| piece(Some(place), "", "f", "")),
        ("empty calls", |place| piece(Some(place), "", "", "")),
    ];
    for (what, delta) in endless {
        let mut assembler = Assembler::new(limits);
        let taken = (0..1000).take_while(|place| assembler.push(delta(*place))).count();
        assert!(taken < 20, "{what}: {taken} pieces were taken");
        let answer = assembler.finish();
        assert_eq!(answer.error.map(|failure| failure.class), Some(FailureClass::Protocol), "{what}");
        assert!(answer.text.len() + answer.reasoning.len() <= 100);
    }
}

proptest! {
    #[test]
    fn any_pieces_make_an_answer_with_unique_ids(
        pieces in prop::collection::vec(
            (prop::option::of(0u32..3), "[ab]?", "[fg]?", prop_oneof![Just("{"), Just("}"), Just(""), Just("\""), Just("{}")]),
            0..60,
        ),
    ) {
        let pieces = pieces.iter().map(|(index, id, name, arguments)| piece(*index, id, name, arguments)).collect();
        calls(pieces);
    }
}
