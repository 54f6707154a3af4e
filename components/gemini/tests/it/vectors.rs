//! Vectors.

use gemini::Gemini;
use homeagent_adapters::testing::{body, embedding_request, response, vector_line};
use homeagent_sdk::adapter::{Adapter as _, EmbeddingPurpose};
use serde_json::json;

fn read(body: &str) -> String {
    vector_line(Gemini::parse_embeddings(response(200, body)))
}

#[test]
fn several_texts_are_one_request_that_says_what_they_are_for() {
    for (purpose, task) in
        [(EmbeddingPurpose::Document, "RETRIEVAL_DOCUMENT"), (EmbeddingPurpose::Query, "RETRIEVAL_QUERY")]
    {
        let request =
            Gemini::build_embedding_request(embedding_request("gemini-embedding-001", purpose)).expect("built");
        assert_eq!(request.path, "/models/gemini-embedding-001:batchEmbedContents");
        let one = |text: &str| {
            json!({
                "model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]},
                "taskType": task, "outputDimensionality": 2,
            })
        };
        assert_eq!(body(&request), json!({"requests": [one("one"), one("two")]}));
    }
    let elsewhere = embedding_request("../x", EmbeddingPurpose::Query);
    assert!(Gemini::build_embedding_request(elsewhere).expect_err("refused").contains("no name of a Gemini model"));
}

#[test]
fn vectors_are_read() {
    let answer = r#"{"embeddings":[{"values":[0.5,1]},{"values":[-1,0]}],"usageMetadata":{"promptTokenCount":4}}"#;
    assert_eq!(read(answer), "[[0.5, 1.0], [-1.0, 0.0]] Some(4)");
    assert!(read(r#"{"embeddings":[{"values":["1"]}]}"#).contains("no number"));
    assert!(read(r#"{"embeddings":[{"values":[1]},{}]}"#).contains("no list of numbers"));
    assert!(read("{}").contains("no vectors"));
}
