use homeagent_adapters::testing::{self, events, lines};
use homeagent_sdk::adapter::{Adapter, HttpResponse, StreamEvent};
use openai::{OpenAi, Reader};
use serde_json::{Value, json};

/// The deltas of a stream, each as one line.
fn read(data: &[&str]) -> Vec<String> {
    lines(Reader::new().step(&events(data)))
}

fn choice(delta: Value, finish: Value) -> String {
    let mut choice = json!({"index": 0});
    choice["delta"] = delta;
    choice["finish_reason"] = finish;
    json!({"choices": [choice]}).to_string()
}

#[test]
fn what_vendors_send_is_understood() {
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("content", choice(json!({"role": "assistant", "content": "a"}), Value::Null), &["text a"]),
        ("nulls", choice(json!({"content": null, "tool_calls": null, "reasoning_content": null, "refusal": null}), Value::Null), &[]),
        ("null delta", json!({"choices": [{"delta": null, "finish_reason": null}], "usage": null, "error": null}).to_string(), &[]),
        ("no choices", json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}).to_string(), &["usage 3 2 None"]),
        ("null choices", json!({"choices": null}).to_string(), &[]),
        ("reasoning", choice(json!({"reasoning": "b"}), Value::Null), &["reasoning b"]),
        ("reasoning twice", choice(json!({"reasoning_content": "b", "reasoning": "b"}), Value::Null), &["reasoning b"]),
        ("reasoning before text", choice(json!({"content": "a", "reasoning_content": "b"}), Value::Null), &["reasoning b", "text a"]),
        (
            "content in parts",
            choice(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}]}), Value::Null),
            &["reasoning t", "text a"],
        ),
        (
            "arguments as an object, index as a text, id as a number",
            choice(json!({"tool_calls": [{"index": "1", "id": 7, "function": {"name": "f", "arguments": {"a": 1}}}]}), json!("tool_calls")),
            &["call 1 7 f {\"a\":1}", "finish ToolCalls"],
        ),
        ("one call instead of a list", choice(json!({"tool_calls": {"id": "x", "function": {"name": "f"}}}), Value::Null), &["call - x f "]),
        ("the old form", choice(json!({"function_call": {"name": "f", "arguments": "{"}}), json!("function_call")), &["call 0 - f {", "finish ToolCalls"]),
        ("refusal", choice(json!({"refusal": "no"}), json!("stop")), &["text no", "finish Refusal"]),
        ("length", choice(json!({}), json!("length")), &["finish Length"]),
        ("filter", choice(json!({}), json!("content_filter")), &["finish ContentFilter"]),
        ("unknown reason", choice(json!({}), json!("whim")), &["finish Other"]),
        ("empty reason", choice(json!({"content": "a"}), json!("")), &["text a"]),
        ("another choice", json!({"choices": [{"index": 1, "delta": {"content": "b"}}]}).to_string(), &[]),
        (
            "usage of many shapes",
            json!({"choices": [{"delta": {}, "usage": {"prompt_tokens": "10", "completion_tokens": 2.0, "total_tokens": 15, "prompt_cache_hit_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 3}}}]}).to_string(),
            &["usage 10 5 Some(4)"],
        ),
        ("cached", json!({"usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}}).to_string(), &["usage 9 1 Some(8)"]),
        ("done", "[DONE]".to_owned(), &["finish Stop"]),
        ("ping", json!({"type": "ping"}).to_string(), &[]),
        ("error", json!({"error": {"message": "m", "type": "server_error"}}).to_string(), &["error Overloaded: m"]),
        ("error with a status", json!({"error": {"message": "m", "code": 429}}).to_string(), &["error RateLimited: m"]),
        ("error as a text", json!({"error": "model is overloaded"}).to_string(), &["error Overloaded: model is overloaded"]),
        ("bare error", json!({"object": "error", "message": "Invalid API key", "code": 40101}).to_string(), &["error Auth: Invalid API key"]),
        ("error of MiniMax", json!({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}).to_string(), &["error Unfunded: insufficient balance"]),
        ("good state of MiniMax", json!({"base_resp": {"status_code": 0, "status_msg": ""}, "choices": [{"delta": {"content": "a"}}]}).to_string(), &["text a"]),
        ("filter as an error", json!({"error": {"code": "content_filter", "message": "m"}}).to_string(), &["finish ContentFilter"]),
        ("error as a reason", choice(json!({"content": "a"}), json!("error")), &["text a", "error Overloaded: the vendor stopped in the middle of the answer: error"]),
    ];
    for (what, data, expected) in cases {
        assert_eq!(read(&[&data]), expected, "{what}");
    }
}

#[test]
fn nothing_is_read_after_the_end() {
    let text = choice(json!({"content": "late"}), Value::Null);
    assert_eq!(read(&["[DONE]", &text]), ["finish Stop"]);
    let stop = choice(json!({}), json!("stop"));
    assert_eq!(read(&[&stop, "[DONE]"]), ["finish Stop"]);
    assert_eq!(read(&["not json", &text]).len(), 1);
    let named = StreamEvent { event: "error".to_owned(), data: "rate limit".to_owned() };
    assert_eq!(lines(Reader::new().step(&[named])), ["error RateLimited: rate limit"]);
}

fn whole(body: &str) -> Vec<String> {
    let response = HttpResponse { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
    lines(OpenAi::parse_response(response))
}

#[test]
fn whole_answers_are_read() {
    let call = json!({"id": "x", "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"content": "a", "reasoning_content": "r", "tool_calls": [call, call]});
    let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let expected = ["reasoning r", "text a", "call 0 x f {}", "call 1 x f {}", "usage 1 2 None", "finish ToolCalls"];
    assert_eq!(whole(&body.to_string()), expected);
    assert_eq!(whole("{\"choices\":[{\"message\":{\"content\":\"a\"}}]}"), ["text a", "finish Stop"]);
    assert_eq!(
        whole("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"),
        ["text a", "finish Stop"]
    );
    for broken in ["", "{}", "[]", "null", "{\"choices\":[]}", "oops"] {
        let lines = whole(broken);
        assert!(lines.len() == 1 && lines[0].starts_with("error Protocol"), "{broken}: {lines:?}");
    }
}

#[test]
fn no_json_makes_it_panic() {
    const NAMES: &[&str] = &[
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "index",
        "error",
        "errors",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "completion_tokens_details",
        "reasoning_tokens",
        "finish_reason",
        "code",
        "type",
        "base_resp",
        "status_code",
        "refusal",
        "function_call",
        "reasoning",
        "thinking",
        "detail",
        "Response",
        "Error",
        "text",
    ];
    testing::survives(Reader::new, OpenAi::classify_error, NAMES, &["stop", "thinking", "error", "stream_options"]);
}
