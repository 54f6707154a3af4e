//! Arguments of tools, checked against the tool's JSON Schema.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_types::ToolDefinition;
use jsonschema::Validator;
use serde_json::Value;
use serde_json::value::RawValue;

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

/// Arguments in one spelling, to tell whether two calls are the same: without spaces, keys sorted, numbers digit by digit
/// as they were written.
pub(crate) fn canonical(arguments: &str) -> String {
    // Reading the whole first bounds the depth of what is read piece by piece below.
    match serde_json::from_str::<Value>(arguments) {
        Ok(_) => spelling(arguments.trim()),
        Err(_) => arguments.trim().to_owned(),
    }
}

fn spelling(json: &str) -> String {
    if let Ok(object) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        let member =
            |(key, value): (&String, &&RawValue)| format!("{}:{}", Value::from(key.as_str()), spelling(value.get()));
        return format!("{{{}}}", object.iter().map(member).collect::<Vec<_>>().join(","));
    }
    if let Ok(array) = serde_json::from_str::<Vec<&RawValue>>(json) {
        return format!("[{}]", array.iter().map(|item| spelling(item.get())).collect::<Vec<_>>().join(","));
    }
    match serde_json::from_str::<String>(json) {
        Ok(text) => Value::from(text).to_string(),
        Err(_) => json.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_the_same_whatever_their_spaces_and_order_but_for_every_digit() {
        let one = canonical(r#" {"b": [1, {"y":"\u4f60", "x":null}], "a": 10000000000000000001} "#);
        assert_eq!(one, canonical(r#"{"a":10000000000000000001,"b":[1,{"x":null,"y":"你"}]}"#));
        assert_ne!(one, canonical(r#"{"a":10000000000000000002,"b":[1,{"x":null,"y":"你"}]}"#));
        assert_eq!(canonical(" not json "), "not json");
        assert_eq!(canonical(""), "");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(canonical(&deep), deep, "what is nested too deeply is taken as it is");
    }
}
