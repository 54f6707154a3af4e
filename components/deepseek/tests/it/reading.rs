use deepseek::{DeepSeek, Reader};
use homeagent_adapters::testing::{events, lines, response};
use homeagent_sdk::adapter::Adapter;
use serde_json::{Value, json};

fn read(chunks: &[Value]) -> Vec<String> {
    let data: Vec<String> = chunks.iter().map(Value::to_string).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    lines(Reader::new().step(&events(&data)))
}

fn choice(delta: &Value, finish: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null})
}

#[test]
fn thoughts_come_before_the_answer_and_the_cache_is_counted() {
    let usage = json!({"choices": [], "usage": {
        "prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42,
        "prompt_cache_hit_tokens": 20, "prompt_cache_miss_tokens": 10,
        "completion_tokens_details": {"reasoning_tokens": 8}}});
    let seen = read(&[
        choice(&json!({"role": "assistant", "content": null, "reasoning_content": ""}), &Value::Null),
        choice(&json!({"content": null, "reasoning_content": "想"}), &Value::Null),
        choice(&json!({"content": "好", "reasoning_content": null}), &Value::Null),
        choice(&json!({"content": ""}), &json!("stop")),
        usage,
    ]);
    assert_eq!(seen, ["reasoning 想", "text 好", "finish Stop", "usage 30 12 Some(20)"]);
}

#[test]
fn the_vendors_reasons_to_stop_are_understood() {
    for (reason, seen) in
        [("length", "finish Length"), ("content_filter", "finish ContentFilter"), ("tool_calls", "finish ToolCalls")]
    {
        assert_eq!(read(&[choice(&json!({}), &json!(reason))]), [seen]);
    }
    let broken = read(&[choice(&json!({"content": "half"}), &json!("insufficient_system_resource"))]);
    assert!(broken[1].starts_with("error Overloaded"), "{broken:?}");
}

#[test]
fn whole_answers_are_read() {
    let message = json!({"content": "a", "reasoning_content": "r", "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let seen = lines(DeepSeek::parse_response(response(200, &body.to_string())));
    assert_eq!(seen, ["reasoning r", "text a", "call 0 x f {}", "finish ToolCalls"]);
}
