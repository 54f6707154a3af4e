//! The set of tools: those of plugins, those that send through channels, and those of other parts of the host.

use std::collections::BTreeMap;
use std::sync::Arc;

use homeagent_types::model::ToolSpec;
use homeagent_types::ports::{Models, Toolbox};
use homeagent_types::{ChannelDefinition, Conversation, Effect, Offers, OutputCapabilities, Role, ToolDefinition};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::media_tools;
use crate::policy::{Policies, Policy};
use crate::switching;

/// What begins the names of tools that send.
const SEND: &str = "output_send__";

/// How different an offered name may be, in characters, from the one that was called.
const NEAR: usize = 6;

/// Who runs a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// This plugin.
    Plugin(String),
    /// The host: sends through this channel.
    Send(String),
    /// The host: tells what a sender should know of this channel.
    Help(String),
    /// The host: lists the channels.
    ListChannels,
    /// The host: sets where the turn's last text goes.
    SetChannel,
    /// The host: puts a plugin's new code in.
    ReloadPlugin,
    /// The host: shows what came with an earlier message.
    LookAtMedia,
    /// The host: has it described by a model that takes it in.
    DescribeMedia,
    /// The host: says which sources there are, and changes which is asked, and how.
    SwitchModel,
    /// The part of the host at this place among the agent's toolboxes.
    Toolbox(usize),
}

/// A tool and who runs it.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) definition: ToolDefinition,
    pub(crate) action: Action,
}

impl Tool {
    /// The plugin whose tool this is; `None` for the host's own.
    pub(crate) fn plugin(&self) -> Option<&str> {
        match &self.action {
            Action::Plugin(plugin) => Some(plugin),
            _ => None,
        }
    }
}

/// A tool and its owner, for people to look at.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ToolListing {
    /// The plugin that offers it, or `host`.
    pub owner: String,
    /// The least role that may call it.
    pub least_role: Role,
    /// What becomes of a call, unless others may have written what the model reads.
    pub policy: Policy,
    /// The tool.
    #[serde(flatten)]
    pub tool: ToolDefinition,
}

/// All tools of one moment, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolSet {
    tools: BTreeMap<String, Tool>,
}

impl ToolSet {
    /// Puts together what the plugins offer and what the host adds for a turn in `conversation`. Of two tools of one name
    /// the first is used: the host's own before those of its other parts, and these before those of plugins.
    pub(crate) fn assemble(
        offers: &Offers,
        toolboxes: &[Arc<dyn Toolbox>],
        conversation: Option<&Conversation>,
    ) -> Self {
        let mut set = Self::default();
        for offer in &offers.channels {
            let here = conversation.is_some_and(|conversation| conversation.channel == offer.item.name);
            set.add(send_tool(&offer.item, here), Action::Send(offer.item.name.clone()));
            set.add(help_tool(&offer.item, here), Action::Help(offer.item.name.clone()));
        }
        if !offers.channels.is_empty() {
            set.add(list_tool(), Action::ListChannels);
            set.add(set_tool(), Action::SetChannel);
        }
        if !offers.is_empty() {
            set.add(reload_tool(), Action::ReloadPlugin);
        }
        set.add(media_tools::look(), Action::LookAtMedia);
        set.add(media_tools::describe(), Action::DescribeMedia);
        for (at, toolbox) in toolboxes.iter().enumerate() {
            for definition in toolbox.tools() {
                set.add_if_free(definition, Action::Toolbox(at), toolboxes);
            }
        }
        for offer in &offers.tools {
            set.add_if_free(offer.item.clone(), Action::Plugin(offer.plugin.clone()), toolboxes);
        }
        set
    }

    /// Adds what chooses among the sources, where there is a choice.
    pub(crate) fn with_choices(mut self, models: &dyn Models) -> Self {
        if models.has_choices() {
            self.add(switching::tool(), Action::SwitchModel);
        }
        self
    }

    fn add(&mut self, definition: ToolDefinition, action: Action) {
        self.tools.insert(definition.name.clone(), Tool { definition, action });
    }

