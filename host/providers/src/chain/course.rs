//! The way of one request along the sources of its line.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::future::select_all;
use homeagent_settings::SourceRecord;
use homeagent_types::MediaKind;
use homeagent_types::model::{Failure, FailureClass, SourceLine};
use homeagent_types::ports::ModelsFailure;
use tokio::time::Instant;

use super::attempt::{Route, failure};
use super::gates::Pass;
use super::standing::Admission;
use super::{Providers, request, sentence};

/// How long is slept at most before the sources are looked at again: their owner may have changed them.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Where a request has been, and how long it may still wait.
pub(super) struct Course<'a> {
    providers: &'a Providers,
    line: SourceLine,
    /// No source with another model is asked.
    model: Option<&'a str>,
    /// None but those of the main and the auxiliary line that take in such media.
    seeing: Option<MediaKind>,
    tried: BTreeMap<String, Tried>,
    patience: Duration,
}

/// What happened to a source within one request.
#[derive(Debug)]
struct Tried {
    attempts: u32,
    failure: Failure,
    /// This request does not ask it again.
    over: bool,
}

/// How the sources are for this request at one moment.
#[derive(Default)]
struct View {
    /// Those that may be asked, in order.
    ready: Vec<Route>,
    /// When the first of the others may be that this request would ask.
    wake: Option<Instant>,
    /// When the first of the others may be.
    again: Option<Instant>,
}

impl<'a> Course<'a> {
    pub(super) fn new(providers: &'a Providers, line: SourceLine) -> Self {
        let patience = request::patience(&providers.settings);
        Course { providers, line, model: None, seeing: None, tried: BTreeMap::new(), patience }
    }

    /// Asks no source but those with this model, where one is given.
    pub(super) fn only(self, model: Option<&'a str>) -> Self {
        Course { model, ..self }
    }

    /// Asks those sources of the main and the auxiliary line that take in media of this kind, where one is given.
    pub(super) fn seeing(self, seeing: Option<MediaKind>) -> Self {
        Course { seeing, ..self }
    }

    /// The next source to ask, as soon as it may be asked, with the right to ask it. The sources are looked at anew each
    /// time.
    ///
    /// # Errors
    ///
    /// When there is none, and none will be soon.
    pub(super) async fn next(&mut self) -> Result<(Route, Pass), ModelsFailure> {
        loop {
            let sources = self.sources();
            if sources.is_empty() {
                return Err(self.nobody());
            }
            let view = self.look(&sources);
            let (wake, again) = (view.wake, view.again);
            if !view.ready.is_empty() {
                if let Some(entered) = self.enter(view.ready, wake).await {
                    return Ok(entered);
                }
                if !self.patience.is_zero() {
                    continue;
                }
                return Err(self.give_up(again));
            }
            let Some(wake) = wake.filter(|wake| self.waits_until(*wake)) else { return Err(self.give_up(again)) };
            self.wait(tokio::time::sleep_until(wake.min(Instant::now() + LOOK_AGAIN))).await;
        }
    }

    /// The source failed. What is the request's fault alone is not held against it.
    pub(super) fn failed(&mut self, route: &Route, failure: Failure, took: Duration) {
        let providers = self.providers;
        let record = &route.record;
        // A key, or a source, that was changed meanwhile is another one, and has not failed.
        let current = providers.is_current(route);
        if current {
            providers.standings.failed(record, route.key.as_ref(), &failure, &providers.policy);
        }
        let attempts = self.tried.get(&record.name).map_or(0, |tried| tried.attempts) + 1;
        // A host that swallows connections would be waited for each time anew.
        let swallowed =
            failure.class == FailureClass::Network && took >= request::timeouts(&providers.settings).connect;
        let over = current && (attempts >= providers.policy.attempts || !may_pass(failure.class) || swallowed);
        self.tried.insert(record.name.clone(), Tried { attempts, failure, over });
    }

    /// The source gave nothing of use, or is not to be asked. This request goes on without it; nothing but a note is held
    /// against it.
    pub(super) fn pass_over(&mut self, route: &Route, failure: Failure) {
        if self.providers.is_current(route) {
            self.providers.standings.note(&route.record, route.key.as_ref(), &failure);
        }
        self.tried.insert(route.record.name.clone(), Tried { attempts: 1, failure, over: true });
    }

    /// The source can't be asked by this request, for which it can do nothing.
    pub(super) fn leave_out(&mut self, route: &Route, failure: Failure) {
        self.tried.insert(route.record.name.clone(), Tried { attempts: 0, failure, over: true });
    }

    /// Waits for no source any more: there is something to tell.
    pub(super) fn stop_waiting(&mut self) {
        self.patience = Duration::ZERO;
    }

