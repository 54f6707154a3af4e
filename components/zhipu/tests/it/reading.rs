use homeagent_adapters::testing::{events, lines, response};
use homeagent_sdk::adapter::Adapter;
use serde_json::{Value, json};
use zhipu::{Reader, Zhipu};

#[test]
fn the_vendors_reasons_to_stop_are_understood() {
    let read = |reason: &str| {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": reason}]});
        lines(Reader::new().step(&events(&[&chunk.to_string()])))
    };
    assert_eq!(read("sensitive"), ["finish ContentFilter"]);
    assert_eq!(read("model_context_window_exceeded"), ["finish Length"]);
    assert!(read("network_error")[0].starts_with("error Overloaded"));
}

#[test]
fn whole_answers_are_read() {
    let call = json!({"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"content": "", "reasoning_content": "r", "tool_calls": [call]});
    let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}});
    let seen = lines(Zhipu::parse_response(response(200, &Value::to_string(&body))));
    assert_eq!(seen, ["reasoning r", "call 0 x f {}", "usage 3 2 Some(1)", "finish ToolCalls"]);
}
