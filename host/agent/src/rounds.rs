//! The rounds of a turn: the model is asked, its tools run, until it has said everything or a limit is reached.

use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use homeagent_journal::{EventKind, JournalError};
use homeagent_memory::context::{FOREIGN, tool_message};
use homeagent_types::model::{
    AssistantAnswer, Completion, FailureClass, FinishReason, Message, Prompt, SourceLine, ToolSpec, Usage,
};
use homeagent_types::ports::{LineRequest, ModelsFailure};
use homeagent_types::stage::{ModelAnswer, Stage, StageData};
use homeagent_types::{ToolCall, tokens};
use serde_json::json;

use crate::choosing::Choice;
use crate::errands::Order;
use crate::media_tools;
use crate::policy::Policies;
use crate::prompt;
use crate::sink::{Call, LONG_TEXT, Sink};
use crate::stages::Stages;
use crate::toolloop::{Outcome, Workshop};
use crate::turn::{Ended, Turn, guard, proceed};

/// The topic under which each round is published.
const CHAIN_TOPIC: &str = "agent_llm_chain";

/// What stands behind a text that the model could not finish.
const UNFINISHED: &str = "\n[unfinished: the answer was cut off here]";

/// What a model is told that called tools and then gave no words.
const ASK_FOR_WORDS: &str = "Your last answer was empty. Say in words what came of the tools.";

/// How long the model goes by the time that it was told.
const TIME_HOLDS: Duration = Duration::from_secs(60);

/// A turn's last text and why it is the last.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) finish: &'static str,
}

/// What became of one attempt to ask.
enum Asked {
    Answered(Box<Completion>),
    /// The text grew too long, and was cut to what there is.
    CutText(String),
    /// An interrupt cancelled the call.
    Interrupted,
    /// The window was too long, and has been shortened.
    Shortened,
}

impl Turn {
    /// Asks the model once and runs the tools it calls. `None`: the model is to be asked again.
    pub(crate) async fn round(&mut self) -> Result<Option<Answer>, Ended> {
        let completion = match self.ask().await? {
            Asked::Interrupted | Asked::Shortened => return Ok(None),
            Asked::CutText(text) => return self.cut_words(text).await.map(Some),
            Asked::Answered(completion) => *completion,
        };
        let Completion { source, adapter, model, answer: said } = completion;
        tracing::debug!(source, adapter, model, calls = said.tool_calls.len(), "model answered");
        let mut answer = ModelAnswer {
            text: said.text,
            reasoning: said.reasoning,
            calls: self.unique(said.tool_calls),
            round: self.result.tool_rounds + 1,
        };
        self.count(&source, &model, said.usage.unwrap_or_default());
        let had_calls = !answer.calls.is_empty();
        let verdict = self.stage(Stage::PostAction, StageData::Answer(answer.clone())).await?;
        proceed(verdict.ending)?;
        if let StageData::Answer(left) = verdict.data {
            answer = left;
        }
        // Only now: whoever listens sees no more of it than the rewriters left.
        self.publish(&answer, &source, &model, said.usage);
        let ModelAnswer { text, reasoning, calls, .. } = answer;
        if !(text.is_empty() && calls.is_empty()) {
            let message =
                Message::Assistant { text: text.clone(), reasoning, tool_calls: calls.clone(), opaque: said.opaque };
            let about = json!({ "source": source, "model": model, "usage": said.usage });
            self.add(message, about);
        }
        if calls.is_empty() {
            // A vendor that paused goes on when it is asked again.
            if said.finish == Some(FinishReason::Pause) && !text.is_empty() && self.may_go_on() {
                self.result.tool_rounds += 1;
                return Ok(None);
            }
            if text.trim().is_empty() && !had_calls && self.asks_for_words(said.finish) {
                return Ok(None);
            }
            return Ok(Some(self.last_words(text, had_calls, said.finish)));
        }
        self.use_tools(text, &calls).await
    }

