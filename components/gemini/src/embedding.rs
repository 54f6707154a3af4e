//! Vectors.

use homeagent_adapters::lenient::count;
use homeagent_adapters::{Options, embeddings};
use homeagent_sdk::adapter::{EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure, HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};

use crate::request::model_name;

/// The request for vectors of several texts.
pub(crate) fn build(request: &EmbeddingRequest) -> Result<HttpRequest, String> {
    let name = model_name(&request.model)?;
    let purpose = match request.purpose {
        EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
        EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
    };
    let one = |text: String| {
        let content = json!({"parts": [{"text": text}]});
        let mut one = json!({"model": format!("models/{name}"), "content": content, "taskType": purpose});
        if let Some(dimensions) = request.dimensions {
            one["outputDimensionality"] = dimensions.into();
        }
        one
    };
    let requests: Vec<Value> = embeddings::texts(request)?.into_iter().map(one).collect();
    let mut body = Map::from_iter([("requests".to_owned(), requests.into())]);
    body.extend(Options::new(&request.options).body()?);
    Ok(embeddings::post(&format!("/models/{name}:batchEmbedContents"), body))
}

/// Reads the vectors, which come in the order of the texts.
pub(crate) fn read(response: &HttpResponse) -> Result<Embeddings, Failure> {
    let document = embeddings::answer(response)?;
    let list = embeddings::list(&document, "/embeddings")?;
    let vectors = embeddings::ordered(list, "index", "values")?;
    let input = document.pointer("/usageMetadata/promptTokenCount").and_then(count);
    Ok(Embeddings { vectors, usage: input.and_then(embeddings::input_only) })
}
