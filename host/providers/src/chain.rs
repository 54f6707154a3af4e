//! The sources of a line, tried in order.

mod attempt;
mod listing;
mod request;
mod retry_after;
mod sentence;
mod show;
mod standing;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_settings::{Secret, Secrets, Settings, SourceLine, SourceRecord, Sources};
use homeagent_types::model::{
    AssistantAnswer, Completion, Failure, FailureClass, Message, ModelDelta, ModelRequest, Prompt,
};
use homeagent_types::ports::{Adapters, LineRequest, Models, ModelsFailure, Progress};
use tokio::sync::broadcast;
use tokio::time::Instant;
use tracing::Instrument as _;

use self::attempt::{Caller, Route, failure};
use self::show::Show;
use self::standing::{Admission, Standings};
use crate::assembler::AnswerLimits;
use crate::meters::ModelCall;
use crate::transport::{Transport, TransportError};

pub use self::listing::ListingError;
pub use self::standing::{SourceStanding, SourceState};

/// The adapter that serves as the only source while none is configured, and that source's name.
pub const REHEARSAL: &str = "rehearsal";
/// The most tokens of the answer to a test.
const TEST_TOKENS: u32 = 64;

/// What is not a setting, so that tests need not wait.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How long a source is left alone after its first failure; doubled by each further one.
    pub back_off: Duration,
    /// The longest back-off.
    pub longest_back_off: Duration,
    /// How long a source without money is left alone.
    pub probe: Duration,
    /// How often one request may try one source.
    pub attempts: u32,
    /// How large an answer may become.
    pub limits: AnswerLimits,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            back_off: Duration::from_secs(1),
            longest_back_off: Duration::from_secs(60),
            probe: Duration::from_secs(3600),
            attempts: 3,
            limits: AnswerLimits::default(),
        }
    }
}

