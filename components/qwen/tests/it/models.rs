//! The list of models.

use homeagent_adapters::testing::{model_lines, reads_anything, response};
use homeagent_sdk::adapter::Adapter as _;
use qwen::Qwen;

fn listed(body: &str) -> Vec<String> {
    model_lines(Qwen::parse_models(response(200, body)))
}

#[test]
fn the_first_page_is_read() {
    assert_eq!(Qwen::build_models_request(Vec::new()).expect("built").path, "/models?page_no=1&page_size=100");
    let body = r#"{"code":null,"message":null,"success":true,"request_id":"r","output":{"total":2,"page_no":1,"page_size":100,
        "models":[{"model":"qwen-plus","name":"Qwen Plus","model_info":{"context_window":1000000,"max_output_tokens":32768}},
        {"model":"text-embedding-v4","name":"text-embedding-v4"}]}}"#;
    assert_eq!(listed(body), ["qwen-plus 1000000 32768 (Qwen Plus)", "text-embedding-v4 - - kind=embedding"]);
}

#[test]
fn what_is_no_list_says_what_it_is() {
    let refused = r#"{"code":"InvalidApiKey","message":"Invalid API-key provided.","request_id":"r"}"#;
    assert_eq!(listed(refused), ["error Auth: Invalid API-key provided."]);
    assert_eq!(listed(r#"{"output":{}}"#), ["error Protocol: the answer has no list of models"]);
}

#[test]
fn no_answer_is_too_odd_to_be_read() {
    const NAMES: &[&str] = &[
        "output",
        "models",
        "model",
        "model_info",
        "context_window",
        "embeddings",
        "text_index",
        "embedding",
        "usage",
        "total_tokens",
        "code",
        "message",
    ];
    reads_anything(
        |answer| {
            let _ = Qwen::parse_models(answer.clone());
            let _ = Qwen::parse_embeddings(answer);
        },
        NAMES,
    );
}
