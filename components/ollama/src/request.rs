//! Writing requests.
//!
//! Options: `num_ctx` (tokens of the window; the server's usual one is small, and what does not fit is cut off without a
//! word), `keep_alive` (how long the model stays loaded: `10m`, `-1`), `effort` (`low`, `medium`, `high`, for models that
//! think in levels), `send_reasoning` (`on`, `off`), `options` (a JSON object of the model's own options), `path` (in place
//! of `/api/chat`), `body` (a JSON object whose fields go into every request).

use homeagent_adapters::{Options, content, schema};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolSpec};
use serde_json::{Map, Value, json};

use crate::messages;

/// What the server hands on of JSON Schema.
const KEYWORDS: [&str; 8] = ["$defs", "type", "description", "enum", "items", "anyOf", "properties", "required"];

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let tools: Vec<Value> = content::offered(request).map(tool).collect::<Result<_, _>>()?;
    let thoughts = options.switch("send_reasoning", request.thinking != Some(false))?;
    let mut messages = messages::write(&request.messages, thoughts);
    if let Some(must) = content::must_call(&request.tool_choice).filter(|_| !tools.is_empty()) {
        messages.push(json!({"role": "system", "content": must}));
    }

    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("messages".to_owned(), messages.into());
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    body.insert("stream".to_owned(), request.stream.into());
    if let Some(think) = think(request, options.one_of("effort", &["low", "medium", "high"])?) {
        body.insert("think".to_owned(), think);
    }
    body.extend(keep_alive(options).map(|keep| ("keep_alive".to_owned(), keep)));
    let mut settings = model_options(options)?;
    if let Some(temperature) = request.temperature {
        settings.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        settings.insert("num_predict".to_owned(), most.into());
    }
    if !settings.is_empty() {
        body.insert("options".to_owned(), settings.into());
    }
    body.extend(options.body()?);
    let mut post = content::post(&options.path("/api/chat")?, body, request);
    for (name, value) in &mut post.headers {
        if name == "accept" && request.stream {
            "application/x-ndjson".clone_into(value);
        }
    }
    Ok(post)
}

/// How long the model stays loaded, where the source says.
pub(crate) fn keep_alive(options: Options<'_>) -> Option<Value> {
    // A number is one of seconds, a text has its unit with it.
    options.get("keep_alive").map(|keep| keep.parse::<i64>().map_or_else(|_| keep.into(), Value::from))
}

/// The model's own options, as far as the source says.
pub(crate) fn model_options(options: Options<'_>) -> Result<Map<String, Value>, String> {
    let mut settings = options.object("options")?;
    if let Some(window) = options.count("num_ctx")? {
        settings.insert("num_ctx".to_owned(), window.into());
    }
    Ok(settings)
}

/// A model that can't think refuses to be told to, so nothing is said unless somebody wants it said.
fn think(request: &ModelRequest, effort: Option<&str>) -> Option<Value> {
    // It thinks in levels, and always.
    let levels = request.model.rsplit('/').next().is_some_and(|name| name.starts_with("gpt-oss"));
    match (request.thinking, effort) {
        (Some(false), _) if levels => Some("low".into()),
        (Some(false), _) => Some(false.into()),
        (_, Some(effort)) => Some(effort.into()),
        (Some(true), None) if levels => Some("medium".into()),
        (Some(true), None) => Some(true.into()),
        (None, None) => None,
    }
}

fn tool(tool: &ToolSpec) -> Result<Value, String> {
    let parameters = schema::narrowed(&schema::parameters(tool)?, &KEYWORDS);
    let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}
