//! Vectors.

use homeagent_adapters::testing::{body, embedding_request, response, vector_line};
use homeagent_sdk::adapter::{Adapter as _, EmbeddingPurpose};
use qwen::Qwen;
use serde_json::json;

#[test]
fn the_request_says_what_the_texts_are_for() {
    for (purpose, kind) in [(EmbeddingPurpose::Document, "document"), (EmbeddingPurpose::Query, "query")] {
        let request = Qwen::build_embedding_request(embedding_request("text-embedding-v4", purpose)).expect("built");
        assert_eq!(request.path, "/services/embeddings/text-embedding/text-embedding");
        let expected = json!({
            "model": "text-embedding-v4", "input": {"texts": ["one", "two"]},
            "parameters": {"text_type": kind, "dimension": 2},
        });
        assert_eq!(body(&request), expected);
    }
    assert!(Qwen::describe().meta.contains(&("embedding-batch".to_owned(), "10".to_owned())));
}

#[test]
fn vectors_are_put_into_the_order_of_the_texts() {
    let read = |body: &str| vector_line(Qwen::parse_embeddings(response(200, body)));
    let answer = r#"{"output":{"embeddings":[{"text_index":1,"embedding":[3]},{"text_index":0,"embedding":[1]}]},
        "usage":{"total_tokens":7},"request_id":"r"}"#;
    assert_eq!(read(answer), "[[1.0], [3.0]] Some(7)");
    let twice = r#"{"output":{"embeddings":[{"text_index":1,"embedding":[3]},{"text_index":1,"embedding":[1]}]}}"#;
    assert!(read(twice).contains("there twice"));
    let refused = r#"{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded","request_id":"r"}"#;
    assert_eq!(read(refused), "error RateLimited: Requests rate limit exceeded");
}
