//! Vectors.

use homeagent_adapters::lenient::count;
use homeagent_adapters::{Options, embeddings};
use homeagent_sdk::adapter::{EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure, HttpRequest, HttpResponse};
use serde_json::{Map, json};

/// The request for vectors of several texts.
pub(crate) fn build(request: &EmbeddingRequest) -> Result<HttpRequest, String> {
    let options = Options::new(&request.options);
    let purpose = match request.purpose {
        EmbeddingPurpose::Document => "document",
        EmbeddingPurpose::Query => "query",
    };
    let mut parameters = Map::from_iter([("text_type".to_owned(), purpose.into())]);
    if let Some(dimensions) = request.dimensions {
        parameters.insert("dimension".to_owned(), dimensions.into());
    }
    parameters.extend(options.object("parameters")?);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("input".to_owned(), json!({"texts": embeddings::texts(request)?}));
    body.insert("parameters".to_owned(), parameters.into());
    body.extend(options.body()?);
    Ok(embeddings::post(&options.path("/services/embeddings/text-embedding/text-embedding")?, body))
}

/// Reads the vectors; each says which text it is of.
pub(crate) fn read(response: &HttpResponse) -> Result<Embeddings, Failure> {
    let document = embeddings::answer(response)?;
    let list = embeddings::list(&document, "/output/embeddings")?;
    let vectors = embeddings::ordered(list, "text_index", "embedding")?;
    let input = ["/usage/input_tokens", "/usage/total_tokens"];
    let input = input.iter().find_map(|place| document.pointer(place).and_then(count));
    Ok(Embeddings { vectors, usage: input.and_then(embeddings::input_only) })
}
