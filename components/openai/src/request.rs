//! Writing requests.

use homeagent_adapters::{completions, content};
use homeagent_sdk::adapter::{HttpRequest, ModelRequest, ToolChoice};
use serde_json::{Map, Value, json};

use crate::dialect::{Dialect, Forcing};

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let dialect = Dialect::of(request)?;
    let forced =
        matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) && !request.tools.is_empty();
    // Tools, and a forced call above all, are promised to whoever asked for them; thinking is not.
    let asked = dialect.forcing == Forcing::NamedAlone && matches!(request.tool_choice, ToolChoice::Required);
    let thoughtless =
        (forced && !asked && dialect.thoughtless_force) || (dialect.thoughtless_tools && !request.tools.is_empty());
    let thinking = if thoughtless { Some(false) } else { request.thinking };
    let mut messages = completions::write(&request.messages, &dialect.style);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    if !request.tools.is_empty() {
        tools(request, &dialect, &mut messages, &mut body)?;
    }
    body.insert("messages".to_owned(), messages.into());
    if let (Some(temperature), Some(hottest)) = (request.temperature, dialect.hottest) {
        body.insert("temperature".to_owned(), temperature.min(hottest).into());
    }
    if let Some(most) = request.max_tokens {
        body.insert(dialect.max_tokens_field.clone(), most.into());
    }
    let thinking = thinking.and_then(|thinking| dialect.thinking_field(thinking));
    body.extend(thinking.map(|(name, value)| (name.to_owned(), value)));
    body.insert("stream".to_owned(), request.stream.into());
    if request.stream && dialect.stream_usage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    body.extend(dialect.body);
    Ok(content::post(&dialect.path, body, request))
}

/// The tools, and which of them is to be called, as far as the endpoint can be told.
fn tools(
    request: &ModelRequest,
    dialect: &Dialect,
    messages: &mut Vec<Value>,
    body: &mut Map<String, Value>,
) -> Result<(), String> {
    let choice = &request.tool_choice;
    let named = matches!(choice, ToolChoice::Named(_));
    // What is not offered can't be called: that is told without a word of the protocol's.
    let narrowed = match dialect.forcing {
        Forcing::Any | Forcing::NamedAlone => false,
        Forcing::Words => named,
        Forcing::Asking => true,
    };
    let offered = match narrowed {
        true => completions::tools(content::offered(request))?,
        false => completions::tools(&request.tools)?,
    };
    if offered.is_empty() {
        return Ok(());
    }
    let field = match dialect.forcing {
        Forcing::Any => completions::tool_choice(choice),
        Forcing::Words if named => Some("required".into()),
        Forcing::Words => completions::tool_choice(choice),
        Forcing::NamedAlone if matches!(choice, ToolChoice::Required) => None,
        Forcing::NamedAlone => completions::tool_choice(choice),
        Forcing::Asking => None,
    };
    let told = content::must_call(choice).filter(|_| field.is_none());
    if let Some(told) = told {
        completions::add_rule(messages, &told, &dialect.style);
    }
    body.insert("tools".to_owned(), offered.into());
    body.extend(field.map(|field| ("tool_choice".to_owned(), field)));
    if dialect.asks_for_parallel {
        body.insert("parallel_tool_calls".to_owned(), true.into());
    }
    if dialect.tool_stream && request.stream {
        // Without it the arguments of a call come in one piece at the end.
        body.insert("tool_stream".to_owned(), true.into());
    }
    Ok(())
}
