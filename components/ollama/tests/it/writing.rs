use homeagent_adapters::testing::{
    assistant, body, distant_picture, foreign_history, options, picture, request, result, system, text, tool, user,
};
use homeagent_sdk::adapter::{Message, ModelRequest, ToolChoice};
use serde_json::{Value, json};

fn written(request: &ModelRequest) -> Value {
    body(&ollama::build(request).expect("built"))
}

#[test]
fn a_plain_request() {
    let mut request = request("qwen3:8b", vec![system("You are kind."), user("Hello")]);
    request.temperature = Some(0.5);
    request.max_tokens = Some(100);
    request.options = options(&[
        ("num_ctx", "16384"),
        ("keep_alive", "-1"),
        ("options", "{\"top_k\":20}"),
        ("body", "{\"format\":\"json\"}"),
    ]);
    insta::assert_json_snapshot!(written(&request));
    let built = ollama::build(&request).expect("built");
    assert_eq!(built.path, "/api/chat");
    assert!(built.headers.contains(&("accept".to_owned(), "application/x-ndjson".to_owned())));
    request.options = options(&[("keep_alive", "10m")]);
    assert_eq!(written(&request)["keep_alive"], "10m");
    for (name, value) in [("num_ctx", "large"), ("options", "[]"), ("effort", "loud")] {
        request.options = options(&[(name, value)]);
        assert!(ollama::build(&request).expect_err("refused").contains(name));
    }
}

#[test]
fn pictures_come_along() {
    let parts = vec![text("See:"), picture(), distant_picture(), picture()];
    insta::assert_json_snapshot!(written(&request("gemma3", vec![Message::User(parts)])));
}

#[test]
fn tools_and_their_schemas() {
    let mut request = request("qwen3", vec![user("Add")]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]});
    request.tools = vec![tool("add", &schema), tool("now", &json!({}))];
    request.tool_choice = ToolChoice::Named("add".to_owned());
    insta::assert_json_snapshot!(written(&request));
    request.tool_choice = ToolChoice::None;
    assert!(written(&request).get("tools").is_none());
}

#[test]
fn parallel_calls_of_another_vendor_and_their_results() {
    insta::assert_json_snapshot!(written(&request("qwen3", foreign_history())));
}

#[test]
fn thoughts_go_back_within_the_turn() {
    let calls = |reasoning: &str| assistant("", reasoning, &[("c1", "f", "{}")]);
    let answer = || result("c1", "f", vec![text("r")]);
    let mut request = request(
        "qwen3",
        vec![
            user("1"),
            calls("old"),
            answer(),
            assistant("done", "older", &[]),
            user("2"),
            calls("fresh"),
            answer(),
            user("(interrupt)"),
            calls("fresher"),
            answer(),
        ],
    );
    let seen = |request: &ModelRequest| {
        let messages = written(request)["messages"].as_array().expect("a list").clone();
        messages.iter().filter_map(|message| Some(message.get("thinking")?.as_str()?.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(seen(&request), ["fresh", "fresher"]);
    request.thinking = Some(false);
    assert!(seen(&request).is_empty());
}

#[test]
fn models_differ_in_how_they_are_told_to_think() {
    let asked = |model: &str, thinking: Option<bool>, effort: &str| {
        let mut request = request(model, vec![user("q")]);
        request.thinking = thinking;
        request.options = options(&[("effort", effort)]);
        written(&request).get("think").cloned()
    };
    assert_eq!(asked("qwen3", None, ""), None);
    assert_eq!(asked("qwen3", Some(true), ""), Some(json!(true)));
    assert_eq!(asked("qwen3", Some(false), "high"), Some(json!(false)));
    assert_eq!(asked("library/gpt-oss:20b", Some(true), ""), Some(json!("medium")));
    assert_eq!(asked("gpt-oss", Some(false), ""), Some(json!("low")));
    assert_eq!(asked("gpt-oss", None, "high"), Some(json!("high")));
}
