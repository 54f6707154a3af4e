//! The list of models.

use homeagent_adapters::lenient::some_text;
use homeagent_adapters::listing;
use homeagent_sdk::adapter::{Failure, HttpRequest, HttpResponse, ModelInfo};
use serde_json::Value;

use crate::request::VERSION;

/// The request for it: all models at once, since the vendor's usual page has 20.
pub(crate) fn request(options: &[(String, String)]) -> Result<HttpRequest, String> {
    let mut get = listing::request(options, "/models?limit=1000")?;
    get.headers.push(VERSION.map(str::to_owned).into());
    Ok(get)
}

pub(crate) fn read(response: &HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
    listing::models(response, &["/data"], model)
}

fn model(model: &Value) -> Option<ModelInfo> {
    let id = some_text(model, "id")?;
    Some(ModelInfo {
        display_name: listing::title(model, &["display_name"], id),
        context_window: listing::tokens(model, &["/max_input_tokens"]),
        max_output: listing::tokens(model, &["/max_tokens"]),
        ..listing::named(id)
    })
}
