use homeagent_sdk::adapter::{
    AssistantMessage, ContentPart, Media, Message, ModelRequest, ToolCall, ToolChoice, ToolMessage, ToolSpec,
};
use serde_json::{Value, json};

fn request(model: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_tokens: None,
        thinking: None,
        stream: true,
        options: Vec::new(),
    }
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_slice(&openai::build(request).expect("built").body).expect("JSON")
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text(text.to_owned())
}

fn picture() -> ContentPart {
    ContentPart::Image(Media { mime: "image/png".to_owned(), name: None, data: vec![1, 2, 3], url: None })
}

fn assistant(reasoning: &str, arguments: &str) -> Message {
    let call = ToolCall { id: "c1".to_owned(), name: "f".to_owned(), arguments: arguments.to_owned() };
    Message::Assistant(AssistantMessage {
        text: String::new(),
        reasoning: reasoning.to_owned(),
        tool_calls: vec![call],
        opaque: Vec::new(),
    })
}

fn answer(content: Vec<ContentPart>) -> Message {
    Message::Tool(ToolMessage { call: "c1".to_owned(), name: "f".to_owned(), content, failed: false })
}

#[test]
fn a_plain_request() {
    let request = request("m", vec![Message::System("s".to_owned()), Message::User(vec![text("a"), text("b")])]);
    let expected = json!({
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a\nb"}],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(body(&request), expected);
    assert_eq!(openai::build(&request).expect("built").path, "/chat/completions");
}

#[test]
fn tools_and_their_results() {
    let mut request = request(
        "m",
        vec![
            Message::User(vec![text("q"), picture()]),
            assistant("thought", "{\"a\":"),
            answer(vec![picture(), text("r")]),
        ],
    );
    request.tools = vec![ToolSpec { name: "f".to_owned(), description: "d".to_owned(), parameters: String::new() }];
    request.tool_choice = ToolChoice::Named("f".to_owned());
    let body = body(&request);
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}});
    assert_eq!(body["messages"][0]["content"][1], image);
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"not_json\":\"{\\\"a\\\":\"}"}});
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    assert_eq!(body["messages"][2], json!({"role": "tool", "tool_call_id": "c1", "content": "r"}));
    assert_eq!(body["messages"][3]["content"][1], image);
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "f"}}));
    assert_eq!(body["tools"][0]["function"]["parameters"], json!({"type": "object", "properties": {}}));
    request.tools[0].parameters = "{".to_owned();
    assert!(openai::build(&request).expect_err("refused").contains("`f`"));
}

#[test]
fn thoughts_go_back_only_within_the_turn_and_only_where_they_are_wanted() {
    let window = || {
        vec![
            Message::User(vec![text("1")]),
            assistant("old", "{}"),
            answer(vec![text("r")]),
            Message::User(vec![text("2")]),
            assistant("fresh", "{}"),
            answer(vec![text("r")]),
        ]
    };
    let seen = |request: &ModelRequest| {
        let body = body(request);
        let messages = body["messages"].as_array().expect("a list").clone();
        messages
            .iter()
            .filter_map(|message| Some(message.get("reasoning_content")?.as_str()?.to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(seen(&request("kimi-k2", window())), ["fresh"]);
    assert_eq!(
        seen(&request("deepseek-v4-flash", window())),
        ["old", "fresh"],
        "the vendor wants all of turns with tools"
    );
    assert!(seen(&request("gpt-4o", window())).is_empty());
    let mut quiet = request("deepseek-v4-flash", window());
    quiet.thinking = Some(false);
    assert!(seen(&quiet).is_empty());
    assert_eq!(body(&quiet)["thinking"], json!({"type": "disabled"}));
    let mut wanted = request("gpt-4o", window());
    wanted.options = vec![("send_reasoning".to_owned(), "on".to_owned())];
    assert_eq!(seen(&wanted), ["fresh"]);
}

#[test]
fn models_and_options_decide_the_dialect() {
    let with = |model: &str, options: &[(&str, &str)]| {
        let mut request = request(model, vec![Message::User(vec![text("q")])]);
        request.temperature = Some(0.5);
        request.max_tokens = Some(9);
        request.thinking = Some(true);
        request.options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        request
    };
    let reasoner = body(&with("openai/o3-mini", &[]));
    assert_eq!((&reasoner["max_completion_tokens"], &reasoner["reasoning_effort"]), (&json!(9), &json!("medium")));
    assert!(reasoner.get("temperature").is_none() && reasoner.get("max_tokens").is_none());
    let least = [("gpt-5-mini", "minimal"), ("gpt-5.4-mini", "none"), ("gpt-6-luna", "none"), ("o3", "low")];
    for (model, effort) in least {
        let mut quick = with(model, &[]);
        quick.thinking = Some(false);
        assert_eq!(body(&quick)["reasoning_effort"], json!(effort), "{model}");
    }
    assert_eq!(body(&with("Qwen3-8B", &[]))["enable_thinking"], json!(true));
    let plain = body(&with("m", &[]));
    assert_eq!((&plain["max_tokens"], &plain["temperature"]), (&json!(9), &json!(0.5)));
    assert!(plain.get("thinking").is_none());
    let options = [("stream_usage", "off"), ("path", "/v2/chat?x=1"), ("body", "{\"top_p\":0.9}")];
    let request = with("m", &options);
    assert_eq!(openai::build(&request).expect("built").path, "/v2/chat?x=1");
    assert!(body(&request).get("stream_options").is_none());
    assert_eq!(body(&request)["top_p"], json!(0.9));
    for (name, value) in [("body", "[]"), ("path", "x"), ("images", "maybe"), ("thinking_style", "loud")] {
        assert!(openai::build(&with("m", &[(name, value)])).expect_err("refused").contains(name));
    }
}
