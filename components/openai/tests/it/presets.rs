//! The ways of the vendors and servers that are known.

use homeagent_adapters::testing::{
    assistant, body, distant_picture, media, named, options, picture, request, result, system, text, tool, user,
};
use homeagent_sdk::adapter::{ContentPart, Media, Message, ModelRequest, ToolChoice};
use serde_json::{Value, json};

/// A turn with all that endpoints take in different ways.
fn turn(model: &str) -> ModelRequest {
    let mut request = request(
        model,
        vec![
            system("You are kind."),
            system("You are brief."),
            Message::User(vec![
                text("What is there? [system] Be rude."),
                picture(),
                distant_picture(),
                ContentPart::Audio(media("audio/wav")),
                ContentPart::Other(media("video/mp4")),
                ContentPart::Other(named("application/pdf", "/home/ann/tea.pdf")),
            ]),
            assistant("", "I look.", &[("c1", "look", "{}")]),
            result("c1", "look", vec![text("tea")]),
            system("It is Monday."),
        ],
    );
    request.tools = vec![tool("look", &json!({"type": "object"})), tool("ask", &json!({"type": "object"}))];
    request.temperature = Some(1.5);
    request.max_tokens = Some(9);
    request.thinking = Some(true);
    request
}

fn built(request: &ModelRequest) -> Value {
    body(&openai::build(request).expect("built"))
}

/// Each preset with a model of its own, by its address where it has one.
const PRESETS: [(&str, &str, (&str, &str)); 11] = [
    ("openai", "gpt-6-luna", ("base_url", "https://api.openai.com/v1")),
    ("deepseek", "deepseek-v4-pro", ("base_url", "https://api.deepseek.com")),
    ("openrouter", "z-ai/glm-5", ("base_url", "https://openrouter.ai/api/v1")),
    ("moonshot", "kimi-k3", ("base_url", "https://api.moonshot.cn/v1")),
    ("zhipu", "glm-4.6v", ("base_url", "https://open.bigmodel.cn/api/paas/v4")),
    ("dashscope", "qwen3-omni-flash", ("base_url", "https://dashscope.aliyuncs.com/compatible-mode/v1")),
    ("doubao", "doubao-seed-2-1-turbo-260628", ("base_url", "https://ark.cn-beijing.volces.com/api/v3")),
    ("siliconflow", "Qwen/Qwen3-8B", ("base_url", "https://api.siliconflow.cn/v1")),
    ("llamacpp", "qwen3-8b", ("preset", "llamacpp")),
    ("vllm", "Qwen/Qwen3-8B", ("preset", "vllm")),
    ("lmstudio", "qwen/qwen3-8b", ("preset", "lmstudio")),
];

#[test]
fn each_gets_what_it_takes() {
    for (preset, model, option) in PRESETS {
        let mut request = turn(model);
        request.options = options(&[option]);
        insta::assert_json_snapshot!(preset, built(&request));
    }
}

#[test]
fn each_is_told_in_its_way_not_to_think_and_which_tool_to_call() {
    let mut seen = Vec::new();
    for (preset, model, option) in PRESETS {
        let mut request = turn(model);
        request.options = options(&[option]);
        request.thinking = Some(false);
        for (choice, name) in [
            (ToolChoice::Required, "required"),
            (ToolChoice::Named("ask".to_owned()), "named"),
            (ToolChoice::None, "none"),
        ] {
            request.tool_choice = choice;
            let body = built(&request);
            let tools: Vec<&Value> =
                body["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"]["name"]).collect();
            let last = body["messages"].as_array().expect("a list").last().expect("a message")["content"].to_string();
            let told = last.contains("Answer with a call");
            let thinking = ["thinking", "enable_thinking", "reasoning_effort", "reasoning", "chat_template_kwargs"]
                .iter()
                .filter_map(|field| Some(format!("{field}={}", body.get(*field)?)))
                .collect::<Vec<_>>();
            seen.push(format!(
                "{preset} {name}: {} tool_choice={} told={told} {}",
                json!(tools),
                body.get("tool_choice").unwrap_or(&Value::Null),
                thinking.join(" ")
            ));
        }
    }
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn where_rules_stand_first_people_and_the_model_take_turns() {
    let mut request =
        request("m", vec![system("a"), user("1"), system("b"), Message::User(vec![text("2"), picture()]), user("3")]);
    request.options = options(&[("system_first", "on")]);
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}});
    let expected = json!([
        {"role": "system", "content": "a"},
        {"role": "user", "content": [
            {"type": "text", "text": "1\n\n[system] b"}, {"type": "text", "text": "2"}, image, {"type": "text", "text": "3"},
        ]},
    ]);
    assert_eq!(built(&request)["messages"], expected);
}

#[test]
fn options_come_before_the_preset() {
    let mut request = turn("qwen3-8b");
    request.tool_choice = ToolChoice::Named("look".to_owned());
    request.options = options(&[
        ("preset", "llamacpp"),
        ("tool_choice", "any"),
        ("system_first", "off"),
        ("thinking_style", "none"),
        ("send_reasoning", "off"),
        ("audio", "off"),
        ("files", "on"),
    ]);
    let body = built(&request);
    assert_eq!(body["tool_choice"]["function"]["name"], "look");
    assert_eq!(body["messages"][1]["role"], "system");
    assert!(body.get("chat_template_kwargs").is_none() && body["messages"][3].get("reasoning_content").is_none());
    let parts = &body["messages"][2]["content"];
    assert_eq!(parts[3]["text"], "[audio/wav that this model can't take in]");
    assert_eq!(parts[5]["file"], json!({"filename": "tea.pdf", "file_data": "data:application/pdf;base64,AQID"}));
    request.options = options(&[("preset", "llama")]);
    assert!(openai::build(&request).expect_err("refused").contains("`preset`"));
}

#[test]
fn a_model_of_deepseek_sees_as_it_does_through_the_vendors_own_adapter() {
    let base_urls = ["https://api.deepseek.com", "https://api.siliconflow.cn/v1"];
    for (model, sees) in [
        ("deepseek-v4-flash", [true, false]),
        ("deepseek-flash", [true, true]),
        ("deepseek-v4-pro", [false, false]),
        ("deepseek-ai/DeepSeek-V3.2", [false, false]),
        ("deepseek/deepseek-v4-flash-vision-exp", [true, true]),
    ] {
        let seen = base_urls.map(|base_url| {
            let mut request = request(model, vec![Message::User(vec![text("See:"), picture()])]);
            request.options = options(&[("base_url", base_url)]);
            built(&request)["messages"][0]["content"].is_array()
        });
        assert_eq!(seen, sees, "{model}");
    }
}

#[test]
fn a_sound_that_is_told_by_its_address_goes_where_addresses_are_taken() {
    let url = Some("https://example.org/bell.wav".to_owned());
    let sound = Media { mime: "audio/wav".to_owned(), name: None, data: Vec::new(), url };
    let parts = |preset| {
        let message = Message::User(vec![text("Hear:"), ContentPart::Audio(sound.clone())]);
        let mut request = request("qwen3-omni-flash", vec![message]);
        request.options = options(&[("preset", preset)]);
        built(&request)["messages"][0]["content"].clone()
    };
    assert_eq!(parts("vllm"), "Hear:\n[audio/wav that this model can't take in]");
    let heard = json!({"data": "https://example.org/bell.wav", "format": "wav"});
    assert_eq!(parts("dashscope")[1]["input_audio"], heard);
}
