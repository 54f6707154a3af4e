//! The list of models.

use homeagent_adapters::lenient::{items, some_text};
use homeagent_adapters::listing;
use homeagent_sdk::adapter::{Failure, HttpRequest, HttpResponse, ModelInfo};
use serde_json::Value;

/// The request for it: all models at once, since the vendor's usual page has 50.
pub(crate) fn request(options: &[(String, String)]) -> Result<HttpRequest, String> {
    listing::request(options, "/models?pageSize=1000")
}

pub(crate) fn read(response: &HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
    listing::models(response, &["/models"], model)
}

/// A model that talks or makes vectors; others make pictures, speech or films, in ways of their own.
fn model(model: &Value) -> Option<ModelInfo> {
    let name = some_text(model, "name")?;
    let id = name.strip_prefix("models/").unwrap_or(name);
    let methods = items(model.get("supportedGenerationMethods").unwrap_or(&Value::Null));
    let can = |method: &str| methods.iter().any(|known| known == method);
    let talks = can("generateContent") || methods.is_empty();
    let embeds = can("embedContent") && !talks;
    (talks || embeds).then(|| ModelInfo {
        display_name: listing::title(model, &["displayName"], id),
        context_window: listing::tokens(model, &["/inputTokenLimit"]),
        max_output: listing::tokens(model, &["/outputTokenLimit"]).filter(|_| talks),
        meta: listing::meta(embeds),
        ..listing::named(id)
    })
}
