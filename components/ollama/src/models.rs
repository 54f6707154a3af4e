//! The list of models: those that the server has.

use homeagent_adapters::lenient::{items, some_text, text};
use homeagent_adapters::listing;
use homeagent_sdk::adapter::{Failure, HttpResponse, ModelInfo};
use serde_json::Value;

pub(crate) fn read(response: &HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
    listing::models(response, &["/models"], model)
}

fn model(model: &Value) -> Option<ModelInfo> {
    let id = some_text(model, "model").or_else(|| some_text(model, "name"))?;
    let abilities = items(model.get("capabilities").unwrap_or(&Value::Null));
    // Older servers tell the family alone.
    let family = model.get("details").and_then(|details| text(details, "family")).unwrap_or_default();
    let embeds = match abilities {
        [] => family.contains("bert") || id.contains("embed"),
        some => some.iter().any(|ability| ability == "embedding"),
    };
    Some(ModelInfo {
        context_window: listing::tokens(model, &["/details/context_length", "/context_length"]),
        meta: listing::meta(embeds),
        ..listing::named(id)
    })
}
