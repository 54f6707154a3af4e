//! The tool by which the owner has the agent ask another model, or ask it otherwise.

use homeagent_types::lines::SourceOrder;
use homeagent_types::ports::Models;
use homeagent_types::{CallError, Effect, Role, ToolDefinition, ToolOutput};
use serde_json::{Value, json};

/// What the model is told of the tool.
pub(crate) fn tool() -> ToolDefinition {
    let properties = json!({
        "source": { "type": "string", "description": "The source's name; without it, all sources are listed" },
        "first": { "type": "boolean", "description": "Have it tried first from now on" },
        "model": { "type": "string", "description": "The model it is to ask for" },
        "temperature": { "type": "number", "minimum": 0, "maximum": 2 },
        "thinking": { "type": "boolean", "description": "Whether its model is to think first" }
    });
    let description = "Lists the sources that models are asked at, with their models and how they stand, or changes one: \
                       which is tried first, its model, temperature and thinking. It counts from your next words on, for \
                       all conversations.";
    let tool = ToolDefinition::of_host("model_switch", description, Effect::World, &properties, &[]);
    ToolDefinition { min_role: Some(Role::Owner), ..tool }
}

/// Lists, or changes. The arguments fit the schema.
pub(crate) async fn run(models: &dyn Models, args: &Value) -> Result<ToolOutput, CallError> {
    let Some(wanted) = args.as_object().filter(|args| !args.is_empty()) else {
        return Ok(ToolOutput::json(&json!({ "sources": models.choices() })));
    };
    if !wanted.contains_key("source") {
        return Err(CallError::Invalid("say which source is to be changed; nothing was changed".to_owned()));
    }
    let order: SourceOrder =
        serde_json::from_value(args.clone()).map_err(|error| CallError::Invalid(error.to_string()))?;
    let now = models.choose(order).await?;
    Ok(ToolOutput::json(&json!({ "changed": now, "order": names(models) })))
}

/// The sources' names in the order in which they are tried.
fn names(models: &dyn Models) -> Vec<String> {
    models.choices().unwrap_or_default().into_iter().map(|choice| choice.source).collect()
}
