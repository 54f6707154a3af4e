//! Keeps the best embedder at hand, whatever happens to models, settings and sources.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use homeagent_types::ports::Models;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::choice::{Choice, Wishes};
use super::runtime::Runtime;
use super::{CurrentEmbedder, EmbedError, Embedder, ModelIdentity, Purpose};

/// When an embedder that could not be opened is tried again: first so soon, then ever later, up to the second.
const AGAIN: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(3_600));

/// How it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// An embedder is being opened; until then nothing has vectors.
    #[default]
    Loading,
    /// One is at work.
    Ready,
    /// None could be opened.
    Without,
}

/// What is used, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// How it stands.
    pub state: State,
    /// The name of what is used, or being opened, by which it is chosen.
    pub name: String,
    /// Why it and no other.
    pub why: String,
    /// What is wrong, in one sentence: why what would be better is not used.
    pub complaint: Option<String>,
    /// Whose vectors are made now.
    pub identity: Option<ModelIdentity>,
    /// The library that runs sentence models.
    pub runtime: Option<Runtime>,
    /// How many texts a sentence model embeds at one time.
    pub sessions: usize,
}

/// Opens embedders in the background and changes them while the daemon runs. Dropping it ends that.
pub struct Manager {
    current: CurrentEmbedder,
    status: Arc<Mutex<Status>>,
    calls: mpsc::UnboundedSender<Call>,
}

/// What the work is told.
enum Call {
    /// Files of models have changed.
    LookAgain,
    /// An embedder has failed; it is named by its generation.
    Failed(u64),
}

impl Manager {
    /// Starts the work and returns at once; changes of the wishes count from when they are seen. To be called within a
    /// tokio runtime.
    pub fn start(wishes: watch::Receiver<Wishes>, models: Option<Arc<dyn Models>>) -> Self {
        let (publish, current) = watch::channel(None);
        let (calls, called) = mpsc::unbounded_channel();
        let status = Arc::<Mutex<Status>>::default();
        let work = Work {
            publish,
            status: Arc::clone(&status),
            calls: calls.downgrade(),
            models,
            at_work: None,
            generation: 0,
            checks: 0,
            complaint: None,
        };
        tokio::spawn(work.run(wishes, called));
        Self { current, status, calls }
    }

    /// The embedder at work, for whoever keeps vectors.
    pub fn current(&self) -> CurrentEmbedder {
        self.current.clone()
    }

    /// What is used, and why.
    pub fn status(&self) -> Status {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Status { runtime: Runtime::loaded(), ..status }
    }

    /// Has it look at the folder of models again.
    pub fn look_again(&self) {
        // The work ends with this handle, not before.
        let _ = self.calls.send(Call::LookAgain);
    }
}

struct Work {
    publish: watch::Sender<Option<Arc<dyn Embedder>>>,
    status: Arc<Mutex<Status>>,
    calls: mpsc::WeakUnboundedSender<Call>,
    models: Option<Arc<dyn Models>>,
    at_work: Option<AtWork>,
    generation: u64,
    /// How often an embedder was checked: each check has a text of its own, which nothing remembers.
    checks: u64,
    /// What was said last: it is said once.
    complaint: Option<String>,
}

struct AtWork {
    choice: Choice,
    wishes: Wishes,
    embedder: Arc<dyn Embedder>,
}

