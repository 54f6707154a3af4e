use homeagent_adapters::testing::{self, events, lines, response};
use homeagent_sdk::adapter::Adapter;
use ollama::{Ollama, Reader};
use serde_json::json;

fn read(data: &[&str]) -> Vec<String> {
    lines(Reader::new().step(&events(data)))
}

#[test]
fn lines_are_read() {
    let call = json!({"message": {"tool_calls": [
        {"function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "own", "function": {"name": "f", "arguments": "{\"a\":2}"}},
        {"function": {"name": "f"}},
        {"function": null},
    ]}});
    let seen = read(&[
        r#"{"message":{"role":"assistant","content":"","thinking":"t"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"a","tool_calls":null},"done":false}"#,
        &call.to_string(),
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#,
        r#"{"message":{"content":"late"},"done":false}"#,
    ]);
    let expected = [
        "reasoning t",
        "text a",
        "call 0 - f {\"a\":1}",
        "call 1 own f {\"a\":2}",
        "call 2 - f {}",
        "usage 3 2 None",
        "finish Stop",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn each_reason_to_stop_is_understood() {
    for (reason, finish) in [("stop", "Stop"), ("length", "Length"), ("unload", "Other")] {
        assert_eq!(read(&[&json!({"done": true, "done_reason": reason}).to_string()]), [format!("finish {finish}")]);
    }
    assert_eq!(read(&[r#"{"done":true}"#]), ["finish Stop"]);
}

#[test]
fn errors_in_a_stream_end_it() {
    let seen = read(&[r#"{"error":"model runner has unexpectedly stopped"}"#, r#"{"message":{"content":"late"}}"#]);
    assert_eq!(seen, ["error Overloaded: model runner has unexpectedly stopped"]);
}

#[test]
fn whole_answers_are_read() {
    let whole = |body: &str| lines(Ollama::parse_response(response(200, body)));
    assert_eq!(
        whole(r#"{"message":{"content":"a"},"done":true,"eval_count":1}"#),
        ["text a", "usage 0 1 None", "finish Stop"]
    );
    for broken in ["", "{}", "[]", "null", "oops"] {
        let lines = whole(broken);
        assert!(lines.len() == 1 && lines[0].starts_with("error Protocol"), "{broken}: {lines:?}");
    }
}

#[test]
fn no_json_makes_it_panic() {
    const NAMES: &[&str] = &[
        "message",
        "content",
        "thinking",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "done",
        "done_reason",
        "prompt_eval_count",
        "eval_count",
        "error",
    ];
    testing::survives(Reader::new, Ollama::classify_error, NAMES, &["stop", "length", "load"]);
}
