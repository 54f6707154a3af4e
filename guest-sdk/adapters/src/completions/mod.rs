//! The chat completions protocol, which OpenAI began and most vendors speak.

mod answer;
mod messages;
mod names;

use homeagent_sdk::adapter::{ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

pub use self::answer::{Completions, usage_of};
pub use self::messages::{Audio, Style, Thoughts, add_rule, write};
pub use self::names::{deepseek_sees, glm_sees, least_effort, qwen_hears, qwen_sees, version};

/// The body of a request with what nearly all take: the window, tools and the choice of them, temperature, the most tokens,
/// and whether the answer is streamed. How thinking is turned on or off is every vendor's own.
///
/// # Errors
///
/// The schema of a tool is not JSON.
pub fn body(request: &ModelRequest, style: &Style) -> Result<Map<String, Value>, String> {
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    body.insert("messages".to_owned(), write(&request.messages, style).into());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(&request.tools)?.into());
        let choice = tool_choice(&request.tool_choice);
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_tokens".to_owned(), most.into());
    }
    body.insert("stream".to_owned(), request.stream.into());
    if request.stream {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    Ok(body)
}

/// The tools as the protocol has them.
///
/// # Errors
///
/// The schema of one is not JSON.
pub fn tools<'a>(tools: impl IntoIterator<Item = &'a ToolSpec>) -> Result<Vec<Value>, String> {
    let one = |tool: &ToolSpec| {
        let parameters = crate::schema::parameters(tool)?;
        let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
        Ok(json!({"type": "function", "function": function}))
    };
    tools.into_iter().map(one).collect()
}

/// The choice of tools, where it is not the model's.
#[must_use]
pub fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}
