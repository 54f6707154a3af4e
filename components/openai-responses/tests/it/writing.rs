use homeagent_adapters::testing::{
    assistant, body, distant_picture, events, foreign_history, kept, media, named, options, picture, request, result,
    system, text, tool, user,
};
use homeagent_sdk::adapter::{ContentPart, Message, ModelRequest, ToolChoice};
use openai_responses::Reader;
use serde_json::{Value, json};

fn written(request: &ModelRequest) -> Value {
    body(&openai_responses::build(request).expect("built"))
}

#[test]
fn a_plain_request() {
    let mut request =
        request("gpt-4.1", vec![system("You are kind."), user("Hello"), assistant("Hi", "", &[]), user("Tea?")]);
    request.temperature = Some(0.5);
    request.max_tokens = Some(1);
    insta::assert_json_snapshot!(written(&request));
    assert_eq!(openai_responses::build(&request).expect("built").path, "/responses");
}

#[test]
fn pictures_and_documents() {
    let parts = vec![
        text("See:"),
        picture(),
        distant_picture(),
        ContentPart::Other(media("application/pdf")),
        ContentPart::Audio(media("audio/wav")),
    ];
    insta::assert_json_snapshot!(written(&request("gpt-6-luna", vec![Message::User(parts)]))["input"]);
}

#[test]
fn a_document_goes_with_its_name() {
    let parts = vec![ContentPart::Other(named("application/pdf", "tea.pdf"))];
    let part = &written(&request("gpt-6-luna", vec![Message::User(parts)]))["input"][0]["content"][0];
    assert_eq!((&part["type"], &part["filename"]), (&json!("input_file"), &json!("tea.pdf")));
}

#[test]
fn tools_and_their_schemas() {
    let mut request = request("gpt-6-luna", vec![user("Add")]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[0-9]+$"}}});
    request.tools = vec![tool("add", &schema), tool("now", &json!({}))];
    request.tool_choice = ToolChoice::Named("add".to_owned());
    insta::assert_json_snapshot!(written(&request));
}

#[test]
fn parallel_calls_of_another_vendor_and_their_results() {
    insta::assert_json_snapshot!(written(&request("gpt-6-luna", foreign_history())));
}

#[test]
fn reasoning_goes_back_where_it_stood() {
    let reasoning = |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "E"});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "I look."}]});
    let output = [reasoning("rs_1"), message, call("c1"), reasoning("rs_2"), call("c2")];
    let stream: Vec<String> = (0..)
        .zip(&output)
        .map(|(index, item)| {
            json!({"type": "response.output_item.done", "output_index": index, "item": item}).to_string()
        })
        .collect();
    let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
    let said = kept(Reader::new().step(&events(&stream)));
    let results = [result("c1", "f", vec![text("1"), picture()]), result("c2", "f", vec![text("2")])];
    let mut request = request("gpt-6-luna", [vec![user("q"), said], results.to_vec()].concat());
    insta::assert_json_snapshot!(written(&request)["input"]);

    // A handler has changed the words and dropped a call: everything that is left goes back all the same.
    let Message::Assistant(said) = &mut request.messages[1] else { panic!("it is the model's") };
    said.text = "茶".to_owned();
    said.tool_calls.pop();
    let changed = written(&request)["input"].clone();
    let kinds: Vec<&str> = changed.as_array().expect("items")[1..5]
        .iter()
        .map(|item| item["type"].as_str().or(item["role"].as_str()).expect("a kind"))
        .collect();
    assert_eq!(kinds, ["reasoning", "function_call", "reasoning", "assistant"]);
    let Message::Assistant(said) = &mut request.messages[1] else { panic!("it is the model's") };
    said.text = String::new();
    let rest = written(&request)["input"].clone();
    let kinds: Vec<_> = rest.as_array().expect("items").iter().map(|item| item["type"].clone()).collect();
    assert_eq!(
        kinds[1..4],
        ["reasoning", "function_call", "function_call_output"],
        "nothing follows the second thought"
    );
    request.options = options(&[("send_reasoning", "off")]);
    assert!(!written(&request).to_string().contains("reasoning"));
}

#[test]
fn models_differ_in_how_they_are_told_to_think() {
    let asked = |model: &str, thinking: Option<bool>, set: &[(&str, &str)]| {
        let mut request = request(model, vec![user("q")]);
        request.thinking = thinking;
        request.options = options(set);
        written(&request).get("reasoning").cloned()
    };
    assert_eq!(asked("gpt-6-luna", None, &[]), None);
    assert_eq!(asked("gpt-6-luna", Some(true), &[]), Some(json!({"effort": "medium", "summary": "auto"})));
    assert_eq!(asked("gpt-6-luna", Some(false), &[("effort", "high")]), Some(json!({"effort": "none"})));
    assert_eq!(asked("o3", Some(false), &[]), Some(json!({"effort": "low"})));
    assert_eq!(asked("gpt-5-mini", Some(false), &[]), Some(json!({"effort": "minimal"})));
    assert_eq!(asked("gpt-6-sol", None, &[("effort", "max")]), Some(json!({"effort": "max"})));
    let quiet = asked("gpt-6-sol", Some(true), &[("effort", "high"), ("summary", "off")]);
    assert_eq!(quiet, Some(json!({"effort": "high"})));
    assert_eq!(asked("gpt-4.1", Some(true), &[]), None);
}
