//! From guests: what they say is checked here as far as its form goes.

use homeagent_types as host;
use homeagent_types::stage::{FailurePolicy, HandlerMode, Patch, Scope, Stage, StageRegistration};

use crate::bindings::{inputs, stage, types};
use crate::manifest::RESERVED;

/// The most tools, handlers, topics, channels or listeners a plugin may offer, each.
const MOST_OFFERS: usize = 256;
/// The longest name of a tool that vendors of models take, in characters.
const LONGEST_NAME: usize = 64;
/// The longest topic of an event that is listened for, in bytes.
const LONGEST_TOPIC: usize = 256;
/// The longest text about a plugin, a tool or a channel, in bytes: most of them stand in every prompt.
const LONGEST_TEXT: usize = 4 << 10;
/// The longest schema of a tool, in bytes.
const LONGEST_SCHEMA: usize = 64 << 10;
/// What the host's own tools for a channel are called: this, the channel's name, and for one of them [`HELP`].
const SEND: &str = "output_send__";
const HELP: &str = "_help";

impl From<types::Error> for host::CallError {
    fn from(error: types::Error) -> Self {
        match error {
            types::Error::Denied(denial) => host::CallError::Denied(host::Denial {
                capability: denial.capability,
                attempt: denial.attempt,
                remedy: denial.remedy,
            }),
            types::Error::Invalid(text) => host::CallError::Invalid(text),
            types::Error::NotFound(text) => host::CallError::NotFound(text),
            types::Error::NotLive => host::CallError::NotLive,
            types::Error::Busy => host::CallError::Busy,
            types::Error::Timeout => host::CallError::Timeout,
            types::Error::Retryable => host::CallError::Retryable,
            types::Error::Other(text) => host::CallError::Other(text),
        }
    }
}

impl From<types::Role> for host::Role {
    fn from(role: types::Role) -> Self {
        match role {
            types::Role::Owner => host::Role::Owner,
            types::Role::Member => host::Role::Member,
            types::Role::Guest => host::Role::Guest,
            types::Role::Plugin => host::Role::Plugin,
        }
    }
}

impl From<types::Peer> for host::Peer {
    fn from(peer: types::Peer) -> Self {
        match peer {
            types::Peer::Person(id) => host::Peer::Person(id),
            types::Peer::Group(id) => host::Peer::Group(id),
            types::Peer::Other(id) => host::Peer::Other(id),
        }
    }
}

impl From<types::Conversation> for host::Conversation {
    fn from(conversation: types::Conversation) -> Self {
        Self { channel: conversation.channel, peer: conversation.peer.into() }
    }
}

impl From<types::Media> for host::Media {
    fn from(media: types::Media) -> Self {
        host::Media {
            mime: media.mime,
            name: media.name,
            source: match media.source {
                types::MediaSource::Inline(bytes) => host::MediaSource::Inline(bytes),
                types::MediaSource::Url(url) => host::MediaSource::Url(url),
                types::MediaSource::Stored(address) => host::MediaSource::Stored(address),
            },
            meta: media.meta,
        }
    }
}

impl From<types::ToolOutput> for host::ToolOutput {
    fn from(output: types::ToolOutput) -> Self {
        host::ToolOutput {
            value: output.value,
            media: output.media.into_iter().map(Into::into).collect(),
            failed: output.failed,
            meta: output.meta,
        }
    }
}

/// An input that a guest submits.
pub(crate) fn submission(submission: inputs::Submission) -> host::Submission {
    host::Submission {
        platform_id: submission.platform_id,
        peer: submission.peer.into(),
        user: submission.user,
        display_name: submission.display_name,
        connection: submission.connection,
        kind: submission.kind,
        payload: match submission.payload {
            types::Payload::Text(text) => host::Payload::Text(text),
            types::Payload::Structured(json) => host::Payload::Structured(json),
        },
        media: submission.media.into_iter().map(Into::into).collect(),
        reply_route: submission.reply_route,
        received_at: submission.received_at,
        meta: submission.meta,
    }
}

