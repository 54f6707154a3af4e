//! The list of models.

use gemini::Gemini;
use homeagent_adapters::testing::{model_lines, reads_anything, response};
use homeagent_sdk::adapter::Adapter as _;

fn listed(body: &str) -> Vec<String> {
    model_lines(Gemini::parse_models(response(200, body)))
}

#[test]
fn models_that_talk_and_models_that_make_vectors_are_listed() {
    assert_eq!(Gemini::build_models_request(Vec::new()).expect("built").path, "/models?pageSize=1000");
    let body = r#"{"models":[
        {"name":"models/gemini-3.5-flash-lite","version":"001","displayName":"Gemini 3.5 Flash-Lite",
         "inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]},
        {"name":"models/gemini-embedding-001","displayName":"Gemini Embedding 001","inputTokenLimit":2048,
         "outputTokenLimit":1,"supportedGenerationMethods":["embedContent","countTextTokens"]},
        {"name":"models/veo-4","displayName":"Veo 4","inputTokenLimit":480,"outputTokenLimit":8192,
         "supportedGenerationMethods":["predictLongRunning"]}
    ]}"#;
    let expected = [
        "gemini-3.5-flash-lite 1048576 65536 (Gemini 3.5 Flash-Lite)",
        "gemini-embedding-001 2048 - (Gemini Embedding 001) kind=embedding",
    ];
    assert_eq!(listed(body), expected);
}

#[test]
fn what_is_no_list_says_what_it_is() {
    let refused = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.",
        "status":"INVALID_ARGUMENT"}}"#;
    assert_eq!(listed(refused), ["error Auth: API key not valid. Please pass a valid API key."]);
    assert_eq!(listed(r#"{"models":[{"name":3},[],null]}"#), Vec::<String>::new());
}

#[test]
fn no_answer_is_too_odd_to_be_read() {
    const NAMES: &[&str] = &[
        "models",
        "name",
        "supportedGenerationMethods",
        "inputTokenLimit",
        "embeddings",
        "values",
        "usageMetadata",
        "promptTokenCount",
        "error",
        "message",
    ];
    reads_anything(
        |answer| {
            let _ = Gemini::parse_models(answer.clone());
            let _ = Gemini::parse_embeddings(answer);
        },
        NAMES,
    );
}
