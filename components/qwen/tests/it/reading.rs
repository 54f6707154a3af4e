use homeagent_adapters::testing::{self, events, lines, response};
use homeagent_sdk::adapter::{Adapter, StreamEvent};
use qwen::{Qwen, Reader};
use serde_json::{Value, json};

fn chunk(message: &Value, finish: &str) -> String {
    json!({"output": {"choices": [{"message": message, "finish_reason": finish}]},
        "usage": {"input_tokens": 3, "output_tokens": 1}, "request_id": "r"})
    .to_string()
}

#[test]
fn pieces_are_read() {
    let call = |index: u32, id: &str, name: &str, arguments: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [
            {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})
    };
    let data = [
        chunk(&json!({"role": "assistant", "content": "", "reasoning_content": "t"}), "null"),
        chunk(&json!({"role": "assistant", "content": [{"text": "a"}]}), "null"),
        chunk(&call(1, "c2", "g", "{\"a\":"), "null"),
        chunk(&call(1, "", "", "1}"), "tool_calls"),
    ];
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let seen: Vec<String> = lines(Reader::new().step(&events(&data)));
    let seen: Vec<&str> = seen.iter().map(String::as_str).filter(|line| !line.starts_with("usage")).collect();
    assert_eq!(seen, ["reasoning t", "text a", "call 1 c2 g {\"a\":", "call 1 - - 1}", "finish ToolCalls"]);
}

#[test]
fn errors_in_a_stream_end_it_or_are_filters() {
    let read = |code: &str, message: &str| {
        let data = json!({"code": code, "message": message, "request_id": "r"}).to_string();
        lines(Reader::new().step(&[StreamEvent { event: "error".to_owned(), data }]))
    };
    assert_eq!(
        read("DataInspectionFailed", "Output data may contain inappropriate content."),
        ["finish ContentFilter"]
    );
    assert_eq!(read("Throttling", "slow down"), ["error RateLimited: slow down"]);
}

#[test]
fn whole_answers_are_read() {
    let whole = |body: &str| lines(Qwen::parse_response(response(200, body)));
    let call = json!({"id": "x", "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"content": "a", "reasoning_content": "r", "tool_calls": [call, call]});
    let seen = whole(&chunk(&message, "tool_calls"));
    assert_eq!(seen, ["reasoning r", "text a", "call 0 x f {}", "call 1 x f {}", "usage 3 1 None", "finish ToolCalls"]);
    for broken in ["", "{}", "[]", "null", "{\"output\":{\"choices\":[]}}", "oops"] {
        let lines = whole(broken);
        assert!(lines.len() == 1 && lines[0].starts_with("error Protocol"), "{broken}: {lines:?}");
    }
}

#[test]
fn no_json_makes_it_panic() {
    const NAMES: &[&str] = &[
        "output",
        "choices",
        "message",
        "content",
        "text",
        "reasoning_content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "index",
        "id",
        "finish_reason",
        "usage",
        "input_tokens",
        "output_tokens",
        "code",
    ];
    testing::survives(Reader::new, Qwen::classify_error, NAMES, &["null", "stop", "tool_calls"]);
}
