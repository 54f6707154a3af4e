//! `llm`: the model, within a budget of the plugin's own.

use std::sync::Arc;
use std::time::Duration;

use homeagent_settings::{DatabaseError, Spending};
use homeagent_types::model::{AssistantAnswer, Completion, ContentPart, Message, ModelDelta, Prompt, SourceLine};
use homeagent_types::ports::{LineRequest, Models, Progress};
use homeagent_types::{CallError, Cause, Denial, tokens};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::Accessor;

use super::own_cause;
use crate::bindings::{llm, types};
use crate::instance::{HostData, InstanceState};
use crate::services::Services;
use crate::wants::llm::Llm;

/// The texts of one request, in bytes.
const LARGEST_REQUEST: usize = 256 << 10;
/// Messages of one request.
const MOST_MESSAGES: usize = 256;
/// How long an answer is expected to be where nothing is said and the settings can't be read, in tokens.
const USUAL_ANSWER: u64 = 4_096;
const DAY: u64 = 24 * 3600 * 1000;
/// How long a budget may wait for the disk before the answer is given without.
const SETTLING: Duration = Duration::from_secs(5);

/// A request that may be made, and what it is made with.
struct Question {
    prompt: Prompt,
    cause: Cause,
    plugin: String,
    budget: u64,
    /// What the request and its answer take at most, as far as one can tell.
    estimate: u64,
    /// The request's part of it.
    input: u64,
    models: Arc<dyn Models>,
    services: Arc<Services>,
    /// Its place among the plugin's requests, and its room among what is under way.
    _place: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl<T: Send + 'static> llm::HostWithStore<T> for HostData {
    async fn ask(accessor: &Accessor<T, Self>, request: llm::Request) -> Result<llm::Answer, types::Error> {
        let question = accessor.with(|mut access| check(access.get(), request))?;
        Ok(ask(question).await?)
    }
}

impl llm::Host for &mut InstanceState {}

fn check(state: &InstanceState, request: llm::Request) -> Result<Question, CallError> {
    let Llm { tokens_per_day } = state.granted("asking the model")?;
    let size = request.messages.iter().map(|message| message.text.len()).sum::<usize>();
    if request.messages.is_empty() || request.messages.len() > MOST_MESSAGES || size > LARGEST_REQUEST {
        let reason =
            format!("a request has 1 to {MOST_MESSAGES} messages, of at most {LARGEST_REQUEST} bytes together");
        return Err(CallError::Invalid(reason));
    }
    let place = Arc::clone(&state.slot.questions).try_acquire_owned().map_err(|_| CallError::Busy)?;
    let room = state.slot.carry(size)?;
    let longest = state.services.number("core.model.max_tokens", USUAL_ANSWER);
    let output = request.max_tokens.map_or(longest, |most| u64::from(most).clamp(1, longest));
    let messages = request.messages.into_iter().map(|message| {
        let text = state.services.secrets.redact(&message.text).into_owned();
        match message.speaker {
            llm::Speaker::System => Message::System(text),
            llm::Speaker::User => Message::User(vec![ContentPart::Text(text)]),
            llm::Speaker::Assistant => {
                Message::Assistant { text, reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() }
            }
        }
    });
    let max_tokens = Some(u32::try_from(output).unwrap_or(u32::MAX));
    let prompt = Prompt { messages: messages.collect(), max_tokens, ..Prompt::default() };
    let input = tokens::of_prompt(&prompt);
    Ok(Question {
        prompt,
        cause: own_cause(&state.slot, 0),
        plugin: state.slot.name.clone(),
        budget: tokens_per_day,
        estimate: input + output,
        input,
        models: state.services.models()?,
        services: Arc::clone(&state.services),
        _place: (place, room),
    })
}

/// Asks. The estimate is taken from the budget before and what was really used put in its place afterwards, so that no
/// number of requests at one time takes more than there is; should the guest not wait for the answer, the estimate counts.
async fn ask(question: Question) -> Result<llm::Answer, CallError> {
    let Question { prompt, cause, plugin, budget, estimate, input, models, services, .. } = &question;
    let (spending, budget, estimate) = (services.spending.clone(), *budget, *estimate);
    let today = i64::try_from(homeagent_types::now() / DAY).unwrap_or_default();
    let of = plugin.clone();
    let taken = on_disk(&spending, move |spending| spending.take(&of, today, estimate, budget)).await?;
    if let Err(left) = taken {
        return Err(CallError::Denied(Denial {
            capability: "llm".to_owned(),
            attempt: format!(
                "asking the model: {left} of the {budget} tokens of this day are left to {plugin}, and the request may \
                 take {estimate}"
            ),
            remedy:
                "the next day begins at midnight UTC; tokens_per_day in [wants.llm] of its plugin.toml is the budget"
                    .to_owned(),
        }));
    }
    // On the daemon's own executor: connections to vendors are shared with the agent, and are not to depend on guests.
    let (models, prompt, cause) = (Arc::clone(models), prompt.clone(), cause.clone());
    let asked = services.local.host.spawn(async move {
        let request = LineRequest { line: SourceLine::Main, prompt: &prompt, cause: &cause };
        models.complete(request, &Unseen).await
    });
    let asked = tokio_util::task::AbortOnDropHandle::new(asked).await;
    let completed = asked.map_err(|lost| CallError::Other(format!("asking the model broke off: {lost}")))?;
    let outcome = match completed {
        Ok(completion) => Ok(answer(completion, *input)),
        Err(failure) => Err((CallError::Other(failure.sentence), failure.partial.is_some())),
    };
    // What broke half-way may have been charged, what no source took was not.
    let used = match &outcome {
        Ok(answer) => answer.usage.input.saturating_add(answer.usage.output),
        Err((_, true)) => estimate,
        Err((_, false)) => 0,
    };
    let of = plugin.clone();
    let settled = on_disk(&spending, move |spending| spending.settle(&of, today, estimate, used));
    if let Ok(Err(error)) = tokio::time::timeout(SETTLING, settled).await {
        tracing::error!(plugin, %error, "what a plugin has used of its tokens is not kept; the estimate counts");
    }
    tracing::debug!(plugin, used, "a plugin has asked the model");
    let answer = outcome.map_err(|(error, _)| error)?;
    Ok(llm::Answer { tokens_left: budget.saturating_sub(spending.of(plugin, today)), ..answer })
}

/// Away from the guests' workers: the disk may take its time.
async fn on_disk<T: Send + 'static>(
    spending: &Spending,
    work: impl FnOnce(&Spending) -> Result<T, DatabaseError> + Send + 'static,
) -> Result<T, CallError> {
    let spending = spending.clone();
    match tokio::task::spawn_blocking(move || work(&spending)).await {
        Ok(done) => done.map_err(|error| CallError::NotStored(error.to_string())),
        Err(lost) => Err(CallError::Other(format!("the budget could not be looked up: {lost}"))),
    }
}

fn answer(completion: Completion, input: u64) -> llm::Answer {
    let Completion { model, answer: AssistantAnswer { text, reasoning, usage, .. }, .. } = completion;
    let usage = match usage {
        Some(usage) => llm::Usage { input: usage.input, output: usage.output, estimated: false },
        None => llm::Usage { input, output: tokens::of_text(&text) + tokens::of_text(&reasoning), estimated: true },
    };
    llm::Answer { text, model, usage, tokens_left: 0, meta: Vec::new() }
}

/// Nobody is shown pieces of such an answer.
struct Unseen;

impl Progress for Unseen {
    fn piece(&self, _: &ModelDelta) {}

    fn restart(&self) {}
}
