//! Running the tools of one answer: checks, stages around each call, and the results the model reads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use homeagent_journal::{EFFECT, EventKind, JournalError};
use homeagent_media::Hold;
use homeagent_memory::context::{CLEANER, NO_MEMORY, tool_message};
use homeagent_types::model::{ContentPart, Message};
use homeagent_types::stage::{HandlerMode, Stage, StageData};
use homeagent_types::{CallError, Cause, Conversation, Denial, Effect, Role, Shown, ToolCall, ToolOutput};
use serde_json::{Value, json};
use tracing::Instrument as _;

use crate::config::{Limits, prefix};
use crate::core::Core;
use crate::interrupt::Control;
use crate::media;
use crate::meters;
use crate::outputs::Route;
use crate::policy::{Policies, Policy};
use crate::prompt;
use crate::questions::{self, About, Outcome as Answered};
use crate::record::Record;
use crate::rights;
use crate::sending::{Desk, Reply};
use crate::stages::{Ending, Stages};
use crate::tools::{Action, Tool, ToolSet};
use crate::watch::Shower;

/// Why the owner is asked about a call.
const BY_SETTINGS: &str = "Your settings want you to be asked about it.";
const BY_FOREIGN: &str = "What I read here was partly written by others, who may want it rather than you.";

/// How long before the end of the call in which it was made a question ends.
const ASK_MARGIN: Duration = Duration::from_secs(5);

/// How much longer than its deadline a call is waited for: whoever runs it gives up first, and says why.
const SLACK: Duration = Duration::from_secs(1);

/// What calls of tools need.
pub(crate) struct Workshop<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) limits: &'a Limits,
    pub(crate) tools: &'a ToolSet,
    pub(crate) stages: &'a Stages,
    /// The rights are the caller's; the deadline is set for each call.
    pub(crate) cause: Cause,
    pub(crate) record: &'a Record,
    pub(crate) reply: &'a Mutex<Reply>,
    pub(crate) shower: Option<&'a Shower>,
    /// The turn that calls.
    pub(crate) turn: Option<&'a Control>,
    /// The owner calls by hand, so nobody has to ask them.
    pub(crate) by_hand: bool,
    /// Whoever waits for the call has no longer than this, whatever the tool says.
    pub(crate) longest: Option<Duration>,
}

/// Why a call gave no output.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no such tool.
    Unknown(String),
    /// The arguments are wrong.
    Invalid(String),
    /// The caller's role is too low.
    Role(Denial),
    /// A stage refused, or the owner.
    Refused(String),
    /// It ran, and failed.
    Failed(CallError),
}

impl Failure {
    /// What the model reads.
    fn sentence(&self) -> String {
        match self {
            Failure::Unknown(text) | Failure::Invalid(text) => format!("error: {text}"),
            Failure::Role(denial) => format!("refused: {}; {}", denial.attempt, denial.remedy),
            Failure::Refused(reason) => format!("refused: {reason}"),
            Failure::Failed(error) => format!("error: {error}"),
        }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unknown(text) => CallError::NotFound(text),
            Failure::Invalid(text) => CallError::Invalid(text),
            Failure::Role(denial) => CallError::Denied(denial),
            Failure::Refused(reason) => CallError::Other(format!("refused: {reason}")),
            Failure::Failed(error) => error,
        }
    }
}

/// What one call came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The call as it ran, with its id as the model knows it.
    pub(crate) call: ToolCall,
    pub(crate) result: Result<ToolOutput, Failure>,
    /// The plugin whose tool ran.
    plugin: Option<String>,
    /// Others may have written what it returned.
    pub(crate) foreign: bool,
    /// What the memory has to know of the tool.
    about: Value,
    /// What handlers added.
    pub(crate) systems: Vec<String>,
    pub(crate) turn_data: Vec<(String, String)>,
    /// A handler answered in the model's place.
    pub(crate) responded: Option<String>,
    /// Keeps what came with the result.
    pub(crate) held: Vec<Hold>,
}

