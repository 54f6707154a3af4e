use homeagent_adapters::testing::{self, events, lines, response};
use homeagent_sdk::adapter::Adapter;
use openai_responses::{Reader, Responses};
use serde_json::{Value, json};

fn read(events_of: &[Value]) -> Vec<String> {
    let data: Vec<String> = events_of.iter().map(Value::to_string).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    lines(Reader::new().step(&events(&data)))
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn ended(kind: &str, response: &Value) -> Value {
    json!({"type": format!("response.{kind}"), "response": response})
}

#[test]
fn items_are_read_in_pieces_and_kept_with_their_places() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "a"}],
        "encrypted_content": "E", "status": null});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"});
    let seen = read(&[
        json!({"type": "response.created", "response": {"status": "in_progress", "error": null}}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a"}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "b"}),
        done(0, &reasoning),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "茶"}),
        done(1, &json!({"type": "message", "content": [{"type": "output_text", "text": "茶"}]})),
        json!({"type": "response.output_item.added", "output_index": 2,
            "item": {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{}"}),
        done(2, &call),
        done(3, &reasoning),
        done(4, &json!({"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{\"a\":1}"})),
        ended(
            "completed",
            &json!({"status": "completed", "error": null, "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 8, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 18}}),
        ),
        json!({"type": "response.output_text.delta", "output_index": 9, "delta": "late"}),
    ]);
    let item = "{\"encrypted_content\":\"E\",\"id\":\"rs_1\",\"summary\":[{\"text\":\"a\",\"type\":\"summary_text\"}],\"type\":\"reasoning\"}";
    let expected = [
        "reasoning a",
        "reasoning \n\n",
        "reasoning b",
        &format!("opaque reasoning/0/0 {item}"),
        "text 茶",
        "call 2 c1 f ",
        "call 2 - - {}",
        "reasoning a",
        &format!("opaque reasoning/3/1 {item}"),
        "call 4 c2 g ",
        "call 4 - - {\"a\":1}",
        "usage 10 8 Some(4)",
        "finish ToolCalls",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn each_way_to_end_is_understood() {
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    for (kind, response, seen) in [
        ("completed", json!({"status": "completed"}), "finish Stop"),
        ("incomplete", incomplete("max_output_tokens"), "finish Length"),
        ("incomplete", incomplete("content_filter"), "finish ContentFilter"),
        ("incomplete", incomplete("whim"), "finish Other"),
        (
            "failed",
            json!({"status": "failed", "error": {"code": "server_error", "message": "m"}}),
            "error Overloaded: m",
        ),
        (
            "failed",
            json!({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "m"}}),
            "error RateLimited: m",
        ),
        ("failed", json!({"status": "failed"}), "error Overloaded: the vendor gave up without a reason"),
    ] {
        assert_eq!(read(&[ended(kind, &response)]), [seen], "{response}");
    }
    let refusal = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "no"});
    assert_eq!(read(&[refusal, ended("completed", &json!({"status": "completed"}))]), ["text no", "finish Refusal"]);
    let error = json!({"type": "error", "code": "context_length_exceeded", "message": "too long"});
    assert_eq!(read(&[error]), ["error ContextOverflow: too long"]);
}

#[test]
fn whole_answers_are_read() {
    let body = json!({
        "status": "completed",
        "error": null,
        "output": [
            {"type": "reasoning", "summary": [{"text": "r"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    });
    let seen = lines(Responses::parse_response(response(200, &body.to_string())));
    assert_eq!(seen, ["reasoning r", "text a", "call 2 c1 f ", "call 2 - - {}", "usage 1 2 None", "finish ToolCalls"]);
    for broken in ["", "{}", "[]", "null", "{\"output\":null}", "oops"] {
        let lines = lines(Responses::parse_response(response(200, broken)));
        assert!(lines.len() == 1 && lines[0].starts_with("error Protocol"), "{broken}: {lines:?}");
    }
}

#[test]
fn no_json_makes_it_panic() {
    const NAMES: &[&str] = &[
        "type",
        "output_index",
        "delta",
        "item",
        "response",
        "status",
        "error",
        "code",
        "message",
        "output",
        "content",
        "summary",
        "text",
        "refusal",
        "call_id",
        "name",
        "arguments",
        "encrypted_content",
        "usage",
        "incomplete_details",
        "reason",
    ];
    const WORDS: &[&str] = &[
        "response.output_text.delta",
        "response.refusal.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_part.added",
        "response.output_item.added",
        "response.output_item.done",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.failed",
        "response.incomplete",
        "error",
        "message",
        "function_call",
        "reasoning",
        "refusal",
    ];
    testing::survives(Reader::new, Responses::classify_error, NAMES, WORDS);
}
