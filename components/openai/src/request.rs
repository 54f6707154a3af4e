//! Writing requests.

use homeagent_adapters::{completions, content};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest};
use serde_json::{Map, json};

use crate::dialect::Dialect;

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let dialect = Dialect::of(request)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("messages".to_owned(), completions::write(&request.messages, dialect.style).into());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), completions::tools(&request.tools)?.into());
        let choice = completions::tool_choice(&request.tool_choice);
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    }
    if let Some(temperature) = request.temperature.filter(|_| dialect.temperature) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert(dialect.max_tokens_field.clone(), most.into());
    }
    let thinking = request.thinking.and_then(|thinking| dialect.thinking_field(thinking));
    body.extend(thinking.map(|(name, value)| (name.to_owned(), value)));
    body.insert("stream".to_owned(), request.stream.into());
    if request.stream && dialect.stream_usage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    body.extend(dialect.body);
    Ok(content::post(&dialect.path, body, request))
}