impl From<stage::exports::homeagent::plugin::stage_handler::Patch> for Patch {
    fn from(patch: stage::exports::homeagent::plugin::stage_handler::Patch) -> Self {
        use stage::exports::homeagent::plugin::stage_handler::Patch as Guest;
        match patch {
            Guest::SetText(text) => Patch::SetText(text),
            Guest::AddSystem(text) => Patch::AddSystem(text),
            Guest::SetArgs(set) => Patch::SetArgs { call: set.call, arguments: set.arguments },
            Guest::SetResult(output) => Patch::SetResult(output.into()),
            Guest::DropCall(call) => Patch::DropCall(call),
            Guest::Redirect(to) => Patch::Redirect { call: to.call, tool: to.tool, arguments: to.arguments },
            Guest::Refuse(reason) => Patch::Refuse(reason),
            Guest::Respond(text) => Patch::Respond(text),
            Guest::PutData(datum) => Patch::PutData { key: datum.key, value: datum.value },
            Guest::Other(json) => Patch::Other(json),
        }
    }
}

/// What a plugin says of itself, or what is wrong with it.
pub(crate) fn checked_descriptor(name: &str, given: types::Descriptor) -> Result<host::Descriptor, String> {
    if given.name != name {
        return Err(format!("plugin.toml calls it {name:?}, the component calls itself {:?}", given.name));
    }
    let counts = [given.tools.len(), given.stages.len(), given.events.len(), given.channels.len()];
    if counts.into_iter().chain([given.listeners.len()]).any(|count| count > MOST_OFFERS) {
        return Err(format!("it offers more than {MOST_OFFERS} things of one kind"));
    }
    let stages: Vec<_> = given.stages.into_iter().map(registration).collect();
    for registration in &stages {
        let about_tools = matches!(registration.stage, Stage::BeforeToolcall | Stage::AfterToolcall);
        if registration.scope == Scope::OwnTools && !about_tools {
            let stage = registration.stage.as_str();
            return Err(format!("a handler of {stage} can't have the scope own-tools: no tool is in question there"));
        }
    }
    check_text("summary", &given.summary)?;
    check_text("version", &given.version)?;
    check_meta(&given.meta)?;
    if let Some(topic) = given.events.iter().find(|topic| topic.len() > LONGEST_TOPIC) {
        return Err(format!("it listens for a topic of {} bytes; {LONGEST_TOPIC} are the most", topic.len()));
    }
    let channels = given.channels.into_iter().map(channel).collect::<Result<Vec<_>, _>>()?;
    check_once("channel", channels.iter().map(|channel| channel.name.as_str()))?;
    let listeners: Vec<_> = given.listeners.into_iter().map(|listener| listener.name).collect();
    listeners.iter().try_for_each(|name| check_offered_name("listener", name, LONGEST_NAME))?;
    check_once("listener", listeners.iter().map(String::as_str))?;
    Ok(host::Descriptor {
        name: given.name,
        version: given.version,
        summary: given.summary,
        tools: checked_tools(given.tools)?,
        stages,
        events: given.events,
        channels,
        listeners,
        meta: given.meta,
    })
}

fn check_text(what: &str, text: &str) -> Result<(), String> {
    if text.len() > LONGEST_TEXT {
        return Err(format!("its {what} has {} bytes; {LONGEST_TEXT} are the most", text.len()));
    }
    Ok(())
}

/// Additions are as long as other texts, all of one thing together.
fn check_meta(meta: &[(String, String)]) -> Result<(), String> {
    let size = meta.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    if size > LONGEST_TEXT {
        return Err(format!("its meta has {size} bytes; {LONGEST_TEXT} are the most"));
    }
    Ok(())
}

fn check_once<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("it offers the {kind} {} twice", pair[0])),
        None => Ok(()),
    }
}