    fn add_if_free(&mut self, definition: ToolDefinition, action: Action, toolboxes: &[Arc<dyn Toolbox>]) {
        let Some(known) = self.tools.get(&definition.name) else { return self.add(definition, action) };
        let name = |action: &Action| match action {
            Action::Plugin(plugin) => plugin.clone(),
            Action::Toolbox(at) => toolboxes.get(*at).map_or("host", |toolbox| toolbox.name()).to_owned(),
            _ => "host".to_owned(),
        };
        tracing::debug!(
            tool = definition.name,
            owner = name(&known.action),
            refused = name(&action),
            "two tools of one name: the second is not used"
        );
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// What a model is shown in a turn with these rights, sorted by name; not what the owner does not allow.
    pub(crate) fn specs(&self, role: Role, policies: &Policies) -> Vec<ToolSpec> {
        self.allowed(role)
            .filter(|tool| policies.of(&tool.definition.name) != Some(Policy::Deny))
            .map(|tool| ToolSpec {
                name: tool.definition.name.clone(),
                description: tool.definition.description.clone(),
                parameters: tool.definition.parameters.clone(),
            })
            .collect()
    }

    /// The same for people.
    pub(crate) fn listing(&self, role: Role, policies: &Policies) -> Vec<ToolListing> {
        self.allowed(role)
            .map(|tool| ToolListing {
                owner: tool.plugin().unwrap_or("host").to_owned(),
                least_role: tool.definition.least_role(),
                policy: policies.of(&tool.definition.name).unwrap_or(Policy::Allow),
                tool: tool.definition.clone(),
            })
            .collect()
    }

    fn allowed(&self, role: Role) -> impl Iterator<Item = &Tool> {
        self.tools.values().filter(move |tool| tool.definition.least_role() <= role)
    }

    /// What to say of a name that is not there, with the nearest one that the caller may use.
    pub(crate) fn unknown(&self, name: &str, role: Role) -> String {
        let near = self
            .allowed(role)
            .map(|tool| tool.definition.name.as_str())
            .map(|known| (strsim::damerau_levenshtein(known, name), known))
            .filter(|(distance, known)| *distance <= NEAR.min(known.chars().count()) || known.contains(name))
            .min();
        match near {
            Some((_, near)) => format!("there is no tool \"{name}\"; did you mean \"{near}\"? Nothing was run"),
            None => format!("there is no tool \"{name}\"; nothing was run"),
        }
    }
}

fn stateless(name: &str, description: &str, effect: Effect, properties: &Value, required: &[&str]) -> ToolDefinition {
    ToolDefinition { stateless: true, ..ToolDefinition::of_host(name, description, effect, properties, required) }
}

/// Anyone may have an answer sent to where they speak; the tool itself checks other addressees.
fn for_everyone(mut tool: ToolDefinition, here: bool) -> ToolDefinition {
    if here {
        tool.min_role = Some(Role::Guest);
    }
    tool
}

fn send_tool(channel: &ChannelDefinition, here: bool) -> ToolDefinition {
    let name = &channel.name;
    let kinds: Vec<&str> = channel.capabilities.names();
    let to = if here { "; without it, to where this conversation is" } else { "" };
    let description = format!(
        "Sends a message through the channel {name} ({}). It can carry: {}. The address stands in meta.to{to}.",
        channel.description,
        if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") },
    );
    let properties = json!({
        "payload": {
            "type": "string",
            "description": "The text; for file, image and audio the address (https://... or media:...); for structured a JSON text"
        },
        "type": { "type": "string", "enum": OutputCapabilities::NAMED.map(|(_, name)| name) },
        "meta": {
            "type": "object",
            "description": format!(
                "to: whom, as {name}:<account> or {name}:group/<id>; caption, name, mime: of a file, image or audio"
            ),
            "additionalProperties": { "type": "string" }
        }
    });
    for_everyone(stateless(&format!("{SEND}{name}"), &description, Effect::World, &properties, &["payload"]), here)
}

fn help_tool(channel: &ChannelDefinition, here: bool) -> ToolDefinition {
    let name = &channel.name;
    let description = format!("Tells what the channel {name} can carry and how: formats, lengths, how text is split.");
    for_everyone(stateless(&format!("{SEND}{name}_help"), &description, Effect::Read, &json!({}), &[]), here)
}

fn list_tool() -> ToolDefinition {
    let description = "Lists the output channels, what each can carry, and which one this turn's answer goes to.";
    stateless("output_list_channels", description, Effect::Read, &json!({}), &[])
}

fn set_tool() -> ToolDefinition {
    let properties = json!({
        "channel": { "type": "string", "description": "The channel's name" },
        "to": { "type": "string", "description": "Whom, as <channel>:<account> or <channel>:group/<id>" }
    });
    let description = "Sets where this turn's last text goes, instead of where the message came from.";
    stateless("output_set_channel", description, Effect::World, &properties, &["channel"])
}

fn reload_tool() -> ToolDefinition {
    let properties = json!({ "plugin": { "type": "string", "description": "The plugin's name" } });
    let description = "Reads a plugin's package anew and puts its code in the place of what runs. If the new code can't be \
                       started, the old goes on and the answer says why.";
    let tool = ToolDefinition::of_host("plgreload", description, Effect::World, &properties, &["plugin"]);
    ToolDefinition { min_role: Some(Role::Owner), ..tool }
}
