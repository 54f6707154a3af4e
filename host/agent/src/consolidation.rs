//! The agent's own questions to a model, about what belongs together in its memory: one at a time, without tools, and only
//! while nobody else wants anything. Whoever says something cuts them off, and they are asked again when it is quiet.

use std::time::Duration;

use async_trait::async_trait;
use homeagent_journal::{EventKind, JournalError, NewEvent, RunStatus, Started};
use homeagent_types::memory::{Advice, Advised};
use homeagent_types::model::{Completion, Message, ModelDelta, Prompt, SourceLine};
use homeagent_types::ports::{Adviser, LineRequest, ModelsFailure, Progress};
use homeagent_types::{Audience, CallError, Cause, tokens};
use serde_json::json;

use crate::Agent;
use crate::core::{Core, host_principal};
use crate::lifecycle::Phase;

/// Where they stand in the journal.
const CONVERSATION: &str = "_consolidation_";

/// How often one is asked that is cut off again and again.
const MOST_TRIES: u32 = 8;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What became of one attempt.
enum Attempt {
    Answered(Box<Completion>),
    Failed(ModelsFailure),
    /// Somebody wants the agent.
    CutOff,
    TooSlow,
    Stopped,
}

#[async_trait]
impl Adviser for Agent {
    async fn advise(&self, advice: Advice) -> Result<Advised, CallError> {
        let core = &self.core;
        let _alone = core.consolidating.lock().await;
        core.quiet().await?;
        let run = core
            .journal
            .start_run(CONVERSATION, &host_principal().to_string(), &[])
            .await
            .map_err(|error| not_noted(&error))?;
        let prompt = Prompt {
            messages: vec![Message::System(advice.rules), Message::user(advice.text)],
            max_tokens: Some(advice.most_tokens),
            ..Prompt::default()
        };
        let answered = ask(core, &run, &prompt).await;
        let (status, finish) = match &answered {
            Ok(_) => (RunStatus::Completed, "stop"),
            Err(CallError::Busy) => (RunStatus::Cancelled, "interrupted"),
            Err(_) => (RunStatus::Failed, "failed"),
        };
        let error = answered.as_ref().err().map(ToString::to_string);
        let tokens = answered.as_ref().map_or(0, |answered| answered.tokens);
        let result = json!({ "tokens": tokens });
        core.journal
            .finish_run(&run.run, Vec::new(), status, Some(finish), error.as_deref(), result)
            .await
            .map_err(|error| not_noted(&error))?;
        answered
    }
}

/// Asks until there is an answer, however often somebody comes between.
async fn ask(core: &Core, run: &Started, prompt: &Prompt) -> Result<Advised, CallError> {
    // What was cut off was asked nonetheless.
    let mut lost: u64 = 0;
    for _ in 0..MOST_TRIES {
        core.quiet().await?;
        // What was asked is the memory's matter, and is not written down a second time.
        let called = NewEvent {
            session: run.session.clone(),
            run: Some(run.run.clone()),
            conversation: CONVERSATION.to_owned(),
            kind: EventKind::ModelCalled,
            audience: Audience::Agent.to_string(),
            payload: json!({ "messages": prompt.messages.len(), "tools": 0 }),
        };
        core.journal.append(called).await.map_err(|error| not_noted(&error))?;
        match attempt(core, run, prompt).await {
            Attempt::Answered(completion) => {
                let answer = completion.answer;
                let taken =
                    answer.usage.map(|usage| usage.input.saturating_add(usage.output)).filter(|taken| *taken > 0);
                let tokens = taken.unwrap_or_else(|| tokens::of_prompt(prompt) + tokens::of_text(&answer.text));
                return Ok(Advised { text: answer.text, tokens: tokens.saturating_add(lost) });
            }
            Attempt::Failed(failure) => return Err(CallError::Other(failure.sentence)),
            Attempt::TooSlow => return Err(CallError::Timeout),
            Attempt::Stopped => return Err(CallError::NotLive),
            Attempt::CutOff => lost = lost.saturating_add(tokens::of_prompt(prompt)),
        }
    }
    Err(CallError::Busy)
}

async fn attempt(core: &Core, run: &Started, prompt: &Prompt) -> Attempt {
    let cause = Cause {
        run: Some(run.run.clone()),
        conversation: None,
        principal: host_principal(),
        audience: Audience::Agent,
        deadline_ms: u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX),
        chain: Vec::new(),
        meta: Vec::new(),
    };
    let request = LineRequest { line: SourceLine::Auxiliary, prompt, cause: &cause };
    let mut phase = core.phase.subscribe();
    tokio::select! {
        biased;
        stopped = phase.wait_for(|phase| *phase != Phase::Running) => {
            drop(stopped);
            Attempt::Stopped
        }
        () = core.wanted() => Attempt::CutOff,
        answer = tokio::time::timeout(PATIENCE, core.models.complete(request, &Unwatched)) => match answer {
            Ok(Ok(completion)) => Attempt::Answered(Box::new(completion)),
            Ok(Err(failure)) => Attempt::Failed(failure),
            Err(_) => Attempt::TooSlow,
        },
    }
}

impl Core {
    /// Returns when nobody wants anything.
    async fn quiet(&self) -> Result<(), CallError> {
        let mut phase = self.phase.subscribe();
        loop {
            let stirred = self.stirred.notified();
            if *phase.borrow_and_update() != Phase::Running {
                return Err(CallError::NotLive);
            }
            if self.is_quiet() {
                return Ok(());
            }
            tokio::select! {
                () = stirred => {}
                // Whatever it is now is looked at above.
                _ = phase.changed() => {}
            }
        }
    }

    /// Returns when somebody wants something.
    async fn wanted(&self) {
        loop {
            let stirred = self.stirred.notified();
            if !self.is_quiet() {
                return;
            }
            stirred.await;
        }
    }

    fn is_quiet(&self) -> bool {
        self.queue().len() == 0 && self.turns().is_empty()
    }
}

fn not_noted(error: &JournalError) -> CallError {
    CallError::NotStored(error.to_string())
}

struct Unwatched;

impl Progress for Unwatched {
    fn piece(&self, _: &ModelDelta) {}

    fn restart(&self) {}
}
