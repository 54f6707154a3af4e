use homeagent_adapters::testing::{
    assistant, body, foreign_history, options, picture, request, result, system, text, tool, user,
};
use homeagent_sdk::adapter::{Message, ModelRequest, ToolChoice};
use serde_json::{Value, json};

fn written(request: &ModelRequest) -> Value {
    body(&deepseek::build(request).expect("built"))
}

/// A turn with tools, a turn without, and one that is under way.
fn turns() -> Vec<Message> {
    vec![
        system("You are kind."),
        user("Is there tea?"),
        assistant("", "I have to look.", &[("c1", "look", "{\"where\":\"pot\"}")]),
        result("c1", "look", vec![text("half full")]),
        assistant("There is.", "So I say so.", &[]),
        user("Thanks!"),
        assistant("Gladly.", "They are polite.", &[]),
        user("And cake?"),
        assistant("", "", &[("c2", "look", "{\"where\":\"tin\"}")]),
        result("c2", "look", vec![text("none")]),
    ]
}

fn thoughts(body: &Value) -> Vec<Option<String>> {
    let messages = body["messages"].as_array().expect("a list").iter();
    let said = messages.filter(|message| message["role"] == "assistant");
    said.map(|message| message.get("reasoning_content").map(|thought| thought.as_str().expect("a text").to_owned()))
        .collect()
}

#[test]
fn thoughts_of_turns_with_tools_go_back_and_no_others() {
    let mut request = request("deepseek-flash", turns());
    request.temperature = Some(0.7);
    request.max_tokens = Some(100);
    insta::assert_json_snapshot!(written(&request));
    for thinking in [None, Some(true)] {
        request.thinking = thinking;
        let seen = thoughts(&written(&request));
        assert_eq!(seen[..3], [Some("I have to look.".to_owned()), Some("So I say so.".to_owned()), None]);
        assert!(
            seen[3].as_ref().is_some_and(|thought| thought.contains("look")),
            "a call has to have a thought: {seen:?}"
        );
    }
    request.thinking = Some(false);
    let quiet = written(&request);
    assert_eq!(thoughts(&quiet), [const { None }; 4]);
    assert_eq!((&quiet["thinking"], &quiet["temperature"]), (&json!({"type": "disabled"}), &json!(0.7)));
}

#[test]
fn calls_of_another_vendor_and_their_results() {
    insta::assert_json_snapshot!(written(&request("deepseek-flash", foreign_history())));
}

#[test]
fn calls_without_thoughts_get_different_ones() {
    let calls = |id: &'static str, arguments: &'static str| assistant("", "", &[(id, "look", arguments)]);
    let window = vec![
        user("q"),
        calls("c1", "{\"where\":\"pot\"}"),
        result("c1", "look", Vec::new()),
        calls("c2", "{\"where\":\"tin\"}"),
        result("c2", "look", Vec::new()),
        assistant("Nothing there.", "", &[]),
    ];
    let mut seen = thoughts(&written(&request("deepseek-flash", window)));
    assert!(seen.iter().all(|thought| thought.as_ref().is_some_and(|thought| !thought.trim().is_empty())), "{seen:?}");
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn a_forced_call_turns_thinking_off() {
    let mut request = request("deepseek-flash", vec![user("q")]);
    request.thinking = Some(true);
    request.tools =
        vec![tool("f", &json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}))];
    request.tool_choice = ToolChoice::Named("f".to_owned());
    insta::assert_json_snapshot!(written(&request));
    request.tool_choice = ToolChoice::None;
    assert_eq!(written(&request)["thinking"], json!({"type": "enabled"}));
}

#[test]
fn pictures_are_shown_to_models_that_see_unless_the_source_says_that_they_are_blind() {
    let mut request = request("deepseek-v4-pro", vec![Message::User(vec![text("See:"), picture()])]);
    assert!(written(&request)["messages"][0]["content"].is_string());
    for model in ["deepseek-v4-flash", "deepseek-flash"] {
        request.model = model.to_owned();
        let parts = written(&request)["messages"][0]["content"].clone();
        assert_eq!(parts[1], json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}}));
    }
    request.options = options(&[("images", "off"), ("effort", "max")]);
    let blind = written(&request);
    assert_eq!(blind["messages"][0]["content"], "See:\n[image/png that this model can't take in]");
    assert_eq!(blind["reasoning_effort"], "max");
    request.options = options(&[("effort", "loud")]);
    assert!(deepseek::build(&request).expect_err("refused").contains("effort"));
}
