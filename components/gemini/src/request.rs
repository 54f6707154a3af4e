//! Writing requests.
//!
//! Options: `thinking_level` (`minimal` to `xhigh`), `temperature` (which the newer models are given only where the source
//! says so), `body` (a JSON object whose fields go into every request, such as `safetySettings`).

use homeagent_adapters::{Options, content, schema};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use crate::contents;
use crate::model::Model;

/// What the vendor reads of JSON Schema.
const KEYWORDS: [&str; 20] = [
    "$defs",
    "$ref",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
    "nullable",
];

/// The HTTP request for a model request.
///
/// # Errors
///
/// The model's name, an option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let model = Model::of(&request.model);
    let window = contents::write(&request.messages, model);

    let mut body = Map::new();
    if !window.system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": window.system}));
    }
    body.insert("contents".to_owned(), window.contents.into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect::<Result<_, _>>()?;
        body.insert("tools".to_owned(), json!([{"functionDeclarations": tools}]));
        let choice = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(json!({"mode": "NONE"})),
            ToolChoice::Required => Some(json!({"mode": "ANY"})),
            ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        };
        body.extend(choice.map(|choice| ("toolConfig".to_owned(), json!({"functionCallingConfig": choice}))));
    }
    let mut settings = Map::new();
    let own = model.own_temperature() && options.get("temperature").is_none();
    if let Some(temperature) = request.temperature.filter(|_| !own) {
        settings.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        settings.insert("maxOutputTokens".to_owned(), most.into());
    }
    let level = options.one_of("thinking_level", &["minimal", "low", "medium", "high", "xhigh"])?;
    if let Some(thinking) = model.thinking(request.thinking, level) {
        settings.insert("thinkingConfig".to_owned(), thinking);
    }
    if !settings.is_empty() {
        body.insert("generationConfig".to_owned(), settings.into());
    }
    body.extend(options.body()?);
    Ok(content::post(&path(request)?, body, request))
}

fn path(request: &ModelRequest) -> Result<String, String> {
    let name = model_name(&request.model)?;
    Ok(match request.stream {
        true => format!("/models/{name}:streamGenerateContent?alt=sse"),
        false => format!("/models/{name}:generateContent"),
    })
}

/// The model is a part of the address, so its name must not be able to lead anywhere else.
pub(crate) fn model_name(model: &str) -> Result<&str, String> {
    let name = model.strip_prefix("models/").unwrap_or(model);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || !name.chars().all(plain) || name.starts_with('.') {
        return Err(format!("{model:?} is no name of a Gemini model; it is like gemini-3.5-flash-lite"));
    }
    Ok(name)
}

fn tool(tool: &ToolSpec) -> Result<Value, String> {
    let schema = schema::narrowed(&schema::parameters(tool)?, &KEYWORDS);
    let mut declaration = json!({"name": tool.name, "description": tool.description});
    // A tool without arguments has no schema here: an object without properties is refused.
    if schema != json!({"type": "object", "properties": {}}) {
        declaration["parametersJsonSchema"] = schema;
    }
    Ok(declaration)
}