    /// The answer of a model whose text was cut. It is judged like any other.
    async fn cut_words(&mut self, text: String) -> Result<Answer, Ended> {
        let round = self.result.tool_rounds + 1;
        let answer = ModelAnswer { text: text.clone(), reasoning: String::new(), calls: Vec::new(), round };
        let verdict = self.stage(Stage::PostAction, StageData::Answer(answer)).await?;
        proceed(verdict.ending)?;
        let text = if let StageData::Answer(left) = verdict.data { left.text } else { text };
        if text.trim().is_empty() {
            return Ok(self.last_words(text, false, Some(FinishReason::Length)));
        }
        let text = format!("{text}{UNFINISHED}");
        self.add(assistant(text.clone()), json!({ "unfinished": true }));
        Ok(Answer { text, finish: "length" })
    }

    /// Runs the tool that an errand begins with, as if the model had asked for it. Returns the answer where its result is
    /// that.
    pub(crate) async fn carry_out(&mut self, order: Order) -> Result<Option<Answer>, Ended> {
        let calls = self.unique(vec![order.call]);
        let said = Message::Assistant {
            text: String::new(),
            reasoning: String::new(),
            tool_calls: calls.clone(),
            opaque: Vec::new(),
        };
        self.add(said, json!({ "by": "timer" }));
        self.last_result = None;
        self.run_tools(&calls).await?;
        self.result.tool_rounds += 1;
        let Some(text) = self.last_result.take().filter(|_| order.as_it_is) else { return Ok(None) };
        self.add(assistant(text.clone()), json!({ "by": "timer" }));
        Ok(Some(Answer { text, finish: "stop" }))
    }

    fn may_go_on(&self) -> bool {
        self.result.tool_rounds < self.limits.rounds
    }

    /// Whether a model that gave no words after its tools is asked for them: once in a turn.
    fn asks_for_words(&mut self, finish: Option<FinishReason>) -> bool {
        let at_will = matches!(finish, None | Some(FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other));
        let answered = self.reply.lock().unwrap_or_else(PoisonError::into_inner).answered().is_some();
        if self.asked_for_words || !at_will || answered || self.result.tool_rounds == 0 {
            return false;
        }
        self.asked_for_words = true;
        self.systems.push(ASK_FOR_WORDS.to_owned());
        true
    }

    /// The answer of a model that calls no tool. Never empty.
    fn last_words(&mut self, text: String, had_calls: bool, finish: Option<FinishReason>) -> Answer {
        let reason = match finish {
            Some(FinishReason::Length) => "length",
            Some(FinishReason::ContentFilter) => "content-filter",
            Some(FinishReason::Refusal) => "refusal",
            _ => "stop",
        };
        if !text.trim().is_empty() {
            return Answer { text, finish: reason };
        }
        if self.reply.lock().unwrap_or_else(PoisonError::into_inner).answered().is_some() {
            return Answer { text: String::new(), finish: reason };
        }
        let (sentence, finish) = match reason {
            "content-filter" => ("The model's vendor filtered the answer, so there is nothing to say.", reason),
            "refusal" => ("The model declined to answer this.", reason),
            _ if had_calls => ("The tools the model wanted were not allowed, and it gave no words.", "empty"),
            _ if self.result.tool_rounds > 0 => {
                ("The tools have run, but the model gave no words to go with it.", "empty")
            }
            _ => ("The model gave no words.", "empty"),
        };
        self.add(assistant(sentence.to_owned()), json!({ "by": "host" }));
        Answer { text: sentence.to_owned(), finish }
    }