/// Tool definitions, or what is wrong with one.
pub(crate) fn checked_tools(given: Vec<types::ToolDefinition>) -> Result<Vec<host::ToolDefinition>, String> {
    if given.len() > MOST_OFFERS {
        return Err(format!("it offers {} tools; {MOST_OFFERS} are the most", given.len()));
    }
    let tools = given.into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    check_once("tool", tools.iter().map(|tool| tool.name.as_str()))?;
    Ok(tools)
}

fn tool(given: types::ToolDefinition) -> Result<host::ToolDefinition, String> {
    check_offered_name("tool", &given.name, LONGEST_NAME)?;
    if given.name.starts_with(SEND) {
        return Err(format!("the name of its tool {} must not begin with {SEND}: the host's own tools do", given.name));
    }
    check_text(&format!("description of the tool {}", given.name), &given.description)?;
    if given.parameters.len() > LONGEST_SCHEMA {
        let (name, size) = (&given.name, given.parameters.len());
        return Err(format!("the schema of its tool {name} has {size} bytes; {LONGEST_SCHEMA} are the most"));
    }
    check_text("cleaner", given.cleaner.as_deref().unwrap_or_default())?;
    check_meta(&given.meta)?;
    let parameters: serde_json::Value = serde_json::from_str(&given.parameters)
        .map_err(|error| format!("the schema of its tool {} is not JSON: {error}", given.name))?;
    if !parameters.is_object() {
        return Err(format!("the schema of its tool {} is not a JSON object", given.name));
    }
    Ok(host::ToolDefinition {
        name: given.name,
        description: given.description,
        parameters,
        effect: match given.effect {
            types::Effect::Read => host::Effect::Read,
            types::Effect::Own => host::Effect::Own,
            types::Effect::World => host::Effect::World,
        },
        min_role: given.min_role.map(Into::into),
        stateless: given.stateless,
        no_memory: given.no_memory,
        cleaner: given.cleaner,
        timeout_ms: given.timeout_ms,
        meta: given.meta,
    })
}

fn channel(given: types::ChannelDefinition) -> Result<host::ChannelDefinition, String> {
    check_offered_name("channel", &given.name, LONGEST_NAME - SEND.len() - HELP.len())?;
    if RESERVED.contains(&given.name.as_str()) {
        return Err(format!("{} is a name of the host's own; its channel needs another", given.name));
    }
    if given.name.ends_with(HELP) {
        return Err(format!("the name of its channel {} must not end in {HELP}: the host's own tools do", given.name));
    }
    check_text(&format!("description of the channel {}", given.name), &given.description)?;
    check_text(&format!("help of the channel {}", given.name), &given.help)?;
    let flags = [
        (types::OutputCapabilities::TEXT, host::OutputCapabilities::TEXT),
        (types::OutputCapabilities::FILE, host::OutputCapabilities::FILE),
        (types::OutputCapabilities::IMAGE, host::OutputCapabilities::IMAGE),
        (types::OutputCapabilities::AUDIO, host::OutputCapabilities::AUDIO),
        (types::OutputCapabilities::STRUCTURED, host::OutputCapabilities::STRUCTURED),
    ];
    let capabilities = flags
        .into_iter()
        .filter(|(flag, _)| given.capabilities.contains(*flag))
        .fold(host::OutputCapabilities::default(), |all, (_, flag)| all.union(flag));
    Ok(host::ChannelDefinition {
        name: given.name,
        description: given.description,
        capabilities,
        help: given.help,
        streaming: given.streaming,
        meta: given.meta,
    })
}

fn check_offered_name(kind: &str, name: &str, longest: usize) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > longest || !name.chars().all(fits) {
        return Err(format!("the name of its {kind} {name:?} must be 1 to {longest} letters, digits, - and _"));
    }
    Ok(())
}

