//! What a script answers, from JSON.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Program;
use crate::inputs::Submission;
use crate::{
    ChannelDefinition, Descriptor, Effect, Error, FailurePolicy, HandlerMode, OutputCapabilities, Patch, Payload, Peer,
    Receipt, Role, Scope, Stage, StageRegistration, Tool, ToolOutput,
};

/// Reads `value`; the error says where in `what` it is wrong.
///
/// # Errors
/// It is not as the type says.
pub fn read<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner();
        Error::other(if path == "." { format!("{what}: {reason}") } else { format!("{what}, `{path}`: {reason}") })
    })
}

/// Reads a list. Some languages write an empty one as they write an empty object.
///
/// # Errors
/// It is something else, or what is in it is.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Listed {
        Nothing(Nothing),
        Values(Vec<Value>),
    }
    let values = match Listed::deserialize(deserializer)? {
        Listed::Nothing(Nothing {}) => Vec::new(),
        Listed::Values(values) => values,
    };
    let read = values.into_iter().map(|value| T::deserialize(value).map_err(serde::de::Error::custom));
    read.collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDescriptor {
    #[serde(default)]
    summary: String,
    #[serde(default, deserialize_with = "list")]
    tools: Vec<RawTool>,
    #[serde(default, deserialize_with = "list")]
    stages: Vec<RawStage>,
    #[serde(default, deserialize_with = "list")]
    events: Vec<String>,
    #[serde(default, deserialize_with = "list")]
    channels: Vec<RawChannel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    name: String,
    description: String,
    parameters: Option<Value>,
    effect: Option<RawEffect>,
    min_role: Option<RawRole>,
    #[serde(default)]
    stateless: bool,
    #[serde(default)]
    no_memory: bool,
    cleaner: Option<String>,
    timeout_ms: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    stage: RawStageName,
    mode: Option<RawMode>,
    scope: Option<RawScope>,
    #[serde(default)]
    priority: i32,
    on_failure: Option<RawPolicy>,
    timeout_ms: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawChannel {
    name: String,
    description: String,
    #[serde(default, deserialize_with = "list")]
    capabilities: Vec<RawCapability>,
    #[serde(default)]
    help: String,
    #[serde(default)]
    streaming: bool,
}

/// An enum of the contract by the names that the contract gives its cases.
macro_rules! names {
    ($raw:ident => $of:ident { $($case:ident),+ $(,)? }) => {
        #[derive(Clone, Copy, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum $raw { $($case),+ }

        impl From<$raw> for $of {
            fn from(raw: $raw) -> Self {
                match raw { $($raw::$case => $of::$case),+ }
            }
        }
    };
}

names!(RawEffect => Effect { Read, Own, World });
names!(RawRole => Role { Owner, Member, Guest, Plugin });
names!(RawPolicy => FailurePolicy { Open, Closed });
names!(RawStageName => Stage {
    OnInput, PreAction, PostAction, BeforeToolcall, AfterToolcall, BeforeOutput, AfterOutput
});
names!(RawMode => HandlerMode { Observe, Add, Rewrite });
names!(RawScope => Scope { OwnTools, Global });

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawCapability {
    Text,
    File,
    Image,
    Audio,
    Structured,
}

pub(super) fn descriptor(program: &Program, value: Value) -> Result<Descriptor, Error> {
    let raw: RawDescriptor = read("what the script offers", value)?;
    Ok(Descriptor {
        name: program.plugin.clone(),
        version: program.version.clone(),
        summary: raw.summary,
        tools: raw.tools.into_iter().map(Tool::from).collect(),
        stages: raw.stages.into_iter().map(StageRegistration::from).collect(),
        events: raw.events,
        channels: raw.channels.into_iter().map(ChannelDefinition::from).collect(),
        listeners: Vec::new(),
        meta: Vec::new(),
    })
}

impl From<RawTool> for Tool {
    fn from(raw: RawTool) -> Self {
        let no_arguments = || serde_json::json!({ "type": "object", "properties": {} });
        Self {
            name: raw.name,
            description: raw.description,
            parameters: raw.parameters.unwrap_or_else(no_arguments).to_string(),
            effect: raw.effect.map_or(Effect::World, Effect::from),
            min_role: raw.min_role.map(Role::from),
            stateless: raw.stateless,
            no_memory: raw.no_memory,
            cleaner: raw.cleaner,
            timeout_ms: raw.timeout_ms,
            meta: Vec::new(),
        }
    }
}

impl From<RawStage> for StageRegistration {
    fn from(raw: RawStage) -> Self {
        let mode = raw.mode.map_or(HandlerMode::Observe, HandlerMode::from);
        let usual = Self::new(raw.stage.into(), mode);
        Self {
            scope: raw.scope.map_or(usual.scope, Scope::from),
            priority: raw.priority,
            on_failure: raw.on_failure.map(FailurePolicy::from),
            timeout_ms: raw.timeout_ms,
            ..usual
        }
    }
}

impl From<RawChannel> for ChannelDefinition {
    fn from(raw: RawChannel) -> Self {
        let one = |capability| match capability {
            RawCapability::Text => OutputCapabilities::TEXT,
            RawCapability::File => OutputCapabilities::FILE,
            RawCapability::Image => OutputCapabilities::IMAGE,
            RawCapability::Audio => OutputCapabilities::AUDIO,
            RawCapability::Structured => OutputCapabilities::STRUCTURED,
        };
        let told = raw.capabilities.into_iter().map(one).fold(OutputCapabilities::empty(), |all, one| all | one);
        let capabilities = if told.is_empty() { OutputCapabilities::TEXT } else { told };
        let (name, description, help, streaming) = (raw.name, raw.description, raw.help, raw.streaming);
        Self { name, description, capabilities, help, streaming, meta: Vec::new() }
    }
}

/// `{ value, failed }`, as both languages' own side of the SDK makes it of what a tool returned.
pub(super) fn tool_output(value: Value) -> Result<ToolOutput, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        #[serde(default)]
        value: Value,
        #[serde(default)]
        failed: bool,
    }
    let raw: Raw = read("what the tool returned", value)?;
    Ok(ToolOutput { failed: raw.failed, ..ToolOutput::json(&raw.value)? })
}

