//! The list of models.

use homeagent_adapters::lenient::some_text;
use homeagent_adapters::listing;
use homeagent_sdk::adapter::{Failure, HttpRequest, HttpResponse, ModelInfo};
use serde_json::Value;

/// The request for it: the first page, which has the vendor's own models, and is as long as a page can be.
pub(crate) fn request(options: &[(String, String)]) -> Result<HttpRequest, String> {
    listing::request(options, "/models?page_no=1&page_size=100")
}

pub(crate) fn read(response: &HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
    listing::models(response, &["/output/models", "/data/models", "/data"], model)
}

fn model(model: &Value) -> Option<ModelInfo> {
    let id = some_text(model, "model").or_else(|| some_text(model, "id"))?;
    Some(ModelInfo {
        display_name: listing::title(model, &["name"], id),
        context_window: listing::tokens(model, &["/model_info/context_window", "/context_window"]),
        max_output: listing::tokens(model, &["/model_info/max_output_tokens", "/max_output_tokens"]),
        meta: listing::meta(id.contains("embedding")),
        ..listing::named(id)
    })
}