    /// Runs the calls of an answer, unless a limit forbids it.
    async fn use_tools(&mut self, text: String, calls: &[ToolCall]) -> Result<Option<Answer>, Ended> {
        let limit = if !self.may_go_on() {
            let rounds = self.limits.rounds;
            Some((format!("one answer may take {rounds} rounds of tool calls"), "rounds"))
        } else if self.spent >= self.limits.turn_tokens {
            let most = self.limits.turn_tokens;
            Some((format!("one answer may take {most} tokens, and this one took {}", self.spent), "tokens"))
        } else {
            self.loops.check(calls, &self.limits).map(|circle| (circle.reason, circle.finish))
        };
        let Some((reason, finish)) = limit else {
            self.run_tools(calls).await?;
            self.result.tool_rounds += 1;
            return Ok(None);
        };
        let names = calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", ");
        let sentence = format!("I stopped here: {reason}. Not run any more: {names}.");
        tracing::warn!(finish, "a turn reached a limit");
        self.refuse_calls(calls, "refused: a limit of this turn is reached; it was not run");
        self.add(assistant(sentence.clone()), json!({ "by": "host" }));
        let text = if text.trim().is_empty() { sentence } else { format!("{}\n\n{sentence}", text.trim_end()) };
        Ok(Some(Answer { text, finish }))
    }

    /// Runs calls and records their results in the order of the calls. However it ends, each call has a result.
    async fn run_tools(&mut self, calls: &[ToolCall]) -> Result<(), Ended> {
        let mut recorded = 0;
        let ended = self.run_each(calls, &mut recorded).await;
        if let Err(error) = &ended
            && !matches!(error, Ended::Journal(_))
        {
            let reason = match error {
                Ended::Responded(_) => "not run: a plugin answered in the model's place",
                _ => "error: abandoned, because the turn was ended while this call was open",
            };
            self.refuse_calls(&calls[recorded..], reason);
        }
        ended
    }

    async fn run_each(&mut self, calls: &[ToolCall], recorded: &mut usize) -> Result<(), Ended> {
        if calls.len() > 1 && self.workshop().may_run_together(calls) {
            let workshop = self.workshop();
            let work = workshop.run_together(calls, &self.turn_data);
            let outcomes = guard(&self.control, self.deadline, work).await??;
            let before = self.turn_data.clone();
            let mut responded = None;
            // They have all run, so each has its own result, also where one of them ended the turn.
            for (asked, outcome) in calls.iter().zip(outcomes) {
                let said = self.take_outcome(asked, outcome, &before, recorded);
                responded = responded.or(said);
            }
            return responded.map_or(Ok(()), |text| Err(Ended::Responded(text)));
        }
        for asked in calls {
            if let Some(reason) = self.loops.fails(&asked.name, &self.limits) {
                self.refuse_calls(std::slice::from_ref(asked), &format!("refused: {reason}; it was not run"));
                *recorded += 1;
                continue;
            }
            let workshop = self.workshop();
            let work = workshop.run(asked, &self.turn_data);
            let outcome = guard(&self.control, self.deadline, work).await??;
            let before = self.turn_data.clone();
            if let Some(text) = self.take_outcome(asked, outcome, &before, recorded) {
                return Err(Ended::Responded(text));
            }
        }
        Ok(())
    }

    /// Keeps what a call came to. `before` is the turn's data as the call found it: what differs, it has set.
    /// Returns what a handler answered in the model's place.
    fn take_outcome(
        &mut self,
        asked: &ToolCall,
        mut outcome: Outcome,
        before: &[(String, String)],
        recorded: &mut usize,
    ) -> Option<String> {
        let (message, mut about) = outcome.message(asked, self.limits.result_bytes);
        about[FOREIGN] = json!(outcome.foreign);
        if outcome.foreign && outcome.responded.is_some() {
            // The answer is others', too.
            self.control.was_told_foreign();
        }
        self.held.append(&mut outcome.held);
        let text = outcome.text(self.limits.result_bytes);
        let failed = outcome.result.as_ref().map_or(true, |output| output.failed);
        self.loops.came_to(asked, &text, failed);
        self.last_result = Some(text);
        self.add(message, about);
        *recorded += 1;
        self.systems.extend(outcome.systems);
        for (key, value) in outcome.turn_data.into_iter().filter(|datum| !before.contains(datum)) {
            match self.turn_data.iter_mut().find(|(name, _)| *name == key) {
                Some(known) => known.1 = value,
                None => self.turn_data.push((key, value)),
            }
        }
        outcome.responded
    }

    /// Gives calls that do not run a result that says so.
    fn refuse_calls(&mut self, calls: &[ToolCall], reason: &str) {
        for call in calls {
            self.add(tool_message(call, reason.to_owned(), true), json!({ "by": "host" }));
        }
    }

    fn workshop(&self) -> Workshop<'_> {
        Workshop {
            core: &self.core,
            limits: &self.limits,
            tools: &self.tools,
            stages: &self.stages,
            cause: self.cause(),
            record: &self.record,
            reply: &self.reply,
            shower: Some(&self.shower),
            turn: Some(&self.control),
            by_hand: false,
            longest: None,
        }
    }

    async fn ask(&mut self) -> Result<Asked, Ended> {
        self.refresh();
        if self.told_time.elapsed() >= TIME_HOLDS {
            self.tell_time(prompt::time());
        }
        self.choose_tools().await;
        let prompt = self.prompt();
        let called = json!({
            "round": self.result.tool_rounds + 1,
            "messages": prompt.messages.len(),
            "tools": prompt.tools.len(),
        });
        self.record.note(EventKind::ModelCalled, called);
        let hidden = self.stages.covers_text();
        let sink = Sink::new(Arc::clone(&self.shower), hidden, self.limits.clone());
        let control = Arc::clone(&self.control);
        let cause = self.cause();
        let request = LineRequest { line: SourceLine::Main, prompt: &prompt, cause: &cause };
        let models = Arc::clone(&self.core.models);
        let work = async {
            tokio::select! {
                biased;
                () = control.cancelled() => None,
                call = sink.ask(&*models, request) => Some(call),
            }
        };
        // What nobody has seen is not kept: a rewriter would have changed it.
        let seen = |text: String| if hidden { String::new() } else { text };
        // The disk works while the model thinks: its answer is not used before what it was asked for is written.
        let call = recorded(self.record.settle(), guard(&control, self.deadline, work)).await?;
        match call {
            Err(ended) => {
                self.keep_unfinished(seen(sink.text()));
                Err(ended)
            }
            Ok(None) => {
                tracing::info!(run = self.result.run, "an interrupt cancelled the model call");
                self.keep_unfinished(seen(sink.text()));
                sink.void();
                Ok(Asked::Interrupted)
            }
            Ok(Some(Call::Answered(completion))) => {
                self.spent = self.spent.saturating_add(taken(&prompt, &completion.answer));
                Ok(Asked::Answered(completion))
            }
            Ok(Some(Call::Overgrown(LONG_TEXT))) => Ok(Asked::CutText(sink.text())),
            Ok(Some(Call::Overgrown(what))) => {
                self.keep_unfinished(seen(sink.text()));
                Err(Ended::Overgrown(what))
            }
            Ok(Some(Call::Failed(failure))) => {
                if is_overflow(&failure) && !self.halved && self.halve().await {
                    self.halved = true;
                    self.look_whose();
                    tracing::warn!(run = self.result.run, "the window was too long for the model and is halved");
                    sink.void();
                    return Ok(Asked::Shortened);
                }
                self.keep_unfinished(seen(sink.text()));
                Err(Ended::Model(failure))
            }
        }
    }

    /// Takes up what the plugins offer now: a tool that was loaded a moment ago is there in the next round.
    fn refresh(&mut self) {
        let offers = self.core.plugins.offers();
        if !Arc::ptr_eq(&offers, &self.stages.offers) {
            let conversation = Some(&self.input.conversation);
            self.tools = self.core.tools(&offers, conversation);
            self.stages = Stages { offers, ..self.stages.clone() };
        }
    }

    /// The tools that this turn may show its model, sorted by name.
    pub(crate) fn offered(&self) -> Vec<ToolSpec> {
        let policies = Policies::read(&self.core.settings).unwrap_or_default();
        let mut tools = self.tools.specs(self.control.principal().role, &policies);
        media_tools::leave_out(&mut tools, self.context.window.messages(), &*self.core.models);
        tools
    }

    fn prompt(&mut self) -> Prompt {
        let persona = self.core.persona.text();
        let head = prompt::head(&persona);
        let mut tools = self.offered();
        if let Some(choice) = &self.choice {
            tools.retain(|tool| choice.shows(&tool.name));
        }
        let prompt_digest = prompt::digest(&persona);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let tools_digest = prompt::digest(&serde_json::to_string(&tools).unwrap_or_default());
        if self.context.prompt_digest != prompt_digest {
            let payload = json!({ "digest": prompt_digest, "messages": head });
            self.record.note(EventKind::SystemPromptSnapshotted, payload);
        }
        if self.context.tools_digest != tools_digest {
            let choice = self.choice.as_ref().map(Choice::note);
            let payload = json!({ "digest": tools_digest, "tools": names, "choice": choice });
            self.record.note(EventKind::ToolSelectionSnapshotted, payload);
        }
        self.context.prompt_digest = prompt_digest;
        self.context.tools_digest = tools_digest;
        let mut added = self.systems.clone();
        added.extend(self.recalled.clone());
        prompt::assemble(&head, self.context.window.shown(), tools, &added)
    }

    fn keep_unfinished(&mut self, text: String) {
        if !text.is_empty() {
            self.add(assistant(format!("{text}{UNFINISHED}")), json!({ "unfinished": true }));
        }
        self.result.reply = text;
    }

    /// Ids that repeat within the run, or are empty, are replaced.
    fn unique(&mut self, mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
        for call in &mut calls {
            let mut id = call.id.clone();
            while id.is_empty() || !self.call_ids.insert(id.clone()) {
                id = format!("call_{}", self.call_ids.len() + 1);
                if self.call_ids.contains(&id) {
                    id = uuid::Uuid::now_v7().simple().to_string();
                }
            }
            call.id = id;
        }
        calls
    }

    fn count(&mut self, source: &str, model: &str, usage: Usage) {
        self.core.answered_by(source, model);
        self.result.source = Some(source.to_owned());
        self.result.model = Some(model.to_owned());
        self.result.usage += usage;
        self.core.used(usage);
    }

    fn publish(&self, answer: &ModelAnswer, source: &str, model: &str, usage: Option<Usage>) {
        let payload = json!({
            "run": self.result.run,
            "round": answer.round,
            "text": answer.text,
            "reasoning": answer.reasoning,
            "calls": answer.calls,
            "usage": usage,
            "source": source,
            "model": model,
        });
        self.core.plugins.publish(CHAIN_TOPIC, payload, self.cause());
    }
}