fn registration(given: types::StageRegistration) -> StageRegistration {
    StageRegistration {
        stage: match given.stage {
            types::Stage::OnInput => Stage::OnInput,
            types::Stage::PreAction => Stage::PreAction,
            types::Stage::PostAction => Stage::PostAction,
            types::Stage::BeforeToolcall => Stage::BeforeToolcall,
            types::Stage::AfterToolcall => Stage::AfterToolcall,
            types::Stage::BeforeOutput => Stage::BeforeOutput,
            types::Stage::AfterOutput => Stage::AfterOutput,
        },
        mode: match given.mode {
            types::HandlerMode::Observe => HandlerMode::Observe,
            types::HandlerMode::Add => HandlerMode::Add,
            types::HandlerMode::Rewrite => HandlerMode::Rewrite,
        },
        scope: match given.scope {
            types::Scope::OwnTools => Scope::OwnTools,
            types::Scope::Global => Scope::Global,
        },
        priority: given.priority,
        on_failure: given.on_failure.map(|policy| match policy {
            types::FailurePolicy::Open => FailurePolicy::Open,
            types::FailurePolicy::Closed => FailurePolicy::Closed,
        }),
        timeout_ms: given.timeout_ms,
        meta: given.meta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(channels: &[&str], tools: &[&str]) -> types::Descriptor {
        let channel = |name: &&str| types::ChannelDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            capabilities: types::OutputCapabilities::TEXT,
            help: String::new(),
            streaming: false,
            meta: Vec::new(),
        };
        let tool = |name: &&str| types::ToolDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: r#"{"type":"object"}"#.to_owned(),
            effect: types::Effect::Read,
            min_role: None,
            stateless: false,
            no_memory: false,
            cleaner: None,
            timeout_ms: None,
            meta: Vec::new(),
        };
        types::Descriptor {
            name: "mine".into(),
            version: "1".into(),
            summary: String::new(),
            tools: tools.iter().map(tool).collect(),
            stages: Vec::new(),
            events: Vec::new(),
            channels: channels.iter().map(channel).collect(),
            listeners: Vec::new(),
            meta: Vec::new(),
        }
    }

    fn refused(given: types::Descriptor) -> String {
        checked_descriptor("mine", given).expect_err("it can't be offered")
    }

    #[test]
    fn the_host_s_own_names_are_not_to_be_had() {
        for name in RESERVED {
            assert!(refused(descriptor(&[name], &[])).contains("the host's own"), "{name}");
        }
        let taken = refused(descriptor(&[], &["output_send__cli"]));
        assert!(taken.contains("the host's own tools"), "{taken}");
    }

    #[test]
    fn what_is_offered_has_one_name_each_and_texts_of_a_bounded_length() {
        let listeners = ["chat", "chat"].map(|name| types::ListenerDefinition { name: name.into(), meta: Vec::new() });
        let twice = types::Descriptor { listeners: listeners.into(), ..descriptor(&[], &[]) };
        assert!(refused(twice).contains("listener chat twice"));
        assert!(refused(descriptor(&["tv", "tv"], &[])).contains("channel tv twice"));
        assert!(refused(descriptor(&[], &["add", "add"])).contains("tool add twice"));
        let long = "x".repeat(LONGEST_TEXT + 1);
        let mut wordy = descriptor(&[], &["add"]);
        wordy.tools[0].description = long.clone();
        assert!(refused(wordy).contains("description of the tool add"));
        assert!(refused(types::Descriptor { summary: long.clone(), ..descriptor(&[], &[]) }).contains("summary"));
        assert!(refused(types::Descriptor { events: vec![long], ..descriptor(&[], &[]) }).contains("topic"));
    }

    #[test]
    fn every_channel_has_tools_whose_names_vendors_take_and_nobody_else_has() {
        let longest = "x".repeat(46);
        let offered = checked_descriptor("mine", descriptor(&[&longest], &[])).expect("it fits");
        assert_eq!(format!("output_send__{}_help", offered.channels[0].name).len(), 64);
        assert!(refused(descriptor(&["x".repeat(47).as_str()], &[])).contains("1 to 46"));
        assert!(refused(descriptor(&["cli_help"], &[])).contains("must not end in _help"));
    }
}
