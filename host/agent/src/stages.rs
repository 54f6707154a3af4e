//! The seven stages: which handlers run, in what order, and what becomes of their patches.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use homeagent_types::ports::Plugins;
use homeagent_types::stage::{
    FailurePolicy, HandlerMode, Patch, Scope, Stage, StageContext, StageData, StageRegistration,
};
use homeagent_types::{CallError, Cause, Offer, Offers, Payload, check_json};
use tracing::Instrument as _;

/// Values that handlers may keep in one turn, at most.
const DATA_KEPT: usize = 256;

/// The longest such value, in bytes.
const DATUM_BYTES: usize = 64 << 10;

/// What all of them may take together, in bytes: every handler of every later stage gets them.
const DATA_BYTES: usize = 512 << 10;

/// How a stage ends what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Somebody refused; why.
    Refused(String),
    /// Somebody answered in the model's place.
    Responded(String),
}

/// What a stage came to.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// What the rewriters left.
    pub(crate) data: StageData,
    /// System messages for this turn.
    pub(crate) systems: Vec<String>,
    /// All data of the turn, those put now among them.
    pub(crate) turn_data: Vec<(String, String)>,
    /// Set where the stage does not simply go on.
    pub(crate) ending: Option<Ending>,
    /// A plugin that reaches the network has put something in: others may have written it.
    pub(crate) foreign: bool,
}

/// The handlers of one moment.
#[derive(Clone)]
pub(crate) struct Stages {
    pub(crate) plugins: Arc<dyn Plugins>,
    pub(crate) offers: Arc<Offers>,
    /// For handlers that do not say how long they may take.
    pub(crate) timeout: Duration,
}

impl Stages {
    /// Whether a global rewriter covers what is written to people, so that it must not be shown before.
    pub(crate) fn covers_text(&self) -> bool {
        self.offers.stages.iter().any(|offer| {
            offer.item.mode == HandlerMode::Rewrite
                && offer.item.scope == Scope::Global
                && matches!(offer.item.stage, Stage::BeforeOutput | Stage::PostAction)
        })
    }

    /// The handlers of a stage, for a call of a tool of `tool_owner` or for what is about no tool.
    pub(crate) fn handlers(
        &self,
        stage: Stage,
        tool_owner: Option<&str>,
    ) -> impl Iterator<Item = &Offer<StageRegistration>> {
        let tool_stage = matches!(stage, Stage::BeforeToolcall | Stage::AfterToolcall);
        self.offers.stages.iter().filter(move |offer| {
            let in_scope = match offer.item.scope {
                Scope::Global => true,
                Scope::OwnTools => tool_stage && tool_owner == Some(offer.plugin.as_str()),
            };
            offer.item.stage == stage && in_scope
        })
    }

    /// Whether anybody is asked there: then the stage leaves the host.
    pub(crate) fn heard(&self, stage: Stage, tool_owner: Option<&str>) -> bool {
        self.handlers(stage, tool_owner).next().is_some()
    }

    /// Runs a stage. `tool_owner` is the plugin whose tool a call is of.
    pub(crate) async fn run(
        &self,
        stage: Stage,
        data: StageData,
        turn_data: Vec<(String, String)>,
        cause: &Cause,
        tool_owner: Option<&str>,
    ) -> Verdict {
        let mut verdict = Verdict { data, systems: Vec::new(), turn_data, ending: None, foreign: false };
        // A plugin's handler does not judge what the plugin itself is doing: it would wait for itself.
        let concerned = self.handlers(stage, tool_owner).filter(|offer| !cause.chain.contains(&offer.plugin));
        let (rewriters, others): (Vec<_>, Vec<_>) =
            concerned.partition(|offer| offer.item.mode == HandlerMode::Rewrite);

        let snapshot = &verdict;
        let answers = join_all(others.iter().map(|offer| self.ask(offer, stage, snapshot, cause))).await;
        for (offer, answer) in others.iter().zip(answers) {
            verdict.take(offer, answer, &self.offers);
        }

        let mut rewriters = rewriters;
        rewriters.sort_by(|a, b| (a.item.priority, &a.plugin).cmp(&(b.item.priority, &b.plugin)));
        for offer in rewriters {
            if matches!(verdict.ending, Some(Ending::Refused(_))) {
                break;
            }
            let answer = self.ask(offer, stage, &verdict, cause).await;
            verdict.take(offer, answer, &self.offers);
        }
        verdict
    }

