//! The script: for each stage a list of acts.

use std::collections::BTreeMap;

use homeagent_sdk::{Error, Patch, StageData, ToolOutput};
use serde::Deserialize;
use serde_json::Value;

/// What to do, by the stage's name.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Script(BTreeMap<String, Vec<Entry>>);

/// One thing to do.
pub(crate) enum Act {
    Patch(Entry),
    Trap,
    Hang,
    Error(String),
}

/// An act as it is written. A flag that is false is as good as no act.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Entry {
    Respond(String),
    SetText(String),
    Refuse(String),
    AddSystem(String),
    PutData(BTreeMap<String, Value>),
    SetArgs(Value),
    SetResult(Value),
    DropCall(bool),
    Redirect { tool: String, arguments: Value },
    Trap(bool),
    Hang(bool),
    Error(String),
}

impl Script {
    /// Reads the setting; an empty one does nothing.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map_err(|error| Error::invalid(format!("the setting `script`: {error}")))
    }

    /// What to do in the stage `name`.
    pub(crate) fn acts(&self, name: &str) -> Vec<Act> {
        let entries = self.0.get(name).map_or(&[][..], Vec::as_slice);
        entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Trap(false) | Entry::Hang(false) | Entry::DropCall(false) => None,
                Entry::Trap(true) => Some(Act::Trap),
                Entry::Hang(true) => Some(Act::Hang),
                Entry::Error(text) => Some(Act::Error(text.clone())),
                patch => Some(Act::Patch(patch.clone())),
            })
            .collect()
    }
}

impl Entry {
    /// The patches of the entry; those that are about a call, once for each of the stage's `calls`.
    pub(crate) fn patches(&self, calls: &[String]) -> Result<Vec<Patch>, Error> {
        let for_each = |patch: &dyn Fn(String) -> Result<Patch, Error>| calls.iter().cloned().map(patch).collect();
        match self {
            Self::Respond(text) => Ok(vec![Patch::Respond(text.clone())]),
            Self::SetText(text) => Ok(vec![Patch::SetText(text.clone())]),
            Self::Refuse(text) => Ok(vec![Patch::Refuse(text.clone())]),
            Self::AddSystem(text) => Ok(vec![Patch::AddSystem(text.clone())]),
            Self::SetResult(value) => Ok(vec![Patch::SetResult(ToolOutput::json(value)?)]),
            Self::PutData(data) => data.iter().map(|(key, value)| Patch::put_data(key, value)).collect(),
            Self::SetArgs(arguments) => for_each(&|call| Patch::set_args(call, arguments)),
            Self::DropCall(_) => for_each(&|call| Ok(Patch::DropCall(call))),
            Self::Redirect { tool, arguments } => for_each(&|call| Patch::redirect(call, tool, arguments)),
            Self::Trap(_) | Self::Hang(_) | Self::Error(_) => Ok(Vec::new()),
        }
    }
}

/// The ids of the calls that a stage is about.
pub(crate) fn call_ids(data: &StageData) -> Vec<String> {
    match data {
        StageData::Answer(answer) => answer.calls.iter().map(|call| call.id.clone()).collect(),
        StageData::Call(call) => vec![call.id.clone()],
        StageData::Outcome(outcome) => vec![outcome.call.id.clone()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patches(script: &str, stage: &str) -> Vec<Patch> {
        let script = Script::read(script).expect("the script reads");
        let calls = ["c1".to_owned(), "c2".to_owned()];
        let acts = script.acts(stage);
        let made = acts.iter().map(|act| match act {
            Act::Patch(entry) => entry.patches(&calls).expect("values serialise"),
            _ => Vec::new(),
        });
        made.flatten().collect()
    }

    #[test]
    fn each_entry_becomes_its_patch() {
        let script = r#"{"on_input": [{"respond": "hi"}, {"put-data": {"k": 1}}, {"drop-call": false}]}"#;
        let wanted = vec![Patch::Respond("hi".to_owned()), Patch::put_data("k", &1).expect("a number serialises")];
        assert_eq!(patches(script, "on_input"), wanted);
        assert_eq!(patches(script, "pre_action"), []);
        assert_eq!(patches("", "on_input"), []);
    }

    #[test]
    fn what_is_about_calls_is_done_to_each() {
        let script = r#"{"post_action": [{"drop-call": true}, {"redirect": {"tool": "t", "arguments": {"a": 1}}}]}"#;
        let patches = patches(script, "post_action");
        assert_eq!(patches[..2], [Patch::DropCall("c1".to_owned()), Patch::DropCall("c2".to_owned())]);
        assert_eq!(patches[2], Patch::redirect("c1", "t", &serde_json::json!({"a": 1})).expect("it serialises"));
    }

    #[test]
    fn misdeeds_are_read() {
        let script =
            Script::read(r#"{"on_input": [{"trap": true}, {"hang": true}, {"error": "no"}, {"hang": false}]}"#);
        let acts = script.expect("the script reads").acts("on_input");
        assert!(matches!(&acts[..], [Act::Trap, Act::Hang, Act::Error(text)] if text == "no"));
    }

    #[test]
    fn an_unknown_entry_is_an_error() {
        assert!(Script::read(r#"{"on_input": [{"explode": true}]}"#).is_err());
    }
}
