//! Vectors.

use homeagent_adapters::lenient::count;
use homeagent_adapters::{Options, embeddings};
use homeagent_sdk::adapter::{EmbeddingRequest, Embeddings, Failure, HttpRequest, HttpResponse};
use serde_json::Map;

use crate::request::{keep_alive, model_options};

/// The request for vectors of several texts.
pub(crate) fn build(request: &EmbeddingRequest) -> Result<HttpRequest, String> {
    let options = Options::new(&request.options);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("input".to_owned(), embeddings::texts(request)?.into());
    if let Some(dimensions) = request.dimensions {
        body.insert("dimensions".to_owned(), dimensions.into());
    }
    body.extend(keep_alive(options).map(|keep| ("keep_alive".to_owned(), keep)));
    let settings = model_options(options)?;
    if !settings.is_empty() {
        body.insert("options".to_owned(), settings.into());
    }
    body.extend(options.body()?);
    Ok(embeddings::post(&options.path("/api/embed")?, body))
}

/// Reads the vectors, which come in the order of the texts.
pub(crate) fn read(response: &HttpResponse) -> Result<Embeddings, Failure> {
    let document = embeddings::answer(response)?;
    let vectors = embeddings::vectors(embeddings::list(&document, "/embeddings")?)?;
    let input = document.get("prompt_eval_count").and_then(count);
    Ok(Embeddings { vectors, usage: input.and_then(embeddings::input_only) })
}
