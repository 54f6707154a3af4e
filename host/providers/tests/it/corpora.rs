use homeagent_providers::{CaseAnswer, try_adapter};
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
    same_calls && ["text", "reasoning", "finish", "usage", "error"].into_iter().all(same)
}

#[tokio::test]
async fn recorded_streams_give_the_expected_answers_however_they_are_cut() {
    let mut count = 0;
    for entry in std::fs::read_dir(corpus()).expect("the corpus is there") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let Some(case) = name.strip_suffix(".stream") else { continue };
        // DeepSeek speaks the same protocol.
        if !["openai__", "deepseek__"].iter().any(|vendor| case.starts_with(vendor)) {
            continue;
        }
        count += 1;
        let bytes = std::fs::read(&path).expect("readable");
        let expected = std::fs::read(path.with_file_name(format!("{case}.expected.json"))).expect("readable");
        let expected: Value = serde_json::from_slice(&expected).expect("JSON");
        for chunk in std::iter::once(0).chain(1..=bytes.len()) {
            let answer = try_adapter(&Native, "openai", &bytes, chunk).await.expect("the adapter works");
            let answer = serde_json::to_value(CaseAnswer::from(answer)).expect("JSON");
            assert!(
                agrees(&expected, &answer),
                "{case}, {chunk} bytes at a time:\n{answer:#}\ninstead of\n{expected:#}"
            );
        }
    }
    assert!(count >= 8, "only {count} cases found");
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
