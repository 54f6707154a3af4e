use homeagent_providers::assembler::{AnswerLimits, Assembler};
use homeagent_providers::framing::{EVENT_LIMIT, Framer};
use homeagent_providers::{CaseAnswer, try_adapter};
use homeagent_types::model::AssistantAnswer;
use homeagent_types::ports::Adapters as _;
use proptest::prelude::*;
use serde_json::Value;

use crate::native::Native;

fn corpus() -> std::path::PathBuf {
    std::path::PathBuf::from("../../tests/corpora/llm-streams")
}

/// Everything that stands in the expected answer stands in this one too; a call's id only where one is expected.
fn agrees(expected: &Value, answer: &Value) -> bool {
    let calls = |value: &Value| value["tool_calls"].as_array().cloned().unwrap_or_default();
    let same_calls = calls(expected).len() == calls(answer).len()
        && calls(expected).iter().zip(calls(answer)).all(|(expected, call)| {
            let id = expected.get("id").is_none_or(|id| *id == call["id"]);
            id && expected["name"] == call["name"] && expected["arguments"] == call["arguments"]
        });
    let same = |field: &str| expected[field] == answer[field];
    let signature =
        expected.get("thinking_signature").is_none_or(|signature| *signature == answer["thinking_signature"]);
    same_calls && signature && ["text", "reasoning", "finish", "usage", "error"].into_iter().all(same)
}

/// A recorded stream, and what it has to become.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    adapter: String,
    bytes: Vec<u8>,
    expected: Value,
}

/// All cases; the part of a name before `__` is the adapter's.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(corpus()).expect("the corpus is there") {
        let path = entry.expect("readable").path();
        let file = path.file_name().expect("a file").to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".stream") else { continue };
        let adapter = name.split_once("__").expect("a case is named after its adapter").0.to_owned();
        let expected = std::fs::read(path.with_file_name(format!("{name}.expected.json"))).expect("readable");
        let expected = serde_json::from_slice(&expected).expect("JSON");
        cases.push(Case { name: name.to_owned(), adapter, bytes: std::fs::read(&path).expect("readable"), expected });
    }
    cases
}

impl Case {
    fn check(&self, answer: AssistantAnswer, how: &str) {
        let answer = serde_json::to_value(CaseAnswer::from(answer)).expect("JSON");
        let (name, expected) = (&self.name, &self.expected);
        assert!(agrees(expected, &answer), "{name}, {how}:\n{answer:#}\ninstead of\n{expected:#}");
    }
}

#[tokio::test]
async fn recorded_streams_give_the_expected_answers_however_they_are_cut() {
    let mut count = 0;
    for case in cases() {
        count += 1;
        for chunk in std::iter::once(0).chain(1..=case.bytes.len()) {
            let answer = try_adapter(&Native, &case.adapter, &case.bytes, chunk).await.expect("the adapter works");
            case.check(answer, &format!("{chunk} bytes at a time"));
        }
        // What DeepSeek's own adapter reads, the one for everything compatible has to read as well.
        if case.adapter == "deepseek" {
            let answer = try_adapter(&Native, "openai", &case.bytes, 7).await.expect("the adapter works");
            case.check(answer, "by `openai`");
        }
    }
    assert!(count >= 10, "only {count} cases found");
}

/// Puts the answer together from a stream that is cut at these places.
async fn answer(case: &Case, cuts: &[usize]) -> AssistantAnswer {
    let framing = Native.descriptor(&case.adapter).expect("known").framing;
    let mut session = Native.open(&case.adapter).await.expect("known");
    let mut assembler = Assembler::new(AnswerLimits::default());
    let mut framer = Framer::new(framing, EVENT_LIMIT);
    let mut start = 0;
    for end in cuts.iter().copied().chain([case.bytes.len()]) {
        let mut events = Vec::new();
        framer.push(&case.bytes[start..end], &mut events).expect("small enough");
        for delta in session.step(events).await.expect("it works") {
            assembler.push(delta);
        }
        start = end;
    }
    let mut events = Vec::new();
    framer.finish(&mut events).expect("small enough");
    for delta in session.step(events).await.expect("it works").into_iter().chain(session.end().await.expect("it works"))
    {
        assembler.push(delta);
    }
    assembler.finish()
}

#[tokio::test]
async fn a_stream_may_be_cut_at_every_byte() {
    for case in cases() {
        for cut in 0..=case.bytes.len() {
            case.check(answer(&case, &[cut]).await, &format!("cut at byte {cut}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_stream_may_be_cut_anywhere(case in prop::sample::select(cases()), places in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut cuts: Vec<usize> = places.iter().map(|place| place.index(case.bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        case.check(runtime.block_on(answer(&case, &cuts)), &format!("cut at {cuts:?}"));
    }
}

#[tokio::test]
async fn digits_of_arguments_are_kept_and_broken_ones_are_texts() {
    let stream = |arguments: &str| {
        let call = serde_json::json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}});
        let chunk = serde_json::json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]});
        format!("data: {chunk}\n\n")
    };
    for (arguments, expected) in [
        ("{\"n\":0.10000000000000000000000001}", "\"arguments\":{\"n\":0.10000000000000000000000001}"),
        ("{\"n\":", "\"arguments\":\"{\\\"n\\\":\""),
        ("", "\"arguments\":{}"),
    ] {
        let answer = try_adapter(&Native, "openai", stream(arguments).as_bytes(), 5).await.expect("the adapter works");
        let text = serde_json::to_string(&CaseAnswer::from(answer)).expect("JSON");
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn an_unknown_adapter_is_answered_with_the_known_ones() {
    let error = try_adapter(&Native, "opnai", b"", 0).await.expect_err("unknown");
    assert!(error.to_string().contains("`opnai`") && error.to_string().contains("openai"), "{error}");
}
