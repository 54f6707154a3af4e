use gemini::{Gemini, Reader};
use homeagent_adapters::testing::{self, events, lines, response};
use homeagent_sdk::adapter::Adapter;
use serde_json::{Value, json};

fn read(chunks: &[Value]) -> Vec<String> {
    let data: Vec<String> = chunks.iter().map(Value::to_string).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    lines(Reader::new().step(&events(&data)))
}

fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

#[test]
fn parts_are_told_apart() {
    let seen = read(&[
        parts(&json!([{"text": "t", "thought": true}, {"text": "a"}])),
        parts(&json!([{"text": "茶", "thoughtSignature": "S1"}, {"inlineData": {"data": ""}}, {}])),
        parts(&json!([
            {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "S2"},
            {"functionCall": {"id": "own", "name": "f"}},
        ])),
    ]);
    let expected = [
        "reasoning t",
        "text a",
        "text 茶",
        "opaque signature/text/1/3 S1",
        "call 0 - f {\"a\":1}",
        "opaque signature/call/0 S2",
        "call 1 own f {}",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn each_reason_to_stop_is_understood() {
    for (reason, seen) in [
        ("STOP", "finish Stop"),
        ("MAX_TOKENS", "finish Length"),
        ("SAFETY", "finish ContentFilter"),
        ("RECITATION", "finish ContentFilter"),
        ("PROHIBITED_CONTENT", "finish ContentFilter"),
        ("OTHER", "finish Other"),
        ("MALFORMED_FUNCTION_CALL", "error Protocol: the model's answer is of no use (MALFORMED_FUNCTION_CALL)"),
    ] {
        assert_eq!(read(&[json!({"candidates": [{"finishReason": reason}]})]), [seen]);
    }
    assert!(read(&[json!({"candidates": [{"finishReason": "FINISH_REASON_UNSPECIFIED"}]})]).is_empty());
    assert_eq!(read(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]), ["finish ContentFilter"]);
}

#[test]
fn usage_counts_thinking_and_the_cache() {
    let usage = |usage: Value| read(&[json!({"usageMetadata": usage})]);
    let all = json!({"promptTokenCount": 10, "toolUsePromptTokenCount": 2, "candidatesTokenCount": 3,
        "thoughtsTokenCount": 4, "cachedContentTokenCount": 5});
    assert_eq!(usage(all), ["usage 12 7 Some(5)"]);
    assert_eq!(usage(json!({"promptTokenCount": 10, "thoughtsTokenCount": 4})), ["usage 10 4 None"]);
    assert!(usage(json!({"totalTokenCount": 1})).is_empty());
}

#[test]
fn whole_answers_are_read_and_lists_of_chunks_too() {
    let first = parts(&json!([{"text": "a"}]));
    let last = json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}});
    let list = json!([first, last]).to_string();
    assert_eq!(lines(Gemini::parse_response(response(200, &list))), ["text a", "usage 1 0 None", "finish Stop"]);
    assert_eq!(lines(Gemini::parse_response(response(200, &first.to_string()))), ["text a", "finish Stop"]);
    for broken in ["", "{}", "[]", "null", "{\"candidates\":[]}", "oops"] {
        let lines = lines(Gemini::parse_response(response(200, broken)));
        assert!(lines.len() == 1 && lines[0].starts_with("error Protocol"), "{broken}: {lines:?}");
    }
    let error = json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}});
    assert_eq!(read(&[error, parts(&json!([{"text": "late"}]))]), ["error Overloaded: overloaded"]);
}

#[test]
fn no_json_makes_it_panic() {
    const NAMES: &[&str] = &[
        "candidates",
        "content",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "id",
        "name",
        "args",
        "index",
        "finishReason",
        "finishMessage",
        "usageMetadata",
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "promptFeedback",
        "blockReason",
        "error",
        "details",
        "retryDelay",
    ];
    testing::survives(Reader::new, Gemini::classify_error, NAMES, &["STOP", "SAFETY", "1e9s", "-1", "a"]);
}
