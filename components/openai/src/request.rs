//! Writing requests.

use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use crate::messages;
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolChoice, ToolSpec};

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let dialect = Dialect::of(request)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("messages".to_owned(), messages::write(&request.messages, &dialect).into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect::<Result<_, _>>()?;
        body.insert("tools".to_owned(), tools.into());
        let choice = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some("none".into()),
            ToolChoice::Required => Some("required".into()),
            ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
        };
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
    let accept = if request.stream { "text/event-stream" } else { "application/json" };
    Ok(HttpRequest {
        method: "POST".to_owned(),
        path: dialect.path,
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), accept.to_owned()),
        ],
        body: Value::Object(body).to_string().into_bytes(),
    })
}

fn tool(tool: &ToolSpec) -> Result<Value, String> {
    let parameters = match tool.parameters.trim() {
        "" | "null" | "{}" => json!({"type": "object", "properties": {}}),
        text => serde_json::from_str(text)
            .map_err(|error| format!("the parameters of the tool `{}` are not JSON: {error}", tool.name))?,
    };
    let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}
