//! Writing requests.
//!
//! Nothing is stored at the vendor's: the window is sent whole, and reasoning comes and goes encrypted.
//!
//! Options: `effort` (`none` to `max`), `summary` (`auto`, `concise`, `detailed`, `off`: what is shown of the thoughts when
//! thinking is on), `send_reasoning` (`on`, `off`; known for the vendor's own models), `path` (in place of `/responses`),
//! `body` (a JSON object whose fields go into every request).

use homeagent_adapters::{Options, completions, content, schema};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use crate::input;

/// The vendor takes no lower limit than this.
const FEWEST_TOKENS: u32 = 16;

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let model = request.model.rsplit('/').next().unwrap_or_default().to_lowercase();
    let least = completions::least_effort(&model);
    let encrypted = options.switch("send_reasoning", least.is_some())?;

    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("input".to_owned(), input::write(&request.messages, encrypted).into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect::<Result<_, _>>()?;
        body.insert("tools".to_owned(), tools.into());
        let choice = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some("none".into()),
            ToolChoice::Required => Some("required".into()),
            ToolChoice::Named(name) => Some(json!({"type": "function", "name": name})),
        };
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    }
    if let Some(reasoning) = reasoning(request, options, least)? {
        body.insert("reasoning".to_owned(), reasoning);
    }
    if encrypted {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(temperature) = request.temperature.filter(|_| least.is_none()) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_output_tokens".to_owned(), most.max(FEWEST_TOKENS).into());
    }
    body.insert("store".to_owned(), false.into());
    body.insert("stream".to_owned(), request.stream.into());
    body.extend(options.body()?);
    Ok(content::post(&options.path("/responses")?, body, request))
}

/// How the model is told to think. A model that can't is told nothing, unless the source names an effort.
fn reasoning(request: &ModelRequest, options: Options<'_>, least: Option<&str>) -> Result<Option<Value>, String> {
    let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let effort = options.one_of("effort", &efforts)?;
    let summary = options.one_of("summary", &["concise", "detailed", "off"])?.unwrap_or("auto");
    let mut reasoning = Map::new();
    let wanted = match request.thinking {
        Some(false) => least,
        Some(true) => effort.or(least.map(|_| "medium")),
        None => effort,
    };
    reasoning.extend(wanted.map(|effort| ("effort".to_owned(), effort.into())));
    if request.thinking == Some(true) && wanted.is_some() && summary != "off" {
        reasoning.insert("summary".to_owned(), summary.into());
    }
    Ok(Some(reasoning).filter(|reasoning| !reasoning.is_empty()).map(Value::Object))
}

fn tool(tool: &ToolSpec) -> Result<Value, String> {
    let parameters = schema::parameters(tool)?;
    // Strict, which is the vendor's usual way here, would change what a schema says.
    Ok(json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": false,
    }))
}
