//! What a tool answers with.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Media, Receipt, ToolOutput};

impl ToolOutput {
    /// Text for the model.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::raw(serde_json::Value::from(text.as_ref()).to_string())
    }

    /// A value as JSON.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        Ok(Self::raw(serde_json::to_string(value)?))
    }

    /// The tool ran and did not succeed; the text says why, and what to try instead.
    pub fn failed(text: impl AsRef<str>) -> Self {
        Self { failed: true, ..Self::text(text) }
    }

    /// A value that is JSON text already.
    pub fn raw(json: impl Into<String>) -> Self {
        Self { value: json.into(), media: Vec::new(), failed: false, meta: Vec::new() }
    }

    /// Adds a picture, a sound or a file.
    pub fn with_media(mut self, media: Media) -> Self {
        self.media.push(media);
        self
    }

    /// Reads the value as `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.value)?)
    }

    /// The value as the model sees it: a string as its text, anything else as JSON.
    pub fn shown(&self) -> String {
        self.parse::<String>().unwrap_or_else(|_| self.value.clone())
    }
}

impl Receipt {
    /// The platform took the message and gave it no id.
    pub fn sent() -> Self {
        Self { platform_id: None, meta: Vec::new() }
    }

    /// The platform took the message and calls it `id`.
    pub fn with_id(id: impl Into<String>) -> Self {
        Self { platform_id: Some(id.into()), meta: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_json_string() {
        let output = ToolOutput::text("a \"quoted\" word");
        assert_eq!(output.value, r#""a \"quoted\" word""#);
        assert_eq!(output.shown(), "a \"quoted\" word");
        assert!(ToolOutput::failed("no").failed);
    }

    #[test]
    fn json_is_shown_as_it_is() {
        let output = ToolOutput::json(&[1, 2]).expect("a list serialises");
        assert_eq!((output.value.as_str(), output.shown().as_str()), ("[1,2]", "[1,2]"));
    }
}
