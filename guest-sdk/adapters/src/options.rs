//! The options of a source.

use homeagent_sdk::adapter::ModelRequest;
use serde_json::{Map, Value};

/// The options of the source that a request is for. A wrong one is refused with a sentence that names it.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(&'a [(String, String)]);

impl<'a> Options<'a> {
    /// The options of a request.
    #[must_use]
    pub fn of(request: &'a ModelRequest) -> Self {
        Options(&request.options)
    }

    /// The options of a source, by name.
    #[must_use]
    pub fn new(options: &'a [(String, String)]) -> Self {
        Options(options)
    }

    /// An option, without the spaces around it. `auto` and nothing are the same as no option.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a str> {
        let value = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty() && *value != "auto")
    }

    /// An option that is on or off.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn switch(self, name: &str, usual: bool) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(usual),
            Some("on" | "true" | "yes" | "always") => Ok(true),
            Some("off" | "false" | "no" | "never") => Ok(false),
            Some(other) => Err(format!("the source's option `{name}` is {other:?}; it can be on or off")),
        }
    }

    /// An option that is one of these words.
    ///
    /// # Errors
    ///
    /// It is none of them.
    pub fn one_of(self, name: &str, words: &[&str]) -> Result<Option<&'a str>, String> {
        match self.get(name) {
            Some(value) if !words.contains(&value) => {
                let words = words.join(", ");
                Err(format!("the source's option `{name}` is {value:?}; it can be one of: {words}"))
            }
            value => Ok(value),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn count(self, name: &str) -> Result<Option<u64>, String> {
        let wrong = |value| format!("the source's option `{name}` is {value:?}; it has to be a whole number");
        self.get(name).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    /// Where requests go, below the base URL.
    ///
    /// # Errors
    ///
    /// It does not begin with a slash.
    pub fn path(self, usual: &str) -> Result<String, String> {
        let path = self.get("path").unwrap_or(usual);
        if path.starts_with('/') {
            Ok(path.to_owned())
        } else {
            Err(format!("the source's option `path` is {path:?}; it has to begin with a slash"))
        }
    }

    /// Fields that go into every request.
    ///
    /// # Errors
    ///
    /// They are no JSON object.
    pub fn body(self) -> Result<Map<String, Value>, String> {
        self.object("body")
    }

    /// A JSON object; an empty one where the source has none.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn object(self, name: &str) -> Result<Map<String, Value>, String> {
        match self.get(name) {
            None => Ok(Map::new()),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| format!("the source's option `{name}` is not a JSON object: {error}")),
        }
    }
}
