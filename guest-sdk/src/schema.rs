//! JSON Schemas of Rust types, in the shape models read best.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// The schema of `T` as an object schema: without references, titles and the dialect's name.
pub(crate) fn of<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.insert("type".to_owned(), "object".into());
    if schema.get("properties").is_none() {
        schema.insert("properties".to_owned(), serde_json::json!({}));
    }
    schema.as_value().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::NoArguments;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Trip {
        /// Where to.
        to: Place,
        days: Option<u8>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Place {
        name: String,
    }

    fn read(schema: &str) -> Value {
        serde_json::from_str(schema).expect("a schema is JSON")
    }

    #[test]
    fn a_schema_stands_by_itself() {
        let schema = read(&of::<Trip>());
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["to"]));
        assert_eq!(schema["properties"]["to"]["properties"]["name"]["type"], "string");
        assert_eq!(schema["properties"]["to"]["description"], "Where to.");
        assert!(schema.get("$schema").is_none() && schema.get("$defs").is_none());
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        let schema = read(&of::<NoArguments>());
        assert_eq!((&schema["type"], &schema["properties"]), (&json!("object"), &json!({})));
    }
}
