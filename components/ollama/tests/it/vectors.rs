//! Vectors.

use homeagent_adapters::testing::{body, embedding_request, options, response, vector_line};
use homeagent_sdk::adapter::{Adapter as _, EmbeddingPurpose};
use ollama::Ollama;
use serde_json::json;

#[test]
fn the_request_has_the_sources_options() {
    let mut wanted = embedding_request("nomic-embed-text", EmbeddingPurpose::Query);
    wanted.options = options(&[
        ("query_prefix", "search_query: "),
        ("num_ctx", "2048"),
        ("keep_alive", "-1"),
        ("options", "{\"seed\":1}"),
    ]);
    let request = Ollama::build_embedding_request(wanted).expect("built");
    assert_eq!(request.path, "/api/embed");
    let expected = json!({
        "model": "nomic-embed-text", "input": ["search_query: one", "search_query: two"], "dimensions": 2,
        "keep_alive": -1, "options": {"num_ctx": 2048, "seed": 1},
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn vectors_are_read() {
    let read = |body: &str| vector_line(Ollama::parse_embeddings(response(200, body)));
    let answer =
        r#"{"model":"m","embeddings":[[0.25,1],[2,3]],"total_duration":1,"load_duration":1,"prompt_eval_count":6}"#;
    assert_eq!(read(answer), "[[0.25, 1.0], [2.0, 3.0]] Some(6)");
    assert!(read(r#"{"embeddings":[[1],[]]}"#).contains("empty"));
    assert!(read(r#"{"embeddings":[[1],[1,2]]}"#).contains("one vector has 1 numbers and another 2"));
    assert!(read(r#"{"embeddings":[["NaN"]]}"#).contains("no number"));
    assert!(read(r#"{"embeddings":[]}"#).contains("no vectors"));
}