    async fn ask(
        &self,
        offer: &Offer<StageRegistration>,
        stage: Stage,
        snapshot: &Verdict,
        cause: &Cause,
    ) -> Result<Vec<Patch>, CallError> {
        let own = offer.item.timeout_ms.map(|ms| Duration::from_millis(ms.into()));
        let timeout = own.unwrap_or(self.timeout);
        let deadline_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let context = StageContext {
            stage,
            data: snapshot.data.clone(),
            turn_data: snapshot.turn_data.clone(),
            cause: Cause { deadline_ms, ..cause.clone() },
        };
        let span = tracing::info_span!("stage", name = stage.as_str(), plugin = offer.plugin);
        let run = self.plugins.run_stage(&offer.plugin, context).instrument(span);
        tokio::time::timeout(timeout, run).await.unwrap_or(Err(CallError::Timeout))
    }
}

impl Verdict {
    /// Takes over what one handler answered.
    fn take(&mut self, offer: &Offer<StageRegistration>, answer: Result<Vec<Patch>, CallError>, offers: &Offers) {
        let (plugin, registration) = (&offer.plugin, &offer.item);
        let stage = registration.stage.as_str();
        let patches = match answer {
            Ok(patches) => patches,
            Err(error) => {
                let closed = registration.policy() == FailurePolicy::Closed;
                tracing::warn!(plugin, stage, closed, %error, "a stage handler failed");
                if closed {
                    self.refuse(format!("the {stage} handler of the plugin {plugin} failed: {error}"));
                }
                return;
            }
        };
        for patch in patches {
            if !patch.fits(registration) {
                tracing::warn!(plugin, stage, patch = patch.name(), "a patch that does not fit its stage is ignored");
                continue;
            }
            let name = patch.name();
            let speaks = matches!(
                patch,
                Patch::SetText(_)
                    | Patch::AddSystem(_)
                    | Patch::SetResult(_)
                    | Patch::Respond(_)
                    | Patch::SetArgs { .. }
                    | Patch::Redirect { .. }
            );
            self.foreign |= speaks && offers.outward.contains(plugin);
            if let Err(reason) = self.apply(plugin, patch) {
                tracing::warn!(plugin, stage, patch = name, reason, "a patch is ignored");
            }
        }
    }

    fn refuse(&mut self, reason: String) {
        if !matches!(self.ending, Some(Ending::Refused(_))) {
            self.ending = Some(Ending::Refused(reason));
        }
    }

    fn apply(&mut self, plugin: &str, patch: Patch) -> Result<(), &'static str> {
        match patch {
            Patch::SetText(text) => match &mut self.data {
                StageData::Input(input) => input.payload = Payload::Text(text),
                StageData::Answer(answer) => answer.text = text,
                StageData::Output { text: out, .. } => *out = text,
                _ => return Err("the stage has no text"),
            },
            Patch::AddSystem(text) => self.systems.push(text),
            Patch::SetArgs { call, arguments } => {
                self.call(&call)?.arguments = arguments;
            }
            Patch::Redirect { call, tool, arguments } => {
                let call = self.call(&call)?;
                call.name = tool;
                call.arguments = arguments;
            }
            Patch::SetResult(output) => match &mut self.data {
                StageData::Outcome { outcome, .. } => {
                    check_json(&output.value).map_err(|_| "the result is not JSON, or nested too deep")?;
                    *outcome = Ok(output);
                }
                _ => return Err("the stage has no result"),
            },
            Patch::DropCall(id) => {
                self.call(&id)?;
                if let StageData::Answer(answer) = &mut self.data {
                    answer.calls.retain(|call| call.id != id);
                }
            }
            Patch::Refuse(reason) => self.refuse(reason),
            // Of two answers the earlier handler's counts, and a refusal beats both.
            Patch::Respond(text) => self.ending = Some(self.ending.take().unwrap_or(Ending::Responded(text))),
            Patch::PutData { key, value } => self.put(format!("{plugin}/{key}"), value)?,
            Patch::Other(_) => return Err("this version does not know it"),
        }
        Ok(())
    }

    fn call(&mut self, id: &str) -> Result<&mut homeagent_types::ToolCall, &'static str> {
        match &mut self.data {
            StageData::Answer(answer) => answer.calls.iter_mut().find(|call| call.id == id),
            StageData::Call(call) => Some(call).filter(|call| call.id == id),
            _ => None,
        }
        .ok_or("there is no call of that id")
    }

    fn put(&mut self, key: String, value: String) -> Result<(), &'static str> {
        if value.len() > DATUM_BYTES {
            return Err("the value is too long");
        }
        check_json(&value).map_err(|_| "the value is not JSON, or nested too deep")?;
        let others = self.turn_data.iter().filter(|(name, _)| *name != key);
        let bytes = others.map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if bytes + key.len() + value.len() > DATA_BYTES {
            return Err("the turn's values take too much room together");
        }
        if let Some(known) = self.turn_data.iter_mut().find(|(name, _)| *name == key) {
            known.1 = value;
        } else if self.turn_data.len() >= DATA_KEPT {
            return Err("the turn has too many values");
        } else {
            self.turn_data.push((key, value));
        }
        Ok(())
    }
}
