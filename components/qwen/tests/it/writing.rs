use homeagent_adapters::testing::{body, foreign_history, media, options, picture, request, system, text, tool, user};
use homeagent_sdk::adapter::{ContentPart, Message, ModelRequest, ToolChoice};
use serde_json::{Value, json};

fn written(request: &ModelRequest) -> Value {
    body(&qwen::build(request).expect("built"))
}

#[test]
fn a_plain_request() {
    let mut request = request("qwen-plus", vec![system("You are kind."), user("Hello")]);
    request.temperature = Some(2.0);
    request.max_tokens = Some(100);
    request.thinking = Some(true);
    request.options = options(&[("thinking_budget", "500"), ("parameters", "{\"enable_search\":true}")]);
    insta::assert_json_snapshot!(written(&request));
    let built = qwen::build(&request).expect("built");
    assert!(built.headers.contains(&("x-dashscope-sse".to_owned(), "enable".to_owned())));
    request.stream = false;
    let built = qwen::build(&request).expect("built");
    assert!(!built.headers.iter().any(|(name, _)| name == "x-dashscope-sse"));
    assert!(written(&request)["parameters"].get("incremental_output").is_none());
}

#[test]
fn pictures_and_sounds() {
    let parts = vec![text("See:"), picture(), ContentPart::Audio(media("audio/wav"))];
    insta::assert_json_snapshot!(written(&request(
        "qwen3-omni-flash",
        vec![system("s"), Message::User(parts.clone())]
    )));
    let deaf = written(&request("qwen3.7-plus", vec![Message::User(parts)]));
    let heard = &deaf["input"]["messages"][0]["content"][2]["text"];
    assert_eq!(heard, "[audio/wav that this model can't take in]");
}

#[test]
fn films_go_to_models_that_see() {
    let content = |model: &str| {
        let parts = vec![ContentPart::Other(media("video/mp4")), ContentPart::Other(media("application/zip"))];
        written(&request(model, vec![Message::User(parts)]))["input"]["messages"][0]["content"].clone()
    };
    let zip = "[application/zip that this model can't take in]";
    assert_eq!(content("qwen3-vl-plus"), json!([{"video": "data:video/mp4;base64,AQID"}, {"text": zip}]));
    assert_eq!(content("qwen-plus"), json!(format!("[video/mp4 that this model can't take in]\n{zip}")));
}

#[test]
fn calls_of_another_vendor_and_their_results() {
    insta::assert_json_snapshot!(written(&request("qwen-plus", foreign_history()))["input"]);
    insta::assert_json_snapshot!(written(&request("qwen3-vl-plus", foreign_history()))["input"]);
}

#[test]
fn a_forced_call_turns_thinking_off() {
    let mut request = request("qwen-plus", vec![user("q")]);
    request.thinking = Some(true);
    request.tools = vec![tool("f", &json!({}))];
    request.tool_choice = ToolChoice::Named("f".to_owned());
    insta::assert_json_snapshot!(written(&request));
    request.tool_choice = ToolChoice::Required;
    let asked = written(&request);
    assert_eq!(asked["parameters"]["enable_thinking"], json!(true));
    assert_eq!(asked["input"]["messages"][1]["content"], "Answer with a call of a tool.");
}

#[test]
fn models_of_text_and_those_that_see_have_different_addresses() {
    let path = |model: &str, set: &[(&str, &str)]| {
        let mut request = request(model, vec![user("q")]);
        request.options = options(set);
        qwen::build(&request).expect("built").path
    };
    for model in ["qwen-plus", "qwen-max", "qwen3-max", "qwen3.7-max", "deepseek-v3.2"] {
        assert!(path(model, &[]).contains("text-generation"), "{model}");
    }
    for model in ["qwen-vl-max", "qwen3-vl-plus", "qwen3.7-plus", "qwen3.5-flash", "qvq-max", "qwen3-omni-flash"] {
        assert!(path(model, &[]).contains("multimodal-generation"), "{model}");
    }
    assert!(path("my-model", &[("endpoint", "multimodal")]).contains("multimodal-generation"));
    assert_eq!(path("qwen-plus", &[("path", "/x")]), "/x");
}
