//! Running the tools of one answer: checks, stages around each call, and the results the model reads.

use std::sync::Mutex;
use std::time::Duration;

use futures::future::join_all;
use homeagent_journal::{EventKind, JournalError};
use homeagent_types::model::{ContentPart, Message};
use homeagent_types::stage::{HandlerMode, Stage, StageData};
use homeagent_types::{CallError, Cause, Denial, Effect, Shown, ToolCall, ToolOutput};
use serde_json::{Value, json};
use tracing::Instrument as _;

use crate::config::{Limits, prefix};
use crate::core::Core;
use crate::meters;
use crate::prompt;
use crate::record::Record;
use crate::sending::{Desk, Reply};
use crate::stages::{Ending, Stages};
use crate::tools::{Tool, ToolSet};
use crate::watch::Shower;

/// How much longer than its deadline a call is waited for: whoever runs it gives up first, and says why.
const SLACK: Duration = Duration::from_secs(1);

/// What calls of tools need.
pub(crate) struct Workshop<'a> {
    pub(crate) core: &'a Core,
    pub(crate) limits: &'a Limits,
    pub(crate) tools: &'a ToolSet,
    pub(crate) stages: &'a Stages,
    /// The rights are the caller's; the deadline is set for each call.
    pub(crate) cause: Cause,
    pub(crate) record: &'a Record,
    pub(crate) reply: &'a Mutex<Reply>,
    pub(crate) shower: Option<&'a Shower>,
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
    /// A stage refused.
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
    /// What the memory has to know of the tool.
    about: Value,
    /// What handlers added.
    pub(crate) systems: Vec<String>,
    pub(crate) turn_data: Vec<(String, String)>,
    /// A handler answered in the model's place.
    pub(crate) responded: Option<String>,
}

impl Outcome {
    fn new(call: ToolCall, turn_data: &[(String, String)]) -> Self {
        Self {
            call,
            result: Err(Failure::Refused("it was not run".to_owned())),
            plugin: None,
            about: json!({}),
            systems: Vec::new(),
            turn_data: turn_data.to_vec(),
            responded: None,
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
                return (crate::window::tool_message(asked, text, true), about);
            }
        };
        let mut text = cut(&output.for_model(), limit);
        prompt::mention(&mut text, &output.media);
        let text = prompt::as_data(&self.call.name, &text);
        let mut content = vec![ContentPart::Text(text)];
        content.extend(output.media.iter().filter_map(prompt::media_part));
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
            tool.definition.effect == Effect::Read && handlers.all(|offer| offer.item.mode != HandlerMode::Rewrite)
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
        outcome.plugin = tool.plugin().map(str::to_owned);
        outcome.about = json!({ "no_memory": tool.definition.no_memory, "cleaner": tool.definition.cleaner });
        let result = self.call(tool, &outcome.call, &args).await?;
        self.after(&mut outcome, result).await;
        Ok(outcome)
    }

    /// What has to hold before a tool runs.
    fn check(&self, call: &ToolCall) -> Result<(&Tool, Value), Failure> {
        let role = self.cause.principal.role;
        let tool = self.tools.get(&call.name).ok_or_else(|| Failure::Unknown(self.tools.unknown(&call.name, role)))?;
        let least = tool.definition.least_role();
        if role < least {
            return Err(Failure::Role(Denial {
                capability: format!("role {}", least.as_str()),
                attempt: format!(
                    "the tool {} needs the role {}, and this turn has the role {}",
                    call.name,
                    least.as_str(),
                    role.as_str()
                ),
                remedy: "nothing was run; the owner can change roles".to_owned(),
            }));
        }
        let (size, most) = (call.arguments.len(), self.limits.arguments_bytes);
        if size > most {
            let text =
                format!("the arguments of {} have {size} bytes, at most {most} are taken; nothing was run", call.name);
            return Err(Failure::Invalid(text));
        }
        let args = self.core.schemas.check(&tool.definition, &call.arguments).map_err(Failure::Invalid)?;
        Ok((tool, args))
    }

    async fn call(
        &self,
        tool: &Tool,
        call: &ToolCall,
        args: &Value,
    ) -> Result<Result<ToolOutput, CallError>, JournalError> {
        let own = tool.definition.timeout_ms.map(|ms| Duration::from_millis(ms.into()));
        let deadline = own.unwrap_or(self.limits.tool_timeout).min(self.longest.unwrap_or(Duration::MAX));
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let cause = Cause { deadline_ms, ..self.cause.clone() };
        let started = json!({
            "call": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "plugin": tool.plugin(),
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
                    desk.run(&tool.action, args, &cause).await
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
