//! Models and vectors.

use homeagent_adapters::testing::{body, embedding_request, model_lines, response, vector_line};
use homeagent_sdk::adapter::{Adapter as _, EmbeddingPurpose};
use serde_json::json;
use zhipu::Zhipu;

#[test]
fn models_are_listed() {
    assert_eq!(Zhipu::build_models_request(Vec::new()).expect("built").path, "/models");
    let body = r#"{"object":"list","data":[{"id":"glm-4.7-flash","object":"model","created":1,"owned_by":"z-ai"}]}"#;
    assert_eq!(model_lines(Zhipu::parse_models(response(200, body))), ["glm-4.7-flash - -"]);
}

#[test]
fn vectors_are_asked_for_and_read() {
    let request =
        Zhipu::build_embedding_request(embedding_request("embedding-3", EmbeddingPurpose::Query)).expect("built");
    assert_eq!(request.path, "/embeddings");
    assert_eq!(body(&request), json!({"model": "embedding-3", "input": ["one", "two"], "dimensions": 2}));
    let answer = r#"{"model":"embedding-3","object":"list","data":[{"index":0,"object":"embedding","embedding":[0.5]}],
        "usage":{"completion_tokens":0,"prompt_tokens":3,"total_tokens":3}}"#;
    assert_eq!(vector_line(Zhipu::parse_embeddings(response(200, answer))), "[[0.5]] Some(3)");
    let refused = r#"{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试。"}}"#;
    assert!(vector_line(Zhipu::parse_embeddings(response(200, refused))).starts_with("error Unfunded"));
}