/// The configured sources, as the one [`Models`] the agent sees. Sources, keys and settings are read anew for each
/// call, so a change needs no restart.
pub struct Providers {
    settings: Settings,
    secrets: Secrets,
    sources: Sources,
    adapters: Arc<dyn Adapters>,
    transport: Transport,
    policy: Policy,
    standings: Standings,
}

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
    /// Puts the chain together.
    ///
    /// # Errors
    ///
    /// When the HTTP client can't be set up.
    pub fn new(
        settings: Settings,
        secrets: Secrets,
        sources: Sources,
        adapters: Arc<dyn Adapters>,
        policy: Policy,
    ) -> Result<Self, TransportError> {
        let transport = Transport::new(request::timeouts(&settings))?;
        let standings = Standings::default();
        Ok(Providers { settings, secrets, sources, adapters, transport, policy, standings })
    }

    /// All sources and how they stand, in the order in which they are tried; the built-in one while there is no other.
    pub fn states(&self) -> Vec<SourceState> {
        let configured = self.sources.list();
        self.standings.keep_only(&configured);
        let state = |record: &SourceRecord| match self.key(record) {
            Ok(key) => self.standings.state(record, key.as_ref()),
            Err(failure) => self.standings.keyless(record, failure.message),
        };
        if configured.is_empty() {
            self.built_in().iter().map(state).collect()
        } else {
            configured.iter().map(state).collect()
        }
    }

    /// Tells of each source that fails or answers again, so that its owner can be told.
    pub fn subscribe(&self) -> broadcast::Receiver<SourceState> {
        self.standings.subscribe()
    }

    /// Asks one source for one word, however it stands and whether or not it is switched on. A success makes it ready.
    ///
    /// # Errors
    ///
    /// Why it did not answer, in words.
    pub async fn test(&self, name: &str) -> Result<Completion, ModelsFailure> {
        let built_in = || self.built_in().filter(|record| record.name == name && self.sources.list().is_empty());
        let Some(record) = self.sources.get(name).or_else(built_in) else {
            let known: Vec<String> = self.sources.list().iter().map(|record| record.name.clone()).collect();
            return Err(sentence::failed(sentence::unknown(name, &known)));
        };
        let prompt = Prompt { messages: vec![Message::user("Answer with the one word OK.")], ..Prompt::default() };
        let failed = |failure| sentence::all_failed(vec![(name.to_owned(), failure)], None, None);
        let route = self.route(&record).map_err(failed)?;
        let mut request = request::build(&self.settings, &route, &prompt);
        request.max_tokens = Some(TEST_TOKENS);
        // Somebody waits for it, and a server that only says that it is alive is never silent.
        let timeouts = request::timeouts(&self.settings);
        let patience = timeouts.first_byte + timeouts.silence;
        let mut unwatched = Show::new(&Unwatched);
        let asking = self.ask(&route, &request, &mut unwatched);
        let Ok(answer) = tokio::time::timeout(patience, asking).await else {
            let message = format!("it did not finish its answer within {} seconds", patience.as_secs());
            let failure = failure(FailureClass::Timeout, message);
            self.standings.failed(&record, route.key.as_ref(), &failure, &self.policy);
            return Err(failed(failure));
        };
        match &answer.error {
            None => self.standings.succeeded(&record),
            Some(failure) => {
                self.standings.failed(&record, route.key.as_ref(), failure, &self.policy);
                return Err(failed(failure.clone()));
            }
        }
        Ok(completion(&route, answer))
    }

    async fn complete_line(
        &self,
        line: SourceLine,
        prompt: &Prompt,
        progress: &dyn Progress,
    ) -> Result<Completion, ModelsFailure> {
        let mut tried: BTreeMap<String, Tried> = BTreeMap::new();
        let mut show = Show::new(progress);
        let mut partial = None;
        let mut patience = request::patience(&self.settings);
        loop {
            let sources = self.line(line);
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
            let request = request::build(&self.settings, &route, prompt);
            let answer = self.ask(&route, &request, &mut show).await;
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
    async fn ask(&self, route: &Route, request: &ModelRequest, show: &mut Show<'_>) -> AssistantAnswer {
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

    /// The sources of a line; the built-in one where none is configured at all.
    fn line(&self, line: SourceLine) -> Vec<SourceRecord> {
        let sources = self.sources.line(line);
        if sources.is_empty() && self.sources.list().is_empty() {
            return self.built_in().into_iter().collect();
        }
        sources
    }

    fn built_in(&self) -> Option<SourceRecord> {
        self.adapters.descriptor(REHEARSAL)?;
        Some(SourceRecord {
            name: REHEARSAL.to_owned(),
            line: SourceLine::Main,
            adapter: REHEARSAL.to_owned(),
            base_url: "offline:".to_owned(),
            model: REHEARSAL.to_owned(),
            secret: None,
            options: BTreeMap::new(),
            position: 0,
            enabled: true,
        })
    }

    fn route(&self, record: &SourceRecord) -> Result<Route, Failure> {
        let descriptor = self.adapters.descriptor(&record.adapter).ok_or_else(|| {
            let message = sentence::no_adapter(&record.adapter, &self.adapters.names());
            failure(FailureClass::Protocol, message)
        })?;
        let key = self.key(record)?;
        Ok(Route { record: record.clone(), descriptor, key })
    }

    fn key(&self, record: &SourceRecord) -> Result<Option<Secret>, Failure> {
        let Some(name) = &record.secret else { return Ok(None) };
        match self.secrets.get(name) {
            Ok(Some(key)) => Ok(Some(key)),
            Ok(None) => Err(failure(FailureClass::Auth, sentence::no_key(record, name))),
            Err(error) => Err(failure(FailureClass::Auth, error.to_string())),
        }
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            adapters: self.adapters.as_ref(),
            transport: &self.transport,
            secrets: &self.secrets,
            timeouts: request::timeouts(&self.settings),
            limits: self.policy.limits,
        }
    }
}

#[async_trait]
impl Models for Providers {
    async fn complete(&self, request: LineRequest<'_>, pieces: &dyn Progress) -> Result<Completion, ModelsFailure> {
        self.complete_line(request.line, request.prompt, pieces).await
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

fn completion(route: &Route, answer: AssistantAnswer) -> Completion {
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

struct Unwatched;

impl Progress for Unwatched {
    fn piece(&self, _: &ModelDelta) {}

    fn restart(&self) {}
}
