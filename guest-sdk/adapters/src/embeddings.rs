//! Vectors. Of an answer nothing is believed: one vector for each text, all of one length, all of them numbers.

use homeagent_sdk::adapter::{
    EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure, FailureClass, HttpRequest, HttpResponse,
};
use serde_json::{Map, Value, json};

use crate::completions::usage_of;
use crate::lenient::count;
use crate::listing::{document, instead};
use crate::options::Options;

/// The name in a descriptor's `meta` under which an adapter says how many texts its vendor takes in one request.
pub const BATCH: &str = "embedding-batch";

/// What an adapter says in its descriptor's `meta` of the most texts in one request.
#[must_use]
pub fn batch(most: usize) -> (String, String) {
    (BATCH.to_owned(), most.to_string())
}

/// The texts as the model wants them: some models are told by the first words what a text is for, and the source's options
/// `document_prefix` and `query_prefix` have these words.
///
/// # Errors
///
/// There is no text.
pub fn texts(request: &EmbeddingRequest) -> Result<Vec<String>, String> {
    if request.texts.is_empty() {
        return Err("there is no text to make a vector of".to_owned());
    }
    let name = match request.purpose {
        EmbeddingPurpose::Document => "document_prefix",
        EmbeddingPurpose::Query => "query_prefix",
    };
    // Spaces at its end belong to it, so it is taken as it is.
    let prefix = request.options.iter().find(|(option, _)| option == name).map_or("", |(_, value)| value);
    Ok(request.texts.iter().map(|text| format!("{prefix}{text}")).collect())
}

/// Posts a request for vectors.
#[must_use]
pub fn post(path: &str, body: Map<String, Value>) -> HttpRequest {
    let mut post = HttpRequest::post_json(path, Value::Object(body).to_string());
    post.headers.push(("accept".to_owned(), "application/json".to_owned()));
    post
}

/// The request as those have it who speak chat completions. `format`: the vendor knows `encoding_format`.
///
/// # Errors
///
/// There is no text, or an option of the source can't be used.
pub fn completions_request(request: &EmbeddingRequest, format: bool) -> Result<HttpRequest, String> {
    let options = Options::new(&request.options);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("input".to_owned(), texts(request)?.into());
    if let Some(dimensions) = request.dimensions {
        body.insert("dimensions".to_owned(), dimensions.into());
    }
    if format {
        body.insert("encoding_format".to_owned(), "float".into());
    }
    body.extend(options.body()?);
    Ok(post(&options.path("/embeddings")?, body))
}

/// Reads the answer of those who speak chat completions.
///
/// # Errors
///
/// What the vendor says in its place, or what is wrong with it.
pub fn completions(response: &HttpResponse) -> Result<Embeddings, Failure> {
    let document = answer(response)?;
    let list = list(&document, "/data")?;
    let usage = document.get("usage").and_then(usage_of);
    Ok(Embeddings { vectors: ordered(list, "index", "embedding")?, usage })
}

/// The answer as JSON.
///
/// # Errors
///
/// It is none.
pub fn answer(response: &HttpResponse) -> Result<Value, Failure> {
    document(response, "the answer with the vectors")
}

/// The list of vectors at a place (a JSON Pointer).
///
/// # Errors
///
/// There is none; where the vendor says why, that is it.
pub fn list<'a>(document: &'a Value, place: &str) -> Result<&'a [Value], Failure> {
    match document.pointer(place) {
        Some(Value::Array(list)) if !list.is_empty() => Ok(list),
        _ => Err(instead(document, "the answer has no vectors")),
    }
}

/// The vectors of `items` in the order that their indices say; where none has an index, as they come.
///
/// # Errors
///
/// There is not one vector for each index, or one is none.
pub fn ordered(items: &[Value], index: &str, vector: &str) -> Result<Vec<Vec<f32>>, Failure> {
    let indices: Vec<Option<u64>> = items.iter().map(|item| item.get(index).and_then(count)).collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    if indices.iter().any(Option::is_some) {
        order.sort_by_key(|place| indices[*place]);
        if !order.iter().map(|place| indices[*place]).eq((0..items.len() as u64).map(Some)) {
            return Err(bad("the vectors have indices of which some are missing or there twice"));
        }
    }
    vectors(order.into_iter().map(|place| items[place].get(vector).unwrap_or(&Value::Null)))
}

/// Reads vectors.
///
/// # Errors
///
/// One is empty or none, or they have not all the same length.
pub fn vectors<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<Vec<Vec<f32>>, Failure> {
    let vectors: Vec<Vec<f32>> = values.into_iter().map(vector).collect::<Result<_, _>>()?;
    let length = vectors.first().map_or(0, Vec::len);
    match vectors.iter().find(|vector| vector.len() != length) {
        Some(other) => Err(bad(&format!("one vector has {length} numbers and another {}", other.len()))),
        None => Ok(vectors),
    }
}

fn vector(value: &Value) -> Result<Vec<f32>, Failure> {
    let numbers = value.as_array().filter(|numbers| !numbers.is_empty());
    let numbers = numbers.ok_or_else(|| bad("a vector is empty or no list of numbers"))?;
    let number = |value: &Value| value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
    numbers
        .iter()
        .map(|value| number(value).ok_or_else(|| bad("a vector has something in it that is no number")))
        .collect()
}

fn bad(message: &str) -> Failure {
    Failure::new(FailureClass::Protocol, message)
}

/// What a call cost that is told as one number.
#[must_use]
pub fn input_only(input: u64) -> Option<homeagent_sdk::adapter::Usage> {
    usage_of(&json!({"input_tokens": input}))
}
