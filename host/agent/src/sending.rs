//! The host's own tools: sending through channels, and choosing where a turn's last text goes.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt as _;
use homeagent_types::{
    CallError, Cause, ChannelDefinition, Conversation, Media, MediaSource, Offers, Output, OutputCapabilities,
    OutputKind, Role, ToolOutput,
};
use serde_json::{Value, json};

use crate::core::Core;
use crate::media;
use crate::media_tools;
use crate::outputs::{self, Route};
use crate::prompt;
use crate::record::Record;
use crate::switching;
use crate::tools::{Action, Tool};

/// Where a turn's last text goes, and what has been sent there already.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Where the input came from.
    pub(crate) home: Route,
    /// Where the last text goes.
    pub(crate) route: Route,
    /// What tools have sent: it counts as the answer where it went.
    sent: Vec<(Conversation, String)>,
}

impl Reply {
    pub(crate) fn new(home: Route) -> Self {
        Self { route: home.clone(), home, sent: Vec::new() }
    }

    /// What was sent to where the last text would go; `None` if nothing was.
    pub(crate) fn answered(&self) -> Option<String> {
        let there = self.sent.iter().filter(|(conversation, _)| *conversation == self.route.conversation);
        let texts: Vec<&str> = there.map(|(_, text)| text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The route to a conversation: the one the input gave, if it is there that it was said.
    fn to(&self, conversation: Conversation) -> Route {
        if conversation == self.home.conversation {
            self.home.clone()
        } else {
            Route { conversation, reply_route: None }
        }
    }
}

/// What the host's tools work on.
pub(crate) struct Desk<'a> {
    pub(crate) core: &'a Core,
    pub(crate) offers: &'a Offers,
    pub(crate) record: &'a Record,
    pub(crate) reply: &'a Mutex<Reply>,
}

impl Desk<'_> {
    /// Runs a tool of the host's. The arguments fit its schema.
    pub(crate) async fn run(&self, tool: &Tool, args: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        match &tool.action {
            Action::Toolbox(at) => self.open(*at, &tool.definition.name, args, cause).await,
            Action::Plugin(plugin) => Err(CallError::NotFound(format!("this is a tool of the plugin {plugin}"))),
            Action::Send(channel) => self.send(channel, &args, cause).await,
            Action::Help(channel) => {
                let channel = self.channel(channel)?;
                Ok(ToolOutput::json(&json!({
                    "channel": channel.name,
                    "carries": channel.capabilities.names(),
                    "capabilities": channel.capabilities,
                    "help": channel.help,
                })))
            }
            Action::ListChannels => Ok(self.list()),
            Action::SetChannel => self.set_channel(&args, cause),
            Action::ReloadPlugin => self.reload_plugin(&args).await,
            Action::LookAtMedia => media_tools::run_look(&self.core.media, &args).await,
            Action::DescribeMedia => {
                media_tools::run_describe(&self.core.media, &*self.core.models, &args, cause).await
            }
            Action::SwitchModel => switching::run(&*self.core.models, &args).await,
        }
    }

    /// Has another part of the host run its tool. What goes wrong inside it is an answer, not the end of the turn.
    async fn open(&self, at: usize, name: &str, args: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let gone = || CallError::NotFound(format!("nothing offers the tool {name} any more; nothing was run"));
        let toolbox = self.core.toolboxes.get(at).ok_or_else(gone)?;
        let work = AssertUnwindSafe(toolbox.call(name, args, cause)).catch_unwind();
        work.await.unwrap_or_else(|_| {
            tracing::error!(tool = name, part = toolbox.name(), "a tool of the host's panicked");
            let part = toolbox.name();
            Err(CallError::Other(format!("{name} broke off inside the host ({part}); the log says where")))
        })
    }

    fn channel(&self, name: &str) -> Result<&ChannelDefinition, CallError> {
        let gone = || {
            let names: Vec<&str> = self.offers.channels.iter().map(|offer| offer.item.name.as_str()).collect();
            CallError::NotFound(format!("there is no channel \"{name}\"; there are: {}", names.join(", ")))
        };
        self.offers.channel(name).map(|offer| &offer.item).ok_or_else(gone)
    }

