//! The schemas of tools' arguments, for vendors that take a part of JSON Schema only.

use homeagent_sdk::adapter::ToolSpec;
use serde_json::{Map, Value, json};

/// Says nothing about which arguments are right, so nothing is lost without it.
const ANNOTATIONS: [&str; 8] =
    ["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// The schema of a tool's arguments; a tool without one takes none.
///
/// # Errors
///
/// It is not JSON.
pub fn parameters(tool: &ToolSpec) -> Result<Value, String> {
    match tool.parameters.trim() {
        "" | "null" | "{}" => Ok(json!({"type": "object", "properties": {}})),
        text => serde_json::from_str(text)
            .map_err(|error| format!("the parameters of the tool `{}` are not JSON: {error}", tool.name)),
    }
}

/// The schema with the keywords in `known` alone. What others say is told in words, in the description of what they
/// are about.
#[must_use]
pub fn narrowed(schema: &Value, known: &[&str]) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut narrow = Map::new();
    let mut told = Map::new();
    for (keyword, value) in fields {
        match keyword.as_str() {
            keyword if known.contains(&keyword) => {
                narrow.insert(keyword.to_owned(), inner(keyword, value, known));
            }
            "const" if known.contains(&"enum") => {
                narrow.insert("enum".to_owned(), json!([value]));
            }
            keyword if ANNOTATIONS.contains(&keyword) => {}
            keyword => {
                told.insert(keyword.to_owned(), value.clone());
            }
        }
    }
    tell(&mut narrow, &told);
    Value::Object(narrow)
}

/// Adds to the description of `schema` what else its values have to match.
pub fn tell(schema: &mut Map<String, Value>, told: &Map<String, Value>) {
    if told.is_empty() {
        return;
    }
    let before = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let gap = if before.is_empty() { "" } else { " " };
    let described = format!("{before}{gap}It has to match this JSON Schema, too: {}", Value::Object(told.clone()));
    schema.insert("description".to_owned(), described.into());
}

fn inner(keyword: &str, value: &Value, known: &[&str]) -> Value {
    match (keyword, value) {
        ("properties" | "$defs" | "definitions", Value::Object(schemas)) => {
            schemas.iter().map(|(name, schema)| (name.clone(), narrowed(schema, known))).collect::<Map<_, _>>().into()
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
            schemas.iter().map(|schema| narrowed(schema, known)).collect::<Vec<_>>().into()
        }
        ("items" | "additionalProperties", schema) => narrowed(schema, known),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_vendor_does_not_know_is_told_in_words() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "A name.", "pattern": "^[a-z]+$"},
                "kind": {"const": "tea"},
                "pattern": {"type": "array", "items": {"type": "integer", "multipleOf": 5}},
            },
        });
        let narrow = narrowed(&schema, &["type", "properties", "items", "enum", "description"]);
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {
                    "type": "string",
                    "description": "A name. It has to match this JSON Schema, too: {\"pattern\":\"^[a-z]+$\"}",
                },
                "kind": {"enum": ["tea"]},
                "pattern": {
                    "type": "array",
                    "items": {
                        "type": "integer",
                        "description": "It has to match this JSON Schema, too: {\"multipleOf\":5}",
                    },
                },
            },
        });
        assert_eq!(narrow, expected);
    }

    #[test]
    fn a_tool_without_a_schema_takes_no_arguments() {
        let tool = |parameters: &str| ToolSpec {
            name: "f".to_owned(),
            description: String::new(),
            parameters: parameters.to_owned(),
        };
        for nothing in ["", " null ", "{}"] {
            assert_eq!(parameters(&tool(nothing)).expect("read"), json!({"type": "object", "properties": {}}));
        }
        assert!(parameters(&tool("{")).expect_err("refused").contains("`f`"));
    }
}