/// Nothing, one patch, or a list of them; each names what it does by its key.
pub(super) fn patches(value: Value) -> Result<Vec<Patch>, Error> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => {
            let all: Result<Vec<_>, _> = values.into_iter().map(patches).collect();
            Ok(all?.into_iter().flatten().collect())
        }
        Value::Object(fields) => fields.into_iter().map(|(key, value)| patch(&key, value)).collect(),
        other => {
            Err(Error::other(format!("a stage handler returns patches, such as {{ set_text = ... }}, not {other}")))
        }
    }
}

fn patch(key: &str, value: Value) -> Result<Patch, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Call {
        call: String,
        tool: Option<String>,
        arguments: Value,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Datum {
        key: String,
        value: Value,
    }
    let text = |value| read::<String>(key, value);
    match key {
        "set_text" => text(value).map(Patch::SetText),
        "add_system" => text(value).map(Patch::AddSystem),
        "drop_call" => text(value).map(Patch::DropCall),
        "refuse" => text(value).map(Patch::Refuse),
        "respond" => text(value).map(Patch::Respond),
        "set_result" => ToolOutput::json(&value).map(Patch::SetResult),
        "set_args" => {
            let call: Call = read(key, value)?;
            Patch::set_args(call.call, &call.arguments)
        }
        "redirect" => {
            let call: Call = read(key, value)?;
            let tool = call.tool.ok_or_else(|| Error::other("redirect lacks `tool`"))?;
            Patch::redirect(call.call, &tool, &call.arguments)
        }
        "put_data" => {
            let datum: Datum = read(key, value)?;
            Patch::put_data(&datum.key, &datum.value)
        }
        _ => Err(Error::other(format!(
            "there is no patch `{key}`; there are set_text, add_system, set_args, set_result, drop_call, redirect, \
             refuse, respond, put_data"
        ))),
    }
}

