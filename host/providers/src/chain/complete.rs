//! One request to a line: its sources are asked one after another.

use homeagent_settings::SourceRecord;
use homeagent_types::MediaKind;
use homeagent_types::model::{AssistantAnswer, Completion, Failure, FailureClass, FinishReason, ModelRequest};
use homeagent_types::ports::{LineRequest, ModelsFailure, Progress};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::attempt::{Route, failure};
use super::course::Course;
use super::holding::Limited;
use super::show::Show;
use super::{Providers, request};
use crate::cost::Held;
use crate::meters::ModelCall;

impl Providers {
    /// Asks the sources of the request's line until one has answered; where `seeing` is said, those that take that in.
    pub(super) async fn complete_line(
        &self,
        asked: LineRequest<'_>,
        seeing: Option<MediaKind>,
        progress: &dyn Progress,
    ) -> Result<Completion, ModelsFailure> {
        let mut course = Course::new(self, asked.line).seeing(seeing);
        let mut show = Show::new(progress);
        let (mut partial, mut wordless) = (None, None);
        let mut limited = Limited::default();
        loop {
            let (route, _pass) = match course.next().await {
                Ok(next) => next,
                // That there is nothing to say is an answer, if nobody has begun another one.
                Err(failure) => {
                    let wordless = wordless.filter(|_| partial.is_none());
                    return wordless.ok_or_else(|| ModelsFailure { partial, ..limited.explain(failure) });
                }
            };
            let began = Instant::now();
            let answer = match self.ask_within(&route, asked, &mut show).await {
                Ok(answer) => answer,
                Err(limit) => {
                    course.leave_out(&route, limited.note(&route, limit));
                    continue;
                }
            };
            match fault(&answer) {
                None => {
                    show.clear();
                    self.standings.succeeded(&route.record);
                    return Ok(completion(&route, answer));
                }
                Some(Fault::Failed(failure)) => {
                    let filtered = failure.class == FailureClass::ContentFilter;
                    course.failed(&route, failure, began.elapsed());
                    if show.has_shown() {
                        partial = Some(Box::new(completion(&route, answer)));
                    }
                    if filtered && request::filter_is_final(&self.settings) {
                        return Err(ModelsFailure { partial, ..course.give_up(None) });
                    }
                }
                Some(Fault::Wordless) => {
                    course.pass_over(&route, failure(FailureClass::Protocol, "it said nothing at all".to_owned()));
                    course.stop_waiting();
                    wordless.get_or_insert_with(|| completion(&route, answer));
                }
            }
        }
    }

    /// Asks one source, inside a span that tells what it came to.
    pub(super) async fn ask(
        &self,
        route: &Route,
        request: &ModelRequest,
        held: Option<Held>,
        show: &mut Show<'_>,
    ) -> AssistantAnswer {
        let SourceRecord { name, adapter, model, .. } = &route.record;
        let span = tracing::info_span!(
            "model_call",
            source = name,
            adapter,
            model,
            input_tokens = tracing::field::Empty,
            output_tokens = tracing::field::Empty,
            outcome = tracing::field::Empty,
        );
        let call = ModelCall::begin(name);
        show.times(call.first_piece());
        show.counts(held.as_ref().map(Held::tally));
        let answer = self.caller().ask(route, request, show).instrument(span.clone()).await;
        call.end(&answer);
        if let Some(held) = held {
            held.settle(answer.usage, answer.error.as_ref());
        }
        let usage = answer.usage.unwrap_or_default();
        let outcome = answer.error.as_ref().map_or("answered", |failure| failure.class.as_str());
        span.record("input_tokens", usage.input).record("output_tokens", usage.output).record("outcome", outcome);
        answer
    }
}

/// Why an answer is not one.
enum Fault {
    Failed(Failure),
    /// It is complete, and there is nothing in it.
    Wordless,
}

fn fault(answer: &AssistantAnswer) -> Option<Fault> {
    if let Some(failure) = &answer.error {
        return Some(Fault::Failed(failure.clone()));
    }
    if !answer.tool_calls.is_empty() || !answer.text.trim().is_empty() {
        return None;
    }
    match answer.finish {
        Some(FinishReason::ContentFilter) => {
            let message = "it stopped the answer before the first word".to_owned();
            Some(Fault::Failed(failure(FailureClass::ContentFilter, message)))
        }
        Some(FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other) | None => Some(Fault::Wordless),
        // These say themselves why there are no words.
        Some(FinishReason::Length | FinishReason::Refusal | FinishReason::Pause) => None,
    }
}

pub(super) fn completion(route: &Route, answer: AssistantAnswer) -> Completion {
    Completion {
        source: route.record.name.clone(),
        adapter: route.record.adapter.clone(),
        model: route.record.model.clone(),
        answer,
    }
}