    /// That a plugin can't be reloaded is for the model to read, not a failure of the call.
    async fn reload_plugin(&self, args: &Value) -> Result<ToolOutput, CallError> {
        let plugin = args["plugin"].as_str().unwrap_or_default();
        match self.core.plugins.reload_plugin(plugin).await {
            Ok(status) => Ok(ToolOutput::json(&json!({
                "plugin": status.name,
                "version": status.version,
                "state": status.state,
                "missing_grants": status.missing,
            }))),
            Err(error) => {
                let told = json!({ "reloaded": false, "reason": error.to_string() });
                Ok(ToolOutput { failed: true, ..ToolOutput::json(&told) })
            }
        }
    }

    fn list(&self) -> ToolOutput {
        let answer = self.reply().route.conversation.channel.clone();
        let channels: Vec<Value> = self
            .offers
            .channels
            .iter()
            .map(|offer| {
                json!({
                    "name": offer.item.name,
                    "description": offer.item.description,
                    "carries": offer.item.capabilities.names(),
                    "capabilities": offer.item.capabilities,
                    "answer_goes_here": offer.item.name == answer,
                })
            })
            .collect();
        ToolOutput::json(&json!({ "channels": channels }))
    }

    /// Whom a message is for: as it says, else the turn's own conversation.
    fn address(&self, channel: &str, to: Option<&str>, cause: &Cause) -> Result<Route, CallError> {
        let reply = self.reply();
        let form = format!("{channel}:<account> or {channel}:group/<id>");
        let conversation = match to {
            None if reply.home.conversation.channel == channel => reply.home.conversation.clone(),
            None => return Err(CallError::Invalid(format!("say whom it is for, as {form}; nothing was sent"))),
            Some(to) => Conversation::parse(to)
                .filter(|conversation| conversation.channel == channel)
                .ok_or_else(|| CallError::Invalid(format!("\"{to}\" is no address on {channel}: write {form}")))?,
        };
        if conversation != reply.home.conversation && cause.principal.role < Role::Owner {
            return Err(CallError::Other(format!(
                "refused: only the owner may have messages sent to others, and this turn has the role {}; \
                 nothing was sent",
                cause.principal.role.as_str()
            )));
        }
        Ok(reply.to(conversation))
    }

    async fn send(&self, channel: &str, args: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let definition = self.channel(channel)?;
        let kind = args["type"].as_str().unwrap_or("text");
        if !matches!(kind, "text" | "structured") && is_stored(args) {
            return self.send_stored(definition, args, cause).await;
        }
        let needed = OutputCapabilities::NAMED.iter().find(|(_, name)| *name == kind).map(|(flag, _)| *flag);
        if !needed.is_some_and(|flag| definition.capabilities.contains(flag)) {
            let carries = definition.capabilities.names().join(", ");
            return Err(CallError::Invalid(format!(
                "the channel {channel} can't carry {kind}; it carries {carries}. Nothing was sent: send one of these, \
                 or choose another channel with output_list_channels"
            )));
        }
        let route = self.address(channel, args["meta"]["to"].as_str(), cause)?;
        let output = fill(route.output(self.record.run.as_deref(), OutputKind::Message, String::new()), kind, args)?;
        let (conversation, said) = (output.conversation.clone(), said(&output));
        let receipt = outputs::deliver(self.core, self.record, output, cause)
            .await
            .map_err(|error| CallError::Other(format!("it may not have been sent: {error}")))?;
        let mut reply = self.reply();
        let mut note = None;
        if let Some(said) = said {
            if conversation == reply.route.conversation {
                note = Some("this is the turn's answer; your last text will not be sent again");
            }
            reply.sent.push((conversation, said));
        }
        Ok(ToolOutput::json(&json!({ "sent": true, "platform_id": receipt.platform_id, "note": note })))
    }

