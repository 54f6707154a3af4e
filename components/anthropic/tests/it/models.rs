//! The list of models.

use anthropic::Anthropic;
use homeagent_adapters::testing::{model_lines, reads_anything, response};
use homeagent_sdk::adapter::Adapter as _;

fn listed(body: &str) -> Vec<String> {
    model_lines(Anthropic::parse_models(response(200, body)))
}

#[test]
fn all_models_are_asked_for_at_once() {
    let request = Anthropic::build_models_request(Vec::new()).expect("built");
    assert_eq!((&*request.method, &*request.path), ("GET", "/models?limit=1000"));
    assert!(request.headers.contains(&("anthropic-version".to_owned(), "2023-06-01".to_owned())));
}

#[test]
fn names_and_limits_are_read() {
    let body = r#"{"data":[
        {"type":"model","id":"claude-haiku-5-5","display_name":"Claude Haiku 5.5","created_at":"2026-10-07T00:00:00Z",
         "max_input_tokens":1000000,"max_tokens":128000,"capabilities":{"batch":{"supported":true}}},
        {"type":"model","id":"claude-haiku-4-5-20251001","display_name":"Claude Haiku 4.5"}
    ],"has_more":false,"first_id":"claude-haiku-5-5","last_id":"claude-haiku-4-5-20251001"}"#;
    let expected =
        ["claude-haiku-5-5 1000000 128000 (Claude Haiku 5.5)", "claude-haiku-4-5-20251001 - - (Claude Haiku 4.5)"];
    assert_eq!(listed(body), expected);
}

#[test]
fn what_is_no_list_says_what_it_is() {
    let refused = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    assert_eq!(listed(refused), ["error Auth: invalid x-api-key"]);
    assert_eq!(listed(r#"{"data":null}"#), ["error Protocol: the answer has no list of models"]);
}

#[test]
fn no_answer_is_too_odd_to_be_read() {
    const NAMES: &[&str] =
        &["data", "id", "display_name", "max_input_tokens", "max_tokens", "error", "message", "type"];
    reads_anything(
        |answer| {
            let _ = Anthropic::parse_models(answer);
        },
        NAMES,
    );
}
