//! The sources of a line, tried in order.

mod attempt;
mod complete;
mod course;
mod embed;
mod gates;
mod guard;
mod holding;
mod listing;
mod media;
mod request;
mod retry_after;
mod senses;
mod sentence;
mod show;
mod standing;
mod switch;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_media::Store;
use homeagent_settings::{Secret, Secrets, Settings, SourceLine, SourceRecord, Sources};
use homeagent_types::CallError;
use homeagent_types::MediaKind;
use homeagent_types::lines::{SourceChoice, SourceOrder, VectorRequest, Vectors};
use homeagent_types::model::{AssistantAnswer, Completion, Failure, FailureClass, Message, ModelDelta, Prompt};
use homeagent_types::ports::{Adapters, LineRequest, Models, ModelsFailure, Progress, Sight};
use tokio::sync::broadcast;

use self::attempt::{Caller, Route, failure};
use self::complete::completion;
use self::embed::Unmade;
use self::gates::Gates;
use self::show::Show;
use self::standing::Standings;
use self::window::Windows;
use crate::assembler::AnswerLimits;
use crate::cost::Costs;
use crate::transport::{Transport, TransportError};

pub use self::listing::ListingError;
pub(crate) use self::listing::usable_name;
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
    /// How long a source whose places are taken is waited for before the next one is asked.
    pub queue: Duration,
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
            queue: Duration::from_secs(2),
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
    media: Option<Store>,
    gates: Gates,
    windows: Windows,
    costs: Option<Costs>,
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
        let (standings, windows) = (Standings::default(), Windows::default());
        let gates = Gates::default();
        Ok(Providers {
            settings,
            secrets,
            sources,
            adapters,
            transport,
            policy,
            standings,
            windows,
            gates,
            media: None,
            costs: None,
        })
    }

    /// The same, with each call entered into a ledger and kept within limits.
    #[must_use]
    pub fn with_costs(self, costs: Costs) -> Self {
        Providers { costs: Some(costs), ..self }
    }

    /// All sources and how they stand, in the order in which they are tried; the built-in one while there is no other.
    pub fn states(&self) -> Vec<SourceState> {
        let configured = self.sources.list();
        self.standings.keep_only(&configured);
        self.gates.keep_only(&configured);
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

    /// Asks one source for one word, or for a vector of one where it makes those, however it stands and whether or not it
    /// is switched on. A success makes it ready.
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
        // Somebody waits for it, and a server that only says that it is alive is never silent.
        let timeouts = request::timeouts(&self.settings);
        let patience = timeouts.first_byte + timeouts.silence;
        if record.line == SourceLine::Embedding {
            return self.test_vectors(&route, patience).await;
        }
        let mut request = request::build(&self.settings, &route, &prompt);
        request.max_tokens = Some(TEST_TOKENS);
        let mut unwatched = Show::new(&Unwatched);
        let held = self.hold(&route, record.line, None, &request).await;
        let held = held.map_err(|limit| sentence::failed(limit.say()))?;
        let asking = self.ask(&route, &request, held, &mut unwatched);
        let Ok(answer) = tokio::time::timeout(patience, asking).await else {
            let failure = unfinished(patience);
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

    async fn test_vectors(&self, route: &Route, patience: Duration) -> Result<Completion, ModelsFailure> {
        let record = &route.record;
        let made = tokio::time::timeout(patience, self.embed_one(route)).await;
        match made.unwrap_or_else(|_| Err(Unmade::Failed(unfinished(patience)))) {
            Ok(made) => {
                self.standings.succeeded(record);
                let text = format!("a vector of {} numbers", made.dimensions);
                Ok(completion(route, AssistantAnswer { text, usage: made.usage, ..AssistantAnswer::default() }))
            }
            Err(Unmade::Limited(limit)) => Err(sentence::failed(limit.say())),
            Err(Unmade::Failed(failure)) => {
                self.standings.failed(record, route.key.as_ref(), &failure, &self.policy);
                Err(sentence::all_failed(vec![(record.name.clone(), failure)], None, None))
            }
        }
    }

    /// The sources that a request to a line is tried with, in order: what is meant for `auxiliary` goes to `main` where it
    /// has none of its own that answers. The built-in one where none is configured at all.
    fn line(&self, line: SourceLine) -> Vec<SourceRecord> {
        let mut sources = self.sources.line(line);
        if line == SourceLine::Auxiliary {
            sources.extend(self.sources.line(SourceLine::Main));
        }
        if sources.is_empty() && line != SourceLine::Embedding && self.sources.list().is_empty() {
            return self.built_in().into_iter().collect();
        }
        sources
    }

    /// Whether the source and its key are still what they were when it was asked.
    fn is_current(&self, route: &Route) -> bool {
        let same = |now: &SourceRecord| SourceRecord { position: route.record.position, ..now.clone() } == route.record;
        let known = self.sources.get(&route.record.name);
        let unchanged = known.as_ref().map_or_else(|| self.sources.list().is_empty(), same);
        unchanged && self.key(&route.record).is_ok_and(|key| key == route.key)
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
        self.complete_line(request, None, pieces).await
    }

    fn sight(&self) -> Sight {
        self.line_sight()
    }

    async fn look(
        &self,
        request: LineRequest<'_>,
        kind: MediaKind,
        pieces: &dyn Progress,
    ) -> Result<Completion, ModelsFailure> {
        self.complete_line(request, Some(kind), pieces).await
    }

    async fn embed(&self, request: VectorRequest<'_>) -> Result<Vectors, ModelsFailure> {
        self.embed_line(request).await
    }

    fn choices(&self) -> Option<Vec<SourceChoice>> {
        Some(self.all_choices())
    }

    fn has_choices(&self) -> bool {
        true
    }

    async fn choose(&self, order: SourceOrder) -> Result<SourceChoice, CallError> {
        self.obey(order).await
    }
}

fn unfinished(patience: Duration) -> Failure {
    let message = format!("it did not finish its answer within {} seconds", patience.as_secs());
    failure(FailureClass::Timeout, message)
}

struct Unwatched;

impl Progress for Unwatched {
    fn piece(&self, _: &ModelDelta) {}

    fn restart(&self) {}
}
