use homeagent_adapters::testing::{
    assistant, body, foreign_history, options, picture, request, result, text, tool, user,
};
use homeagent_sdk::adapter::{Message, ModelRequest, ToolChoice};
use serde_json::{Value, json};

fn written(request: &ModelRequest) -> Value {
    body(&zhipu::build(request).expect("built"))
}

#[test]
fn a_plain_request() {
    let mut request = request("glm-4.7-flash", vec![user("Hello")]);
    request.temperature = Some(1.5);
    request.max_tokens = Some(100);
    insta::assert_json_snapshot!(written(&request));
    request.temperature = Some(0.0);
    assert_eq!(written(&request)["do_sample"], json!(false));
}

#[test]
fn tools_are_offered_as_they_may_be_called() {
    let mut request = request("glm-5", vec![user("q")]);
    request.tools = vec![tool("f", &json!({})), tool("g", &json!({}))];
    request.tool_choice = ToolChoice::Named("g".to_owned());
    insta::assert_json_snapshot!(written(&request));
    request.tool_choice = ToolChoice::None;
    assert!(written(&request).get("tools").is_none());
}

#[test]
fn parallel_calls_of_another_vendor_and_their_results() {
    insta::assert_json_snapshot!(written(&request("glm-4.6v", foreign_history())));
}

#[test]
fn thoughts_of_the_turn_go_back() {
    let calls = |reasoning: &str| assistant("", reasoning, &[("c1", "f", "{}")]);
    let answer = || result("c1", "f", vec![text("r")]);
    let window = vec![user("1"), calls("old"), answer(), user("2"), calls("fresh"), answer()];
    let seen = written(&request("glm-5", window)).to_string();
    assert!(seen.contains("fresh") && !seen.contains("old"), "{seen}");
}

#[test]
fn models_differ_in_what_they_see_and_whether_they_can_be_kept_from_thinking() {
    let asked = |model: &str, thinking: Option<bool>| {
        let mut request = request(model, vec![Message::User(vec![picture()])]);
        request.thinking = thinking;
        let body = written(&request);
        (body["messages"][0]["content"].is_array(), body["thinking"]["type"].clone(), body["reasoning_effort"].clone())
    };
    assert_eq!(asked("glm-4.6v-flash", Some(true)), (true, json!("enabled"), Value::Null));
    assert_eq!(asked("glm-4.7-flash", Some(false)), (false, json!("disabled"), Value::Null));
    assert_eq!(asked("zai-org/GLM-5.3", Some(false)), (false, Value::Null, json!("low")));
    assert_eq!(asked("glm-5", None), (false, Value::Null, Value::Null));
    let mut wrong = request("glm-5", vec![user("q")]);
    wrong.options = options(&[("effort", "loud")]);
    assert!(zhipu::build(&wrong).expect_err("refused").contains("effort"));
}
