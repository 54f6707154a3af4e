//! Tools, their calls and their results.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Media, Meta, Role};

/// Among additions: what it is about was written by others.
const FOREIGN: &str = "foreign";

fn has_mark(meta: &Meta) -> bool {
    meta.iter().any(|(key, value)| key == FOREIGN && value == "true")
}

/// What a tool does to the world outside its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Looks something up.
    Read,
    /// Changes what the agent keeps for itself. Undoable.
    Own,
    /// Reaches others: messages, files, programs, devices, writes over the network.
    World,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolDefinition {
    /// Letters, digits, `_` and `-`; at most 64 characters.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of the arguments, an object schema.
    pub parameters: serde_json::Value,
    /// What it does to the world.
    pub effect: Effect,
    /// The least role that may call it. Where none is said, a member for what only reads and the owner for the rest.
    pub min_role: Option<Role>,
    /// Keeps nothing between calls.
    pub stateless: bool,
    /// The output is kept in the journal but neither vectorised nor distilled.
    pub no_memory: bool,
    /// A JSON pointer to the part of the result that the memory works on.
    pub cleaner: Option<String>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Additions by name.
    #[schema(value_type = Vec<(String, String)>)]
    pub meta: Meta,
}

impl ToolDefinition {
    /// A tool of the host's own: these properties alone are its arguments. What it says the memory knows already, or has an
    /// index of its own, so it is not remembered again.
    pub fn of_host(
        name: impl Into<String>,
        description: impl Into<String>,
        effect: Effect,
        properties: &serde_json::Value,
        required: &[&str],
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: serde_json::json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
            effect,
            min_role: None,
            stateless: false,
            no_memory: true,
            cleaner: None,
            timeout_ms: None,
            meta: Vec::new(),
        }
    }

    /// Whether what it returns was written by others, as its `meta` says (`foreign` is `true`).
    pub fn is_foreign(&self) -> bool {
        has_mark(&self.meta)
    }

    /// Whether a model is shown it however many tools there are, as its `meta` says (`always-on` is `true`).
    pub fn is_always_on(&self) -> bool {
        self.meta.iter().any(|(key, value)| key == "always-on" && value == "true")
    }

    /// The least role that may call it, whether declared or not.
    pub fn least_role(&self) -> Role {
        self.min_role.unwrap_or(match self.effect {
            Effect::Read => Role::Member,
            Effect::Own | Effect::World => Role::Owner,
        })
    }
}

/// A call of a tool by the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the run.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' JSON text as the model wrote it, so that no digit of a number is lost; it may not be valid.
    pub arguments: String,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The result's JSON text.
    pub value: String,
    /// What came with it.
    pub media: Vec<Media>,
    /// The tool ran and says that it did not succeed.
    pub failed: bool,
    /// Additions by name.
    pub meta: Meta,
}

impl ToolOutput {
    /// A result that is a text.
    pub fn text(text: &str) -> Self {
        Self::json(&serde_json::Value::String(text.to_owned()))
    }

    /// A result that is a JSON document.
    pub fn json(value: &serde_json::Value) -> Self {
        Self { value: value.to_string(), media: Vec::new(), failed: false, meta: Vec::new() }
    }

    /// Marks that others may have written what stands in it. What the model reads of it is treated accordingly.
    pub fn mark_foreign(&mut self) {
        if !self.is_foreign() {
            self.meta.push((FOREIGN.to_owned(), "true".to_owned()));
        }
    }

    /// Whether it is marked so.
    pub fn is_foreign(&self) -> bool {
        has_mark(&self.meta)
    }

    /// What the model reads: a JSON string as its text, anything else as JSON.
    pub fn for_model(&self) -> String {
        serde_json::from_str::<String>(&self.value).unwrap_or_else(|_| self.value.clone())
    }
}
