//! The list of models.

use homeagent_adapters::testing::{model_lines, reads_anything, response};
use homeagent_sdk::adapter::Adapter as _;
use ollama::Ollama;

fn listed(body: &str) -> Vec<String> {
    model_lines(Ollama::parse_models(response(200, body)))
}

#[test]
fn the_models_that_the_server_has_are_listed() {
    let request = Ollama::build_models_request(Vec::new()).expect("built");
    assert_eq!((&*request.method, &*request.path), ("GET", "/api/tags"));
    let body = r#"{"models":[
        {"name":"qwen3:8b","model":"qwen3:8b","modified_at":"2026-11-01T00:00:00Z","size":5200000000,"digest":"a",
         "details":{"parent_model":"","format":"gguf","family":"qwen3","families":["qwen3"],"parameter_size":"8.2B",
         "quantization_level":"Q4_K_M"}},
        {"name":"all-minilm:latest","details":{"family":"bert"}},
        {"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","details":{"family":"nomic","context_length":2048},
         "capabilities":["embedding"]},
        {"name":"gpt-oss:120b-cloud","remote_host":"https://ollama.com:443","details":{"context_length":131072},
         "capabilities":["completion","tools","thinking"]}
    ]}"#;
    let expected = [
        "qwen3:8b - -",
        "all-minilm:latest - - kind=embedding",
        "nomic-embed-text:latest 2048 - kind=embedding",
        "gpt-oss:120b-cloud 131072 -",
    ];
    assert_eq!(listed(body), expected);
}

#[test]
fn what_is_no_list_says_what_it_is() {
    assert!(listed(r#"{"models":[]}"#).is_empty());
    assert_eq!(listed(r#"{"models":null}"#), ["error Protocol: the answer has no list of models"]);
    assert_eq!(listed(r#"{"error":"unauthorized"}"#), ["error Auth: unauthorized"]);
}

#[test]
fn no_answer_is_too_odd_to_be_read() {
    const NAMES: &[&str] =
        &["models", "name", "model", "details", "family", "capabilities", "embeddings", "prompt_eval_count", "error"];
    reads_anything(
        |answer| {
            let _ = Ollama::parse_models(answer.clone());
            let _ = Ollama::parse_embeddings(answer);
        },
        NAMES,
    );
}