impl Outcome {
    fn new(call: ToolCall, turn_data: &[(String, String)]) -> Self {
        Self {
            call,
            result: Err(Failure::Refused("it was not run".to_owned())),
            plugin: None,
            foreign: false,
            about: json!({}),
            systems: Vec::new(),
            turn_data: turn_data.to_vec(),
            responded: None,
            held: Vec::new(),
        }
    }

    /// What it came to, in a word: `answered`, `failed` where the tool says so itself, `responded` where a handler
    /// answered in the model's place, or why the tool gave no output.
    fn word(&self) -> &'static str {
        match &self.result {
            _ if self.responded.is_some() => "responded",
            Ok(output) if output.failed => "failed",
            Ok(_) => "answered",
            Err(Failure::Unknown(_)) => "unknown",
            Err(Failure::Invalid(_)) => "invalid",
            Err(Failure::Role(_)) => "denied",
            Err(Failure::Refused(_)) => "refused",
            Err(Failure::Failed(error)) => error.code(),
        }
    }

    /// What it came to, for people.
    pub(crate) fn text(&self, limit: usize) -> String {
        match &self.result {
            Ok(output) => cut(&output.for_model(), limit),
            Err(failure) => cut(&failure.sentence(), limit),
        }
    }

    /// The message for the window, and what the journal keeps beside it.
    pub(crate) fn message(&self, asked: &ToolCall, limit: usize) -> (Message, Value) {
        let mut about = self.about.clone();
        about["plugin"] = json!(self.plugin);
        if self.call != *asked {
            about["ran"] = json!(self.call);
        }
        let output = match &self.result {
            Ok(output) => output,
            Err(failure) => {
                let text = cut(&failure.sentence(), limit);
                let text = match failure {
                    // A plugin's own words.
                    Failure::Failed(_) => prompt::as_data(&self.call.name, &text),
                    _ => text,
                };
                return (tool_message(asked, text, true), about);
            }
        };
        let mut text = cut(&output.for_model(), limit);
        prompt::mention(&mut text, &output.media);
        let text = prompt::as_data(&self.call.name, &text);
        let mut content = vec![ContentPart::Text(text)];
        content.extend(output.media.iter().filter_map(media::part));
        let message =
            Message::Tool { call: asked.id.clone(), name: asked.name.clone(), content, failed: output.failed };
        (message, about)
    }
}

/// At most `limit` bytes of a result, and a note where that is not all.
fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = prefix(text, limit);
    format!("{kept}\n[cut here: the result has {} bytes, of which {} are shown]", text.len(), kept.len())
}

