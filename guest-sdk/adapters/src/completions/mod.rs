//! The chat completions protocol, which OpenAI began and most vendors speak.

mod answer;
mod messages;

use homeagent_sdk::adapter::{ToolChoice, ToolSpec};
use serde_json::{Value, json};

pub use self::answer::Completions;
pub use self::messages::{Style, Thoughts, write};

/// The tools as the protocol has them.
///
/// # Errors
///
/// The schema of one is not JSON.
pub fn tools(tools: &[ToolSpec]) -> Result<Vec<Value>, String> {
    let one = |tool: &ToolSpec| {
        let parameters = crate::schema::parameters(tool)?;
        let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
        Ok(json!({"type": "function", "function": function}))
    };
    tools.iter().map(one).collect()
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
