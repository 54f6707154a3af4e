//! Lists of models. Most vendors tell the names alone; what else they tell stands in another field with each.

use homeagent_sdk::adapter::{Failure, FailureClass, HttpRequest, HttpResponse, ModelInfo};
use serde_json::Value;

use crate::errors;
use crate::lenient::{count, items, some_text, text};
use crate::options::Options;

/// What [`ModelInfo::meta`] says of a model that makes vectors and does not talk.
pub const EMBEDDING: (&str, &str) = ("kind", "embedding");

/// Gets a list of models at `usual`, or where the source's option `models_path` says.
///
/// # Errors
///
/// The option does not begin with a slash.
pub fn request(options: &[(String, String)], usual: &str) -> Result<HttpRequest, String> {
    let path = Options::new(options).get("models_path").unwrap_or(usual);
    if !path.starts_with('/') {
        return Err(format!("the source's option `models_path` is {path:?}; it has to begin with a slash"));
    }
    let mut get = HttpRequest::get(path);
    get.headers.push(("accept".to_owned(), "application/json".to_owned()));
    Ok(get)
}

/// Reads a list, which stands at the first of these places (JSON Pointers) that has one. What `read` makes nothing of is
/// left out, and so is a model that was there before.
///
/// # Errors
///
/// What the vendor says in its place, or that it is none.
pub fn models(
    response: &HttpResponse,
    places: &[&str],
    read: impl Fn(&Value) -> Option<ModelInfo>,
) -> Result<Vec<ModelInfo>, Failure> {
    let document = document(response, "the list of models")?;
    let list = places.iter().find_map(|place| document.pointer(place)?.as_array());
    let Some(list) = list else {
        return Err(instead(&document, "the answer has no list of models"));
    };
    let mut models: Vec<ModelInfo> = Vec::with_capacity(list.len());
    for model in list.iter().filter_map(read) {
        if !models.iter().any(|known| known.id == model.id) {
            models.push(model);
        }
    }
    Ok(models)
}

/// A whole answer as JSON. `what` it is to be, for people.
pub(crate) fn document(response: &HttpResponse, what: &str) -> Result<Value, Failure> {
    serde_json::from_slice(&response.body)
        .map_err(|error| Failure::new(FailureClass::Protocol, format!("{what} is not JSON: {error}")))
}

/// What a vendor says where something else was to stand; `missing` where it says nothing.
pub(crate) fn instead(document: &Value, missing: &str) -> Failure {
    let document = items(document).first().unwrap_or(document);
    match errors::find(document) {
        Some(error) => errors::failure(&error, None),
        None => Failure::new(FailureClass::Protocol, missing),
    }
}

/// A model of which the name alone is known.
#[must_use]
pub fn named(id: &str) -> ModelInfo {
    ModelInfo { id: id.to_owned(), display_name: None, context_window: None, max_output: None, meta: Vec::new() }
}

/// The first of these places (JSON Pointers) with a number of tokens. Zero says nothing.
#[must_use]
pub fn tokens(model: &Value, places: &[&str]) -> Option<u32> {
    let number = |place: &&str| model.pointer(place).and_then(count).filter(|count| *count > 0);
    places.iter().find_map(number).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// The name for people, where it is not the id again.
#[must_use]
pub fn title(model: &Value, fields: &[&str], id: &str) -> Option<String> {
    let title = fields.iter().find_map(|field| some_text(model, field));
    title.filter(|title| *title != id).map(str::to_owned)
}

/// Where those who speak chat completions have their lists.
pub const COMPLETIONS: &[&str] = &["/data", "/models", ""];

/// A model as those who speak chat completions tell of it.
#[must_use]
pub fn completions(model: &Value) -> Option<ModelInfo> {
    if let Value::String(id) = model {
        return Some(named(id)).filter(|model| !model.id.is_empty());
    }
    let id = some_text(model, "id").or_else(|| some_text(model, "model")).or_else(|| some_text(model, "name"))?;
    // What is loaded comes before what could be: a server may have given a model less room than it was trained with.
    const WINDOW: [&str; 11] = [
        "/loaded_context_length",
        "/meta/n_ctx",
        "/max_model_len",
        "/context_length",
        "/context_window",
        "/token_limits/context_window",
        "/max_context_length",
        "/max_input_tokens",
        "/context_size",
        "/top_provider/context_length",
        "/meta/n_ctx_train",
    ];
    const OUTPUT: [&str; 5] = [
        "/max_completion_tokens",
        "/max_output_tokens",
        "/top_provider/max_completion_tokens",
        "/token_limits/max_output_token_length",
        "/max_output_length",
    ];
    let kinds = ["type", "domain", "task"].iter().filter_map(|field| text(model, field));
    let embeds = kinds.into_iter().any(|kind| kind.to_lowercase().contains("embed"));
    Some(ModelInfo {
        display_name: title(model, &["display_name", "name"], id),
        context_window: tokens(model, &WINDOW),
        max_output: tokens(model, &OUTPUT),
        meta: meta(embeds),
        ..named(id)
    })
}

/// What is to be said beside the fields.
#[must_use]
pub fn meta(embeds: bool) -> Vec<(String, String)> {
    let (name, value) = EMBEDDING;
    if embeds { vec![(name.to_owned(), value.to_owned())] } else { Vec::new() }
}
