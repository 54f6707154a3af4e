use anthropic::{Anthropic, Reader};
use homeagent_adapters::testing::{self, events, lines, response};
use homeagent_sdk::adapter::Adapter;
use serde_json::{Value, json};

fn read(events_of: &[Value]) -> Vec<String> {
    let data: Vec<String> = events_of.iter().map(Value::to_string).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    lines(Reader::new().step(&events(&data)))
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ended(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}})
}

#[test]
fn thoughts_between_calls_are_kept_with_their_places() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let seen = read(&[
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "a"})),
        delta(0, &json!({"type": "signature_delta", "signature": "S1"})),
        stop(0),
        start(1, &json!({"type": "text", "text": ""})),
        delta(1, &json!({"type": "text_delta", "text": "茶"})),
        stop(1),
        start(2, &call("x")),
        delta(2, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"})),
        stop(2),
        start(3, &json!({"type": "redacted_thinking", "data": "R"})),
        stop(3),
        start(4, &json!({"type": "thinking", "thinking": ""})),
        delta(4, &json!({"type": "signature_delta", "signature": "S2"})),
        stop(4),
        start(5, &json!({"type": "tool_use", "id": "y", "name": "g", "input": {"b": 2}})),
        stop(5),
        ended("tool_use"),
    ]);
    let expected = [
        "reasoning a",
        "opaque thinking a",
        "opaque signature S1",
        "text 茶",
        "call 2 x f ",
        "call 2 - - {\"a\":1}",
        "opaque redacted_thinking R",
        "opaque signature S2",
        "call 5 y g ",
        "call 5 - - {\"b\":2}",
        "opaque blocks thinking,text:3,tool_use,thinking,thinking,tool_use",
        "finish ToolCalls",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn each_reason_to_stop_is_understood() {
    for (reason, finish) in [
        ("end_turn", "Stop"),
        ("stop_sequence", "Stop"),
        ("tool_use", "ToolCalls"),
        ("max_tokens", "Length"),
        ("model_context_window_exceeded", "Length"),
        ("pause_turn", "Pause"),
        ("refusal", "Refusal"),
        ("whim", "Other"),
    ] {
        assert_eq!(read(&[ended(reason)]), [format!("finish {finish}")]);
    }
    assert_eq!(read(&[json!({"type": "message_stop"}), ended("refusal")]), ["finish Stop"]);
}

#[test]
fn usage_counts_the_cache_and_the_later_counts_replace_the_earlier() {
    let begin = json!({"type": "message_start", "message": {"usage": {
        "input_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}});
    assert_eq!(read(&[begin, end]), ["usage 127 1 Some(100)", "usage 127 12 Some(100)", "finish Stop"]);
}

#[test]
fn errors_in_a_stream_end_it() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let late = start(0, &json!({"type": "text", "text": "late"}));
    assert_eq!(read(&[error, late]), ["error Overloaded: Overloaded"]);
    assert!(read(&[json!({"type": "ping"}), json!({"type": "news", "a": 1})]).is_empty());
}

#[test]
fn whole_answers_are_read() {
    let body = json!({
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "a", "signature": "S"},
            {"type": "text", "text": "b"},
            {"type": "tool_use", "id": "x", "name": "f", "input": {}},
            {"type": "tool_use", "id": "y", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let expected = [
        "reasoning a",
        "opaque thinking a",
        "opaque signature S",
        "text b",
        "call 2 x f ",
        "call 3 y f ",
        "call 3 - - {\"a\":1}",
        "usage 3 4 None",
        "opaque blocks thinking,text:1,tool_use,tool_use",
        "finish ToolCalls",
    ];
    assert_eq!(lines(Anthropic::parse_response(response(200, &body.to_string()))), expected);
    for broken in ["", "{}", "[]", "null", "{\"content\":null}", "oops"] {
        let lines = lines(Anthropic::parse_response(response(200, broken)));
        assert!(lines.len() == 1 && lines[0].starts_with("error Protocol"), "{broken}: {lines:?}");
    }
}

#[test]
fn no_json_makes_it_panic() {
    const NAMES: &[&str] = &[
        "type",
        "index",
        "message",
        "usage",
        "content_block",
        "delta",
        "content",
        "text",
        "thinking",
        "signature",
        "data",
        "id",
        "name",
        "input",
        "partial_json",
        "stop_reason",
        "input_tokens",
        "output_tokens",
        "error",
    ];
    const WORDS: &[&str] = &[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "message",
        "error",
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "text_delta",
        "thinking_delta",
        "signature_delta",
        "input_json_delta",
        "end_turn",
    ];
    testing::survives(Reader::new, Anthropic::classify_error, NAMES, WORDS);
}