/// Waits for `work` and for the journal, side by side. Where the journal fails, `work` is dropped.
async fn recorded<T>(
    writing: impl Future<Output = Result<(), JournalError>>,
    work: impl Future<Output = T>,
) -> Result<T, JournalError> {
    let (mut writing, mut work) = (pin!(writing), pin!(work));
    tokio::select! {
        written = &mut writing => {
            written?;
            Ok(work.await)
        }
        done = &mut work => {
            writing.await?;
            Ok(done)
        }
    }
}

/// A text of the agent's, without calls.
pub(crate) fn assistant(text: String) -> Message {
    Message::Assistant { text, reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() }
}

/// The tokens that a call took: as the vendor says, or estimated.
fn taken(prompt: &Prompt, answer: &AssistantAnswer) -> u64 {
    match answer.usage {
        Some(usage) if usage != Usage::default() => usage.input.saturating_add(usage.output),
        _ => tokens::of_prompt(prompt) + tokens::of_text(&answer.text) + tokens::of_text(&answer.reasoning),
    }
}

fn is_overflow(failure: &ModelsFailure) -> bool {
    // Not the last alone: a backup that could not even be asked says nothing of the window.
    failure.tried.iter().any(|(_, failure)| failure.class == FailureClass::ContextOverflow)
}