impl Work {
    async fn run(mut self, mut wishes: watch::Receiver<Wishes>, mut calls: mpsc::UnboundedReceiver<Call>) {
        let mut pause = AGAIN.0;
        loop {
            let wanted = wishes.borrow_and_update().clone();
            let best = self.choose(&wanted).await;
            pause = if best { AGAIN.0 } else { (pause * 2).min(AGAIN.1) };
            let again = Instant::now() + pause;
            loop {
                tokio::select! {
                    changed = wishes.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => return,
                    },
                    call = calls.recv() => match call {
                        None => return,
                        Some(Call::LookAgain) => break,
                        Some(Call::Failed(generation)) => if self.is_broken(generation).await { break },
                    },
                    () = sleep_until(again), if !best => break,
                }
            }
        }
    }

    /// Whether the embedder that failed is the one at work and fails at any text, not at that one. It is given up then.
    async fn is_broken(&mut self, generation: u64) -> bool {
        let Some(at_work) = self.at_work.as_ref().filter(|_| generation == self.generation) else { return false };
        // A source that cannot be reached is no reason to embed everything anew by another one.
        if matches!(at_work.choice, Choice::Source) {
            return false;
        }
        self.checks += 1;
        let check = format!("check {generation} {}", self.checks);
        let Err(error) = at_work.embedder.embed(Purpose::Passage, vec![check]).await else { return false };
        tracing::warn!(embedder = at_work.choice.name(), %error, "the embedder has failed and is opened anew");
        self.at_work = None;
        self.publish.send_replace(None);
        true
    }

    /// Puts the best embedder at work; what is at work stays so until another one is open. False: a better one could not be
    /// opened.
    async fn choose(&mut self, wishes: &Wishes) -> bool {
        let looked = wishes.clone();
        let all =
            tokio::task::spawn_blocking(move || Choice::all(&looked)).await.unwrap_or_else(|_| vec![Choice::TfIdf]);
        let mut complaint = wishes.missing(&all);
        let mut failed = false;
        for (rank, choice) in all.iter().enumerate() {
            if self.stays(choice, wishes) {
                self.report(State::Ready, choice, wishes, rank, complaint);
                return !failed;
            }
            if self.at_work.is_none() {
                self.report(State::Loading, choice, wishes, rank, complaint.clone());
            }
            match choice.open(wishes, self.models.as_ref()).await {
                Ok(embedder) => {
                    self.put_to_work(choice, wishes, embedder);
                    self.report(State::Ready, choice, wishes, rank, complaint);
                    return !failed;
                }
                Err(error) => {
                    failed = true;
                    complaint = complaint.or_else(|| Some(format!("{} is not used: {error}", choice.name())));
                }
            }
        }
        self.report(State::Without, &Choice::TfIdf, wishes, all.len(), complaint);
        false
    }

    fn stays(&self, choice: &Choice, wishes: &Wishes) -> bool {
        self.at_work.as_ref().is_some_and(|at_work| {
            let same_way = match choice {
                Choice::Sentences(_) => {
                    let library = at_work.wishes.onnx_runtime == wishes.onnx_runtime || Runtime::loaded().is_some();
                    library && at_work.wishes.sessions == wishes.sessions
                }
                _ => true,
            };
            same_way && at_work.choice.is_same(choice)
        })
    }

    fn put_to_work(&mut self, choice: &Choice, wishes: &Wishes, embedder: Arc<dyn Embedder>) {
        self.generation += 1;
        let identity = embedder.identity();
        tracing::info!(
            embedder = choice.name(),
            kind = identity.kind,
            dimensions = identity.dimensions,
            "vectors are made"
        );
        let watched =
            Watched { embedder: Arc::clone(&embedder), generation: self.generation, calls: self.calls.clone() };
        self.at_work = Some(AtWork { choice: choice.clone(), wishes: wishes.clone(), embedder });
        self.publish.send_replace(Some(Arc::new(watched)));
    }

    fn report(&mut self, state: State, choice: &Choice, wishes: &Wishes, rank: usize, complaint: Option<String>) {
        if let Some(sentence) = complaint.as_ref().filter(|_| state != State::Loading && complaint != self.complaint) {
            tracing::warn!("{sentence}");
        }
        if state != State::Loading {
            self.complaint.clone_from(&complaint);
        }
        let why = match choice {
            _ if wishes.embedder.as_deref() == Some(choice.name()) => "core.models.embedder names it",
            Choice::TfIdf if rank == 0 => "there is no model and no embedding source",
            _ if complaint.is_some() => "it is the best of those that can be used",
            Choice::Sentences(_) => "it is the first sentence model in the folder of models",
            Choice::Source => "there is no sentence model in the folder of models",
            Choice::Words(_) => "there is no sentence model and no embedding source",
            Choice::TfIdf => "nothing else could be opened",
        };
        let status = Status {
            state,
            name: choice.name().to_owned(),
            why: why.to_owned(),
            complaint,
            identity: self.at_work.as_ref().map(|at_work| at_work.embedder.identity().clone()),
            runtime: None,
            sessions: wishes.sessions.max(1),
        };
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}

/// An embedder whose failures are noticed.
struct Watched {
    embedder: Arc<dyn Embedder>,
    generation: u64,
    calls: mpsc::WeakUnboundedSender<Call>,
}

#[async_trait]
impl Embedder for Watched {
    fn identity(&self) -> &ModelIdentity {
        self.embedder.identity()
    }

    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.embedder.embed(purpose, texts).await;
        if let (Err(_), Some(calls)) = (&made, self.calls.upgrade()) {
            let _ = calls.send(Call::Failed(self.generation));
        }
        made
    }
}

#[cfg(test)]
mod tests;