    /// Sends what lies in the store; where the channel does not carry such, a line that says how to come by it.
    async fn send_stored(
        &self,
        channel: &ChannelDefinition,
        args: &Value,
        cause: &Cause,
    ) -> Result<ToolOutput, CallError> {
        let (payload, about) = (args["payload"].as_str().unwrap_or_default(), &args["meta"]);
        let name = about["name"].as_str().unwrap_or_default();
        let medium = media::medium(&self.core.media, name, payload).await.ok_or_else(|| {
            CallError::NotFound(format!("{} is not kept, or not any more; nothing was sent", prompt::label(payload)))
        })?;
        let is_carried = media::carries(channel, &medium.mime);
        if !is_carried && !channel.capabilities.contains(OutputCapabilities::TEXT) {
            let carries = channel.capabilities.names().join(", ");
            let (name, mime) = (&channel.name, &medium.mime);
            let text = format!("the channel {name} can't carry {mime}; it carries {carries}. Nothing was sent");
            return Err(CallError::Invalid(text));
        }
        let route = self.address(&channel.name, about["to"].as_str(), cause)?;
        let mut output = route.output(self.record.run.as_deref(), OutputKind::Message, String::new());
        output.text = about["caption"].as_str().unwrap_or_default().to_owned();
        output.media.push(medium);
        let receipt = outputs::deliver(self.core, self.record, output, cause)
            .await
            .map_err(|error| CallError::Other(format!("it may not have been sent: {error}")))?;
        let note =
            (!is_carried).then_some("this channel does not carry such; a line was sent that says how to come by it");
        Ok(ToolOutput::json(&json!({ "sent": true, "platform_id": receipt.platform_id, "note": note })))
    }

    fn set_channel(&self, args: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let channel = args["channel"].as_str().unwrap_or_default();
        if !self.channel(channel)?.capabilities.contains(OutputCapabilities::TEXT) {
            return Err(CallError::Invalid(format!("the channel {channel} can't carry text; nothing was changed")));
        }
        let route = self.address(channel, args["to"].as_str(), cause)?;
        let to = route.conversation.to_string();
        self.reply().route = route;
        Ok(ToolOutput::json(&json!({ "answer_goes_to": to })))
    }

    fn reply(&self) -> std::sync::MutexGuard<'_, Reply> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of a message counts as an answer: a picture alone does not.
fn said(output: &Output) -> Option<String> {
    let structured = output.structured.clone();
    structured.or_else(|| (output.media.is_empty() && !output.text.is_empty()).then(|| output.text.clone()))
}

fn is_stored(args: &Value) -> bool {
    args["payload"].as_str().is_some_and(|payload| payload.trim().starts_with(media::MENTIONED))
}

fn fill(mut output: Output, kind: &str, args: &Value) -> Result<Output, CallError> {
    let payload = args["payload"].as_str().unwrap_or_default();
    let about = |key: &str| args["meta"][key].as_str().map(str::to_owned);
    if payload.trim().is_empty() {
        return Err(CallError::Invalid("the payload is empty; nothing was sent".to_owned()));
    }
    match kind {
        "text" => output.text = payload.to_owned(),
        "structured" => {
            homeagent_types::check_json(payload)
                .map_err(|error| CallError::Invalid(format!("the payload is {error}; nothing was sent")))?;
            output.structured = Some(payload.to_owned());
        }
        _ => {
            if !(payload.starts_with("https://") || payload.starts_with("http://")) {
                return Err(CallError::Invalid(format!(
                    "for {kind} the payload is an address that begins with https://; nothing was sent"
                )));
            }
            let source = MediaSource::Url(payload.to_owned());
            let general = match kind {
                "image" => "image/*",
                "audio" => "audio/*",
                _ => "application/octet-stream",
            };
            let mime = about("mime").unwrap_or_else(|| general.to_owned());
            output.media.push(Media { mime, name: about("name"), source, meta: Vec::new() });
            output.text = about("caption").unwrap_or_default();
        }
    }
    let own = ["to", "caption", "name", "mime"];
    let rest = args["meta"].as_object().into_iter().flatten().filter(|(key, _)| !own.contains(&key.as_str()));
    output.meta = rest.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    Ok(output)
}