impl Workshop<'_> {
    /// Whether these calls only look things up, so that they may run at the same time. Where a handler may still turn
    /// a call into another, nobody knows.
    pub(crate) fn may_run_together(&self, calls: &[ToolCall]) -> bool {
        let alone = |call: &ToolCall| {
            let Some(tool) = self.tools.get(&call.name) else { return false };
            let mut handlers = self.stages.handlers(Stage::BeforeToolcall, tool.plugin());
            let runs = self.policy(tool, &Value::Null, false).0 == Policy::Allow;
            // One that is paid for waits for those before it, so that limits on costs see what they came to.
            let is_free = !matches!(tool.action, Action::DescribeMedia);
            runs && is_free
                && tool.definition.effect == Effect::Read
                && handlers.all(|offer| offer.item.mode != HandlerMode::Rewrite)
        };
        calls.iter().all(alone)
    }

    /// Runs calls that only look things up, all at once; the outcomes are in the order of the calls.
    pub(crate) async fn run_together(
        &self,
        calls: &[ToolCall],
        turn_data: &[(String, String)],
    ) -> Result<Vec<Outcome>, JournalError> {
        join_all(calls.iter().map(|call| self.run(call, turn_data))).await.into_iter().collect()
    }

    /// Runs one call, with the stages before and after it.
    pub(crate) async fn run(&self, asked: &ToolCall, turn_data: &[(String, String)]) -> Result<Outcome, JournalError> {
        let outcome = self.run_staged(asked, turn_data).await?;
        meters::tool_called(outcome.word());
        Ok(outcome)
    }

    async fn run_staged(&self, asked: &ToolCall, turn_data: &[(String, String)]) -> Result<Outcome, JournalError> {
        let mut outcome = Outcome::new(asked.clone(), turn_data);
        let owner = match self.check(asked) {
            Ok((tool, _)) => tool.plugin().map(str::to_owned),
            Err(failure) => {
                outcome.result = Err(failure);
                return Ok(outcome);
            }
        };
        if self.stages.heard(Stage::BeforeToolcall, owner.as_deref()) {
            self.record.settle().await?;
        }
        let before = StageData::Call(asked.clone());
        let verdict =
            self.stages.run(Stage::BeforeToolcall, before, turn_data.to_vec(), &self.cause, owner.as_deref()).await;
        outcome.foreign |= verdict.foreign;
        outcome.systems.extend(verdict.systems);
        outcome.turn_data = verdict.turn_data;
        if let StageData::Call(call) = verdict.data {
            outcome.call = call;
        }
        match verdict.ending {
            Some(Ending::Refused(reason)) => {
                outcome.result = Err(Failure::Refused(reason));
                return Ok(outcome);
            }
            Some(Ending::Responded(text)) => {
                outcome.responded = Some(text);
                return Ok(outcome);
            }
            None => {}
        }
        // What the handlers left is checked like what the model wrote.
        let (tool, args) = match self.check(&outcome.call) {
            Ok(checked) => checked,
            Err(failure) => {
                outcome.result = Err(failure);
                return Ok(outcome);
            }
        };
        let mut permitted = self.permit(tool, &outcome.call, &args, outcome.foreign).await?;
        if permitted.is_ok() {
            // The answer may have taken its time.
            permitted = self.check_role(tool);
        }
        if let Err(failure) = permitted {
            outcome.result = Err(failure);
            return Ok(outcome);
        }
        let foreign = self.is_foreign(outcome.foreign);
        outcome.plugin = tool.plugin().map(str::to_owned);
        let outward = |plugin| self.stages.offers.outward.contains(plugin);
        outcome.foreign |= tool.definition.is_foreign() || tool.plugin().is_some_and(outward);
        outcome.about = json!({ NO_MEMORY: tool.definition.no_memory, CLEANER: tool.definition.cleaner });
        let result = self.call(tool, &outcome.call, &args, foreign).await?;
        outcome.foreign |= result.as_ref().is_ok_and(ToolOutput::is_foreign);
        let named = result.as_ref().map(|output| media::addresses(&output.media)).unwrap_or_default();
        self.after(&mut outcome, result).await;
        // Whoever calls from outside a turn gets the bytes.
        if let (Some(_), Ok(output)) = (self.turn, &mut outcome.result) {
            media::receive(&mut output.media);
            let (by_tool, by_handlers) = self.reach(outcome.plugin.as_deref());
            let may_ask = |url: &str| if named.iter().any(|known| known == url) { by_tool } else { by_handlers };
            media::forbid(&mut output.media, may_ask);
            outcome.held = media::fetch(&self.core.media, &mut output.media).await;
        }
        Ok(outcome)
    }

    /// Whether the plugin whose tool ran may reach the network, and all that may have put another result in its place.
    fn reach(&self, plugin: Option<&str>) -> (bool, bool) {
        let outward = |plugin: &str| self.stages.offers.outward.contains(plugin);
        let mut handlers = self.stages.handlers(Stage::AfterToolcall, plugin);
        let by_handlers = handlers.all(|offer| offer.item.mode != HandlerMode::Rewrite || outward(&offer.plugin));
        (plugin.is_none_or(outward), by_handlers)
    }

    /// Whether others may have written what a call is made for. `told`: a handler that brings in what others wrote has
    /// had its say about the call.
    fn is_foreign(&self, told: bool) -> bool {
        let cause = &self.cause;
        // A turn that is over can't say any more what was in its window.
        let of_the_turn = self.turn.map_or(cause.run.is_some(), Control::is_foreign);
        let by_outward = || cause.chain.iter().any(|plugin| self.stages.offers.outward.contains(plugin));
        let among_others = || cause.conversation.as_ref().is_some_and(|place| !rights::is_private(place));
        told || of_the_turn || cause.is_foreign() || by_outward() || among_others()
    }

    /// What becomes of a call, and why the owner is asked where they are. `told` is as for [`Workshop::is_foreign`].
    fn policy(&self, tool: &Tool, args: &Value, told: bool) -> (Policy, &'static str) {
        // What can't be read allows nothing by itself.
        let Ok(policies) = Policies::read(&self.core.settings) else { return (Policy::Ask, BY_SETTINGS) };
        let foreign = self.is_foreign(told);
        let (policy, reason) = match policies.of(&tool.definition.name) {
            Some(policy) => (policy, BY_SETTINGS),
            None if foreign && tool.definition.effect == Effect::World && !self.stays(tool, args) => {
                (Policy::Ask, BY_FOREIGN)
            }
            None => (Policy::Allow, ""),
        };
        (if self.by_hand && policy == Policy::Ask { Policy::Allow } else { policy }, reason)
    }

    /// Whether a tool of the host's only speaks where the turn's answer goes anyway, or looks without changing anything.
    fn stays(&self, tool: &Tool, args: &Value) -> bool {
        let (channel, to) = match &tool.action {
            Action::Send(channel) => (channel.as_str(), args["meta"]["to"].as_str()),
            Action::SetChannel => (args["channel"].as_str().unwrap_or_default(), args["to"].as_str()),
            Action::SwitchModel => return args.as_object().is_none_or(serde_json::Map::is_empty),
            _ => return false,
        };
        let home = self.home().conversation;
        match to {
            None => home.channel == channel,
            Some(to) => Conversation::parse(to).is_some_and(|to| to == home),
        }
    }

    fn home(&self) -> Route {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).home.clone()
    }

    /// Lets a call run, or says why it does not; where the owner is to be asked, waits for them.
    async fn permit(
        &self,
        tool: &Tool,
        call: &ToolCall,
        args: &Value,
        told: bool,
    ) -> Result<Result<(), Failure>, JournalError> {
        let (policy, reason) = self.policy(tool, args, told);
        let refused = |why: String| Ok(Err(Failure::Refused(format!("{why}; nothing was run"))));
        match policy {
            Policy::Allow => return Ok(Ok(())),
            Policy::Deny => return refused(format!("the owner does not allow the tool {}", call.name)),
            Policy::Ask => {}
        }
        let patience = self.core.settings.duration("core.tools.ask_wait").unwrap_or(Duration::ZERO);
        let about = About {
            cause: &self.cause,
            call,
            reason,
            record: self.record,
            home: self.home(),
            turn: self.turn,
            shower: self.shower,
        };
        // A call inside another one is over with that, and its plugin wants to hear of the answer before.
        let patience = self.longest.map_or(patience, |longest| patience.min(longest.saturating_sub(ASK_MARGIN)));
        match questions::ask(self.core, about, patience).await? {
            Answered::Allowed => Ok(Ok(())),
            Answered::Refused => refused("the owner was asked, and said no".to_owned()),
            Answered::Unanswered(time) => {
                refused(format!("the owner was asked, and did not answer within {} s", time.as_secs()))
            }
        }
    }

    /// What has to hold before a tool runs.
    fn check(&self, call: &ToolCall) -> Result<(&Tool, Value), Failure> {
        let unknown = || Failure::Unknown(self.tools.unknown(&call.name, self.role()));
        let tool = self.tools.get(&call.name).ok_or_else(unknown)?;
        self.check_role(tool)?;
        let (size, most) = (call.arguments.len(), self.limits.arguments_bytes);
        if size > most {
            let text =
                format!("the arguments of {} have {size} bytes, at most {most} are taken; nothing was run", call.name);
            return Err(Failure::Invalid(text));
        }
        let args = self.core.schemas.check(&tool.definition, &call.arguments).map_err(Failure::Invalid)?;
        Ok((tool, args))
    }

    /// The caller's role at this moment: what was taken from those whose words are in the turn, its calls have no more.
    fn role(&self) -> Role {
        let role = self.cause.principal.role;
        self.turn.map_or(role, |turn| role.min(turn.principal().role))
    }

    fn check_role(&self, tool: &Tool) -> Result<(), Failure> {
        let (role, least) = (self.role(), tool.definition.least_role());
        if role >= least {
            return Ok(());
        }
        Err(Failure::Role(Denial {
            capability: format!("role {}", least.as_str()),
            attempt: format!(
                "the tool {} needs the role {}, and this turn has the role {}",
                tool.definition.name,
                least.as_str(),
                role.as_str()
            ),
            remedy: "nothing was run; the owner can change roles".to_owned(),
        }))
    }

    /// Runs the tool. `foreign`: others may have written what it is called for.
    async fn call(
        &self,
        tool: &Tool,
        call: &ToolCall,
        args: &Value,
        foreign: bool,
    ) -> Result<Result<ToolOutput, CallError>, JournalError> {
        let own = tool.definition.timeout_ms.map(|ms| Duration::from_millis(ms.into()));
        let deadline = own.unwrap_or(self.limits.tool_timeout).min(self.longest.unwrap_or(Duration::MAX));
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let mut cause = Cause { deadline_ms, ..self.cause.clone() };
        cause.principal.role = self.role();
        if foreign {
            cause.mark_foreign();
        }
        let started = json!({
            "call": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "plugin": tool.plugin(),
            EFFECT: tool.definition.effect,
            "caller": self.cause.chain.last(),
        });
        self.record.event(EventKind::ToolStarted, started).await?;
        self.show(Shown::ToolStarted(call.name.clone()));
        let work = async {
            match tool.plugin() {
                Some(plugin) => {
                    let arguments =
                        if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments.clone() };
                    self.core.plugins.call_tool(plugin, &call.name, arguments, cause).await
                }
                None => {
                    let offers = &self.stages.offers;
                    let desk = Desk { core: self.core, offers, record: self.record, reply: self.reply };
                    desk.run(tool, args.clone(), &cause).await
                }
            }
        };
        let plugin = tool.plugin().unwrap_or("host");
        let work = work.instrument(tracing::info_span!("tool", name = tool.definition.name, plugin));
        let result = tokio::time::timeout(deadline + SLACK, work).await.unwrap_or(Err(CallError::Timeout));
        self.show(Shown::ToolEnded(call.name.clone()));
        if let Err(error) = &result {
            // Its sentence may repeat what people wrote; the journal has it.
            tracing::info!(tool = call.name, code = error.code(), "a tool failed");
        }
        Ok(result)
    }

    async fn after(&self, outcome: &mut Outcome, result: Result<ToolOutput, CallError>) {
        let data = StageData::Outcome { call: outcome.call.clone(), outcome: result };
        let turn_data = std::mem::take(&mut outcome.turn_data);
        let owner = outcome.plugin.as_deref();
        let verdict = self.stages.run(Stage::AfterToolcall, data, turn_data, &self.cause, owner).await;
        outcome.foreign |= verdict.foreign;
        outcome.systems.extend(verdict.systems);
        outcome.turn_data = verdict.turn_data;
        if let StageData::Outcome { outcome: result, .. } = verdict.data {
            outcome.result = result.map_err(Failure::Failed);
        }
        match verdict.ending {
            Some(Ending::Refused(reason)) => {
                outcome.result = Err(Failure::Refused(format!("the tool ran, and its result is withheld: {reason}")));
            }
            Some(Ending::Responded(text)) => outcome.responded = Some(text),
            None => {}
        }
    }

    fn show(&self, piece: Shown) {
        if let Some(shower) = self.shower {
            shower.show(piece);
        }
    }
}