/// Nothing, the platform's id of the message, or `{ platform_id }`.
pub(super) fn receipt(value: Value) -> Result<Receipt, Error> {
    match value {
        Value::Null => Ok(Receipt::sent()),
        Value::String(id) => Ok(Receipt::with_id(id)),
        other => {
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Raw {
                platform_id: Option<String>,
            }
            let raw: Raw = read("what deliver returned", other)?;
            Ok(raw.platform_id.map_or_else(Receipt::sent, Receipt::with_id))
        }
    }
}

/// With whom a conversation is.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPeer {
    Person(String),
    Group(String),
}

impl From<RawPeer> for Peer {
    fn from(raw: RawPeer) -> Self {
        match raw {
            RawPeer::Person(id) => Self::Person(id),
            RawPeer::Group(id) => Self::Group(id),
        }
    }
}

/// What a person said, as a script hands it over.
pub(super) fn submission(value: Value) -> Result<Submission, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        peer: Option<RawPeer>,
        user: String,
        text: Option<String>,
        structured: Option<Value>,
        platform_id: Option<String>,
        display_name: Option<String>,
        kind: Option<String>,
        reply_route: Option<String>,
    }
    let raw: Raw = read("the submission", value)?;
    let peer = raw.peer.map_or_else(|| Peer::Person(raw.user.clone()), Peer::from);
    let mut submission = Submission::text(peer, raw.user, raw.text.unwrap_or_default());
    if let Some(structured) = raw.structured {
        submission.payload = Payload::Structured(structured.to_string());
    }
    submission.platform_id = raw.platform_id;
    submission.display_name = raw.display_name;
    submission.reply_route = raw.reply_route;
    submission.kind = raw.kind.unwrap_or(submission.kind);
    Ok(submission)
}

/// The tools that are to replace those the script has.
pub(super) fn tools(value: Value) -> Result<Vec<Tool>, Error> {
    #[derive(Deserialize)]
    struct Raw(#[serde(deserialize_with = "list")] Vec<RawTool>);
    let Raw(tools) = read("the tools", value)?;
    Ok(tools.into_iter().map(Tool::from).collect())
}

/// What a script raised: `{ kind, message }`, as its language's side of the SDK makes it.
pub fn raised(kind: &str, message: String) -> Error {
    match kind {
        "invalid" => Error::Invalid(message),
        "not-found" => Error::NotFound(message),
        "not-live" => Error::NotLive,
        "busy" => Error::Busy,
        "timeout" => Error::Timeout,
        "retryable" => Error::Retryable,
        _ => Error::Other(message),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn program() -> Program {
        Program { plugin: "x".into(), version: "1".into(), files: Vec::new() }
    }

    #[test]
    fn a_script_that_offers_something_misspelt_is_told_what_and_where() {
        let error = descriptor(&program(), json!({ "tools": [{ "name": "a", "descripton": "b" }] }));
        assert!(error.expect_err("a misspelling").message().contains("descripton"));
        let error = descriptor(&program(), json!({ "stages": [{ "stage": "on-inptu" }] }));
        assert!(error.expect_err("a misspelling").message().contains("on-inptu"));
    }

    #[test]
    fn an_empty_list_may_be_written_as_an_empty_object() {
        let offered = descriptor(&program(), json!({ "tools": {}, "events": [] })).expect("nothing is offered");
        assert!(offered.tools.is_empty());
    }

    #[test]
    fn patches_come_alone_or_in_a_list() {
        let one = patches(json!({ "set_text": "a" })).expect("a patch");
        assert_eq!(one, [Patch::SetText("a".into())]);
        let two = patches(json!([{ "add_system": "a" }, { "refuse": "b" }])).expect("two patches");
        assert_eq!(two, [Patch::AddSystem("a".into()), Patch::Refuse("b".into())]);
        assert!(patches(json!({ "set_txet": "a" })).expect_err("a misspelling").message().contains("set_txet"));
    }
}