    /// No source could answer: the failures in the order of the sources.
    pub(super) fn give_up(&mut self, again: Option<Instant>) -> ModelsFailure {
        let sources = self.sources();
        let place: HashMap<&str, usize> =
            sources.iter().enumerate().map(|(place, record)| (record.name.as_str(), place)).collect();
        let tried = std::mem::take(&mut self.tried);
        let mut failures: Vec<(String, Failure)> =
            tried.into_iter().map(|(name, tried)| (name, tried.failure)).collect();
        failures.sort_by_key(|(name, _)| place.get(name.as_str()).copied());
        let again = again.map(|moment| moment.saturating_duration_since(Instant::now()));
        sentence::all_failed(failures, again, None)
    }

    fn sources(&self) -> Vec<SourceRecord> {
        let mut sources = match self.seeing {
            Some(kind) => self.providers.seeing(kind),
            None => self.providers.line(self.line),
        };
        sources.retain(|record| self.model.is_none_or(|model| record.model == model));
        sources
    }

    fn nobody(&mut self) -> ModelsFailure {
        if !self.tried.is_empty() {
            // The last source was taken away meanwhile.
            return self.give_up(None);
        }
        let all = self.providers.sources.list();
        sentence::failed(match (self.line, self.model) {
            (SourceLine::Embedding, Some(model)) => sentence::no_vectors_by(model),
            (SourceLine::Embedding, None) => sentence::no_vectors(),
            _ => sentence::none(&all),
        })
    }

    fn look(&mut self, sources: &[SourceRecord]) -> View {
        let mut view = View::default();
        let earlier = |one: Option<Instant>, other: Instant| Some(one.map_or(other, |one| one.min(other)));
        for record in sources {
            let over = self.tried.get(&record.name).is_some_and(|entry| entry.over);
            let route = match self.providers.route(record) {
                Ok(route) => route,
                Err(failure) => {
                    // Its key may be there the next time.
                    let fresh = || Tried { attempts: 0, failure: failure.clone(), over: false };
                    self.tried.entry(record.name.clone()).or_insert_with(fresh).failure = failure.clone();
                    continue;
                }
            };
            let (admission, held) = self.providers.standings.admission(record, route.key.as_ref());
            if let Some(failure) = held {
                let seen = self.tried.entry(record.name.clone());
                seen.or_insert(Tried { attempts: 0, failure, over: false });
            }
            match admission {
                Admission::Now if !over => view.ready.push(route),
                Admission::Now | Admission::Never => {}
                Admission::At(moment) => {
                    view.again = earlier(view.again, moment);
                    if !over {
                        view.wake = earlier(view.wake, moment);
                    }
                }
            }
        }
        view
    }

    /// The first of these sources that has a place, which is waited for a little where there is another source, and as
    /// long as patience lasts where there is none. `wake`: when there is more to choose from.
    async fn enter(&mut self, ready: Vec<Route>, wake: Option<Instant>) -> Option<(Route, Pass)> {
        let gates: Vec<_> = ready.iter().map(|route| self.providers.gates.of(&route.record)).collect();
        let last = ready.len() - 1;
        for (place, gate) in gates.iter().enumerate() {
            if let Some(pass) = gate.try_enter() {
                return ready.into_iter().nth(place).map(|route| (route, pass));
            }
            let little = self.providers.policy.queue.min(self.patience);
            let soon = gate.opens_at().is_none_or(|moment| moment <= Instant::now() + little);
            if place < last
                && soon
                && let Some(Ok(pass)) = self.wait(tokio::time::timeout(little, gate.enter())).await
            {
                return ready.into_iter().nth(place).map(|route| (route, pass));
            }
        }
        let until = Instant::now() + self.patience;
        let until = wake.map_or(until, |wake| until.min(wake));
        let any = select_all(gates.iter().map(|gate| Box::pin(gate.enter())));
        match self.wait(tokio::time::timeout_at(until, any)).await {
            Some(Ok((pass, place, _))) => ready.into_iter().nth(place).map(|route| (route, pass)),
            _ => {
                for (route, gate) in ready.iter().zip(&gates) {
                    let busy = failure(FailureClass::RateLimited, gate.busy());
                    let seen = self.tried.entry(route.record.name.clone());
                    seen.or_insert(Tried { attempts: 0, failure: busy, over: false });
                }
                None
            }
        }
    }

    fn waits_until(&self, moment: Instant) -> bool {
        // What is too long may become short enough: whoever asked can do that at once.
        let shortens = self.tried.values().any(|tried| tried.failure.class == FailureClass::ContextOverflow);
        !shortens && moment.saturating_duration_since(Instant::now()) <= self.patience
    }

    /// Waits, at the cost of patience. None: there is none.
    async fn wait<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        if self.patience.is_zero() {
            return None;
        }
        let began = Instant::now();
        let done = work.await;
        self.patience = self.patience.saturating_sub(began.elapsed());
        Some(done)
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
