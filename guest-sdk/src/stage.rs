//! Patches and what they are made from.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{CallArguments, Datum, Error, Input, Patch, Payload, Redirection, StageContext};

impl Patch {
    /// New arguments for the call `call`.
    pub fn set_args(call: impl Into<String>, arguments: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::SetArgs(CallArguments { call: call.into(), arguments: serde_json::to_string(arguments)? }))
    }

    /// Calls `tool` in the place of the call `call`.
    pub fn redirect(call: impl Into<String>, tool: &str, arguments: &impl Serialize) -> Result<Self, Error> {
        let arguments = serde_json::to_string(arguments)?;
        Ok(Self::Redirect(Redirection { call: call.into(), tool: tool.to_owned(), arguments }))
    }

    /// Keeps a value for the rest of the turn; handlers find it under `<plugin>/<key>`.
    pub fn put_data(key: &str, value: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::PutData(Datum { key: key.to_owned(), value: serde_json::to_string(value)? }))
    }
}

impl StageContext {
    /// What a handler of this turn put under `key`, which is written `<plugin>/<key>`.
    pub fn datum<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let found = self.turn_data.iter().rev().find(|(name, _)| name == key);
        Ok(found.map(|(_, value)| serde_json::from_str(value)).transpose()?)
    }
}

impl Input {
    /// The text of the input; a structured one has its JSON.
    pub fn text(&self) -> &str {
        match &self.payload {
            Payload::Text(text) | Payload::Structured(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stage, StageData, testing};

    #[test]
    fn the_last_datum_of_a_key_counts() {
        let context = StageContext {
            stage: Stage::OnInput,
            data: StageData::Other("null".to_owned()),
            turn_data: vec![("a/n".to_owned(), "1".to_owned()), ("a/n".to_owned(), "2".to_owned())],
            cause: testing::cause(),
            meta: Vec::new(),
        };
        assert_eq!(context.datum::<u8>("a/n"), Ok(Some(2)));
        assert_eq!(context.datum::<u8>("b/n"), Ok(None));
    }

    #[test]
    fn a_datum_is_json() {
        let patch = Patch::put_data("seen", &vec!["x"]).expect("a list serialises");
        assert_eq!(patch, Patch::PutData(Datum { key: "seen".to_owned(), value: r#"["x"]"#.to_owned() }));
    }
}
