//! Vectors.

use homeagent_adapters::testing::{body, embedding_request, options, response, vector_line};
use homeagent_sdk::adapter::{Adapter as _, EmbeddingPurpose};
use openai::OpenAi;
use serde_json::json;

fn read(body: &str) -> String {
    vector_line(OpenAi::parse_embeddings(response(200, body)))
}

#[test]
fn the_request() {
    let mut wanted = embedding_request("text-embedding-3-small", EmbeddingPurpose::Document);
    let request = OpenAi::build_embedding_request(wanted.clone()).expect("built");
    assert_eq!((&*request.method, &*request.path), ("POST", "/embeddings"));
    let expected = json!({
        "model": "text-embedding-3-small", "input": ["one", "two"], "dimensions": 2, "encoding_format": "float",
    });
    assert_eq!(body(&request), expected);

    wanted.options = options(&[("query_prefix", "search_query: "), ("body", "{\"input_type\":\"query\"}")]);
    wanted.dimensions = None;
    assert_eq!(body(&OpenAi::build_embedding_request(wanted.clone()).expect("built"))["input"], json!(["one", "two"]));
    wanted.purpose = EmbeddingPurpose::Query;
    let expected = json!({
        "model": "text-embedding-3-small", "input": ["search_query: one", "search_query: two"],
        "encoding_format": "float", "input_type": "query",
    });
    assert_eq!(body(&OpenAi::build_embedding_request(wanted.clone()).expect("built")), expected);
    wanted.texts.clear();
    assert!(OpenAi::build_embedding_request(wanted).expect_err("refused").contains("no text"));
    assert!(OpenAi::describe().meta.contains(&("embedding-batch".to_owned(), "2048".to_owned())));
}

#[test]
fn vectors_are_put_into_the_order_of_the_texts() {
    let answer = r#"{"object":"list","data":[{"object":"embedding","index":1,"embedding":[3,4.5]},
        {"object":"embedding","index":0,"embedding":[1,-2]}],"usage":{"prompt_tokens":5,"total_tokens":5}}"#;
    assert_eq!(read(answer), "[[1.0, -2.0], [3.0, 4.5]] Some(5)");
    assert_eq!(read(r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#), "[[1.0], [2.0]] None");
}

#[test]
fn what_is_no_vector_is_refused() {
    for (data, words) in [
        ("[]", "no vectors"),
        (r#"[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]"#, "missing or there twice"),
        (r#"[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]"#, "missing or there twice"),
        (r#"[{"index":0,"embedding":[1]},{"embedding":[1]}]"#, "missing or there twice"),
        (r#"[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]"#, "one vector has 2 numbers and another 1"),
        (r#"[{"index":0,"embedding":[]}]"#, "empty"),
        (r#"[{"index":0}]"#, "no list of numbers"),
        (r#"[{"index":0,"embedding":"AACAPw=="}]"#, "no list of numbers"),
        (r#"[{"index":0,"embedding":["NaN"]}]"#, "no number"),
        (r#"[{"index":0,"embedding":[null]}]"#, "no number"),
        (r#"[{"index":0,"embedding":[1e39]}]"#, "no number"),
    ] {
        let line = read(&format!("{{\"data\":{data}}}"));
        assert!(line.starts_with("error Protocol: ") && line.contains(words), "{data}: {line}");
    }
    assert!(read(r#"{"data":[{"index":0,"embedding":[NaN]}]}"#).contains("not JSON"));
    let refused = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    assert_eq!(read(refused), "error Unfunded: You exceeded your current quota");
}
