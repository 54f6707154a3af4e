//! A tool's arguments.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// The arguments of a tool call: a JSON object as text, so that a number keeps every digit it was written with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments(String);

impl Arguments {
    /// Takes the JSON text of an object.
    pub fn new(json: impl Into<String>) -> Self {
        Self(json.into())
    }

    /// The JSON text as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the arguments as `T`. The error is [`Error::Invalid`] and names the argument at fault.
    ///
    /// ```
    /// # use homeagent_sdk::{Arguments, Error};
    /// #[derive(Debug, serde::Deserialize)]
    /// struct Greet { name: String }
    ///
    /// let greet: Greet = Arguments::new(r#"{"name": "Ada"}"#).parse()?;
    /// assert_eq!(greet.name, "Ada");
    ///
    /// let wrong = Arguments::new(r#"{"name": 7}"#).parse::<Greet>().unwrap_err();
    /// assert_eq!(wrong, Error::invalid("argument `name`: invalid type: integer `7`, expected a string"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let text = if self.0.trim().is_empty() { "{}" } else { &self.0 };
        let mut json = serde_json::Deserializer::from_str(text);
        let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let reason = without_position(error.inner());
            match error.path().to_string() {
                path if error.inner().is_data() && path != "." => {
                    Error::invalid(format!("argument `{path}`: {reason}"))
                }
                _ => Error::invalid(reason),
            }
        })?;
        json.end().map_err(|error| Error::invalid(without_position(&error)))?;
        Ok(value)
    }
}

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// Says what is wrong without the line and column: whoever wrote the arguments did not write lines.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if error.is_data() {
        text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(reason, _)| reason.to_owned())
    } else {
        format!("the arguments are not a JSON object: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Move {
        #[allow(dead_code, reason = "only its reading is looked at")]
        to: Place,
    }

    #[derive(Debug, Deserialize)]
    struct Place {
        #[allow(dead_code, reason = "only its reading is looked at")]
        x: u8,
    }

    fn complaint(json: &str) -> String {
        match Arguments::new(json).parse::<Move>() {
            Err(Error::Invalid(text)) => text,
            other => panic!("expected a complaint, got {other:?}"),
        }
    }

    #[test]
    fn a_complaint_names_the_argument() {
        assert_eq!(complaint(r#"{"to": {"x": 300}}"#), "argument `to.x`: invalid value: integer `300`, expected u8");
        assert_eq!(complaint(r#"{"to": {}}"#), "argument `to`: missing field `x`");
        assert_eq!(complaint("{}"), "missing field `to`");
    }

    #[test]
    fn what_is_not_json_is_said_to_be_so() {
        assert!(complaint("{to").starts_with("the arguments are not a JSON object"));
        assert!(complaint(r#"{"to": {"x": 1}} tail"#).starts_with("the arguments are not a JSON object"));
    }

    #[test]
    fn no_arguments_may_be_written_as_nothing() {
        assert_eq!(Arguments::new("").parse(), Ok(NoArguments {}));
        assert_eq!(Arguments::new("{}").parse(), Ok(NoArguments {}));
    }
}
