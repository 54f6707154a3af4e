//! Arguments of tools, checked against the tool's JSON Schema.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_types::ToolDefinition;
use jsonschema::Validator;
use serde_json::Value;

/// Validators that are kept; beyond this all are made anew as they are needed.
const VALIDATORS_KEPT: usize = 512;

/// How many faults one answer names.
const FAULTS_NAMED: usize = 5;

/// Validators by tool name, each for the schema it was made from.
#[derive(Default)]
pub(crate) struct Schemas {
    known: Mutex<HashMap<String, (Value, Arc<Validator>)>>,
}

impl Schemas {
    /// Checks a call's arguments; the error tells the model exactly what is wrong.
    pub(crate) fn check(&self, tool: &ToolDefinition, arguments: &str) -> Result<Value, String> {
        let name = &tool.name;
        let given = if arguments.trim().is_empty() { "{}" } else { arguments };
        let value: Value = serde_json::from_str(given)
            .map_err(|error| format!("the arguments of {name} are not valid JSON: {error}; nothing was run"))?;
        let validator = self.validator(tool)?;
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .take(FAULTS_NAMED)
            .map(|error| {
                let place = error.instance_path().to_string();
                if place.is_empty() { error.to_string() } else { format!("at {place}: {error}") }
            })
            .collect();
        if faults.is_empty() {
            return Ok(value);
        }
        Err(format!(
            "the arguments of {name} do not fit its schema: {}; nothing was run. The schema is {}",
            faults.join("; "),
            tool.parameters
        ))
    }

    fn validator(&self, tool: &ToolDefinition) -> Result<Arc<Validator>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((schema, validator)) = known.get(&tool.name)
            && *schema == tool.parameters
        {
            return Ok(Arc::clone(validator));
        }
        let validator = jsonschema::validator_for(&tool.parameters).map_err(|error| {
            tracing::warn!(tool = tool.name, %error, "a tool's schema is broken");
            format!("{} can't be called: its own schema is broken ({error}); this is its author's fault", tool.name)
        })?;
        let validator = Arc::new(validator);
        if known.len() >= VALIDATORS_KEPT {
            known.clear();
        }
        known.insert(tool.name.clone(), (tool.parameters.clone(), Arc::clone(&validator)));
        Ok(validator)
    }
}

/// Arguments in one spelling, to tell whether two calls are the same.
pub(crate) fn canonical(arguments: &str) -> String {
    serde_json::from_str::<Value>(arguments).map_or_else(|_| arguments.trim().to_owned(), |value| value.to_string())
}
