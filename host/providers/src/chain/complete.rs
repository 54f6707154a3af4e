//! One request to a line: its sources are asked one after another.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use homeagent_settings::SourceRecord;
use homeagent_types::model::{AssistantAnswer, Completion, Failure, FailureClass, ModelRequest};
use homeagent_types::ports::{LineRequest, ModelsFailure, Progress};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::attempt::Route;
use super::show::Show;
use super::standing::Admission;
use super::{Providers, request, sentence};
use crate::meters::ModelCall;

/// What happened to a source within one request.
#[derive(Debug)]
struct Tried {
    attempts: u32,
    failure: Failure,
    /// This request does not ask it again.
    over: bool,
}

/// What to do next.
enum Next {
    Ask(Box<Route>),
    WaitUntil(Instant),
    GiveUp { again: Option<Instant> },
}

impl Providers {
    /// Asks the sources of the request's line until one has answered.
    pub(super) async fn complete_line(
        &self,
        asked: LineRequest<'_>,
        progress: &dyn Progress,
    ) -> Result<Completion, ModelsFailure> {
        let mut tried: BTreeMap<String, Tried> = BTreeMap::new();
        let mut show = Show::new(progress);
        let mut partial = None;
        let mut patience = request::patience(&self.settings);
        loop {
            let sources = self.line(asked.line);
            if sources.is_empty() {
                return Err(sentence::failed(sentence::none(&self.sources.list())));
            }
            let route = match self.next(&sources, &mut tried, patience) {
                Next::Ask(route) => route,
                Next::WaitUntil(moment) => {
                    patience = patience.saturating_sub(moment.saturating_duration_since(Instant::now()));
                    tokio::time::sleep_until(moment).await;
                    continue;
                }
                Next::GiveUp { again } => return Err(give_up(&sources, tried, again, partial)),
            };
            show.begin();
            let answer = self.ask_within(&route, asked.prompt, &mut show).await;
            let record = &route.record;
            let Some(error) = answer.error.clone() else {
                show.clear();
                self.standings.succeeded(record);
                return Ok(completion(&route, answer));
            };
            self.standings.failed(record, route.key.as_ref(), &error, &self.policy);
            let attempts = tried.get(&record.name).map_or(0, |tried| tried.attempts) + 1;
            let over = attempts >= self.policy.attempts || !may_pass(error.class);
            tried.insert(record.name.clone(), Tried { attempts, failure: error, over });
            if show.has_shown() {
                partial = Some(Box::new(completion(&route, answer)));
            }
        }
    }

    /// Asks one source, inside a span that tells what it came to.
    pub(super) async fn ask(&self, route: &Route, request: &ModelRequest, show: &mut Show<'_>) -> AssistantAnswer {
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
        let answer = self.caller().ask(route, request, show).instrument(span.clone()).await;
        call.end(&answer);
        let usage = answer.usage.unwrap_or_default();
        let outcome = answer.error.as_ref().map_or("answered", |failure| failure.class.as_str());
        span.record("input_tokens", usage.input).record("output_tokens", usage.output).record("outcome", outcome);
        answer
    }

    /// The first source that may be asked now; else how long to wait for one.
    fn next(&self, sources: &[SourceRecord], tried: &mut BTreeMap<String, Tried>, patience: Duration) -> Next {
        let mut again: Option<Instant> = None;
        let mut wait: Option<Instant> = None;
        for record in sources {
            let over = tried.get(&record.name).is_some_and(|entry| entry.over);
            let route = match self.route(record) {
                Ok(route) => route,
                Err(failure) => {
                    tried.insert(record.name.clone(), Tried { attempts: 0, failure, over: true });
                    continue;
                }
            };
            let (admission, held) = self.standings.admission(record, route.key.as_ref());
            if let Some(failure) = held {
                let seen = tried.entry(record.name.clone());
                seen.or_insert(Tried { attempts: 0, failure, over: false });
            }
            match admission {
                Admission::Now if !over => return Next::Ask(Box::new(route)),
                Admission::Now | Admission::Never => {}
                Admission::At(moment) => {
                    again = Some(again.map_or(moment, |other| other.min(moment)));
                    if !over {
                        wait = Some(wait.map_or(moment, |other| other.min(moment)));
                    }
                }
            }
        }
        match wait {
            Some(moment) if moment.saturating_duration_since(Instant::now()) <= patience => Next::WaitUntil(moment),
            _ => Next::GiveUp { again },
        }
    }
}

/// Whether the same request may succeed at the same source a moment later. After a time-out it might, but nobody waits
/// that long twice.
fn may_pass(class: FailureClass) -> bool {
    match class {
        FailureClass::RateLimited
        | FailureClass::Overloaded
        | FailureClass::Network
        | FailureClass::StreamEndedEarly
        // These are kept away by the source's standing, until its key is another one.
        | FailureClass::Auth
        | FailureClass::Permission
        | FailureClass::Unfunded => true,
        FailureClass::BadRequest
        | FailureClass::ContentFilter
        | FailureClass::ContextOverflow
        | FailureClass::Timeout
        | FailureClass::Protocol => false,
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

/// The failures in the order of the sources.
fn give_up(
    sources: &[SourceRecord],
    tried: BTreeMap<String, Tried>,
    again: Option<Instant>,
    partial: Option<Box<Completion>>,
) -> ModelsFailure {
    let place: HashMap<&str, usize> =
        sources.iter().enumerate().map(|(place, record)| (record.name.as_str(), place)).collect();
    let mut failures: Vec<(String, Failure)> = tried.into_iter().map(|(name, tried)| (name, tried.failure)).collect();
    failures.sort_by_key(|(name, _)| place.get(name.as_str()).copied());
    let again = again.map(|moment| moment.saturating_duration_since(Instant::now()));
    sentence::all_failed(failures, again, partial)
}
