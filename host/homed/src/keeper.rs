//! The agent's life inside the daemon: what comes and goes with it is made here, and taken apart again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use homeagent_agent::{Agent, Phase};
use homeagent_gateway::{Change, Live};
use homeagent_models::LocalModels;
use homeagent_network::Network;
use homeagent_providers::cost::CostNotice;
use homeagent_providers::{Policy, Providers};
use homeagent_runtime::{Bundled, Runtime, RuntimeError};
use homeagent_types::ports::{Mind, Models, PluginAdmin as _, PluginMemory};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::task::AbortOnDropHandle;

use crate::knowing::Knowing;
use crate::stores::Stores;

/// How many changes a slow listener may fall behind.
const CHANGES_KEPT: usize = 256;

/// Why the agent does not start. Each is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The engine, or the folder for compiled code.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The HTTP client for the sources.
    #[error(transparent)]
    Providers(#[from] homeagent_providers::transport::TransportError),
    /// The system's certificates, for the requests of plugins.
    #[error("the certificates that the system trusts can't be read: {0}; install the package ca-certificates")]
    Network(#[source] homeagent_network::tls::Error),
    /// The agent itself.
    #[error(transparent)]
    Agent(#[from] homeagent_agent::StartError),
    /// The daemon ends.
    #[error("homed is stopping; start it again for an agent")]
    Closed,
}

/// Starts and stops the agent. Clones share it.
#[derive(Clone)]
pub(crate) struct Keeper {
    inner: Arc<Inner>,
}

struct Inner {
    home: PathBuf,
    /// What compiles components.
    compiler: Option<PathBuf>,
    stores: Stores,
    knowing: Knowing,
    embedders: Arc<LocalModels>,
    state: Mutex<State>,
    /// Starts and stops happen one at a time; true once the daemon ends.
    changing: tokio::sync::Mutex<bool>,
    changes: broadcast::Sender<Change>,
}

struct State {
    /// Of an agent that is not present.
    phase: Phase,
    present: Option<Present>,
}

/// An agent and what lives as long as it does.
#[derive(Clone)]
struct Present {
    live: Arc<Live>,
    agent: Arc<Agent>,
    runtime: Runtime,
    /// The runtime holds it for plugins as long as it is here.
    _memory: Arc<dyn PluginMemory>,
    /// Pass on what changes at the plugins and sources, and of limits.
    _heralds: Arc<[AbortOnDropHandle<()>; 2]>,
}

impl Keeper {
    pub(crate) fn new(
        home: PathBuf,
        compiler: Option<PathBuf>,
        stores: Stores,
        knowing: Knowing,
        embedders: Arc<LocalModels>,
    ) -> Self {
        let state = Mutex::new(State { phase: Phase::Stopped, present: None });
        let changing = tokio::sync::Mutex::new(false);
        let changes = broadcast::Sender::new(CHANGES_KEPT);
        Self { inner: Arc::new(Inner { home, compiler, stores, knowing, embedders, state, changing, changes }) }
    }

    /// Starts the agent; nothing happens where it runs already.
    pub(crate) async fn start(&self) -> Result<(), AgentError> {
        let keeper = self.clone();
        finish(async move { keeper.inner.start().await }).await
    }

    /// Ends the agent wholly; nothing happens where it is stopped already.
    pub(crate) async fn stop(&self) {
        let keeper = self.clone();
        finish(async move { keeper.inner.stop().await }).await;
    }

    /// Ends the agent's work for the daemon's end, and lets nobody start it again: turns that clients wait for get their
    /// results, and plugins are still there to carry them.
    pub(crate) async fn rest(&self) {
        *self.inner.changing.lock().await = true;
        let present = self.inner.state().present.clone();
        if let Some(present) = present {
            present.agent.shutdown().await;
        }
    }
}

/// Runs to its end even if nobody waits any more.
async fn finish<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(lost) => std::panic::resume_unwind(lost.into_panic()),
    }
}

/// While it lives, an agent is being started. However that ends: whether one is there then, `present` says.
struct Starting<'a>(&'a Inner);

impl<'a> Starting<'a> {
    fn begin(inner: &'a Inner) -> Self {
        inner.state().phase = Phase::Start;
        Self(inner)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Stopped;
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: Change) {
        // An error only says that nobody listens.
        let _ = self.changes.send(change);
    }

    async fn start(&self) -> Result<(), AgentError> {
        let closed = self.changing.lock().await;
        if *closed {
            return Err(AgentError::Closed);
        }
        if self.state().present.is_some() {
            return Ok(());
        }
        let _starting = Starting::begin(self);
        let begun = self.begin().await?;
        self.state().present = Some(begun);
        self.tell(Change::Agent(Phase::Running));
        tracing::info!("the agent works");
        Ok(())
    }

    async fn begin(&self) -> Result<Present, AgentError> {
        let Stores { settings, secrets, sources, bindings, grants, spending, costs, data, journal, media, .. } =
            self.stores.clone();
        let runtime = Runtime::new(homeagent_runtime::Parts {
            clock: Arc::new(homeagent_types::now),
            settings: settings.clone(),
            grants,
            secrets: secrets.clone(),
            data,
            network: Network::system().map_err(AgentError::Network)?,
            spending,
            bundled: homeagent_bundle::packages()
                .map(|package| Bundled {
                    manifest: package.manifest,
                    component: package.component,
                    digest: package.digest,
                })
                .collect(),
            home: self.home.clone(),
            plugins: self.home.join("plugins"),
            cache: self.home.join("cache"),
            compiler: self.compiler.clone(),
        })?;
        let adapters = runtime.adapters();
        let policy = Policy::default();
        let providers = Providers::new(settings.clone(), secrets, sources, Arc::clone(&adapters), policy)?;
        let notices = costs.subscribe();
        let providers = Arc::new(providers.with_media(media.clone()).with_costs(costs));
        let models: Arc<dyn Models> = Arc::clone(&providers) as _;
        runtime.bind_models(Arc::downgrade(&models));
        self.embedders.ask(Arc::downgrade(&models));
        let memory: Arc<dyn PluginMemory> = Arc::new(self.knowing.clone());
        runtime.bind_memory(Arc::downgrade(&memory));
        // Plugins first, so that inputs the last stop left waiting find what answers them; what plugins submit before
        // there is an agent is answered with not-live.
        runtime.load_all().await;
        runtime.watch();
        let agent = Agent::start(homeagent_agent::Parts {
            journal,
            settings,
            bindings,
            plugins: Arc::new(runtime.clone()),
            models,
            media,
            memory: Some(Arc::clone(&self.knowing.memory) as _),
            context: self.knowing.memory.context().clone(),
            toolboxes: self.knowing.toolboxes(),
            home: self.home.clone(),
        })
        .await;
        let agent = match agent {
            Ok(agent) => agent,
            Err(error) => {
                runtime.shutdown().await;
                return Err(error.into());
            }
        };
        let mind: Arc<dyn Mind> = Arc::clone(&agent) as _;
        runtime.bind(Arc::downgrade(&mind));
        self.knowing.ask(&agent);
        let teller = tell_of_limits(notices, Arc::downgrade(&agent), self.changes.clone());
        let herald = herald(runtime.clone(), Arc::clone(&providers), self.changes.clone());
        let live = Arc::new(Live {
            turns: Arc::clone(&agent) as _,
            providers,
            plugins: Arc::new(runtime.clone()),
            adapters,
            listeners: Arc::new(runtime.clone()),
            knowledge: self.knowing.knowledge(),
        });
        let tasks = [tokio::spawn(herald), tokio::spawn(teller)].map(AbortOnDropHandle::new);
        Ok(Present { live, agent, runtime, _memory: memory, _heralds: Arc::new(tasks) })
    }

    /// In order: the agent first, so that whoever waits gets a result; the plugins when nobody needs them.
    async fn stop(&self) {
        let _one_at_a_time = self.changing.lock().await;
        let Some(present) = self.state().present.clone() else { return };
        present.agent.shutdown().await;
        // Before the plugins end: who loses a connection to one can be told why.
        self.state().present = None;
        present.runtime.shutdown().await;
        self.tell(Change::Agent(Phase::Stopped));
        tracing::info!("the agent is stopped");
    }
}

/// Passes on what changes at the plugins and sources, until it is dropped.
async fn herald(runtime: Runtime, providers: Arc<Providers>, changes: broadcast::Sender<Change>) {
    let (mut plugins, mut sources) = (runtime.subscribe(), providers.subscribe());
    loop {
        let change = tokio::select! {
            name = plugins.recv() => match name {
                Ok(name) => {
                    // A plugin that is gone by now has told so, or will.
                    let status = runtime.list().into_iter().find(|status| status.name == *name);
                    status.map(|status| Change::Plugin(Box::new(status)))
                }
                Err(RecvError::Lagged(missed)) => Some(Change::Missed(missed)),
                Err(RecvError::Closed) => return,
            },
            state = sources.recv() => match state {
                Ok(state) => Some(Change::Source(state)),
                Err(RecvError::Lagged(missed)) => Some(Change::Missed(missed)),
                Err(RecvError::Closed) => return,
            },
        };
        if let Some(change) = change {
            // An error only says that nobody listens.
            let _ = changes.send(change);
        }
    }
}

/// Tells of limits of what models may cost, the owner too where they do not read it anyway, until it is dropped.
async fn tell_of_limits(
    mut notices: broadcast::Receiver<CostNotice>,
    agent: Weak<Agent>,
    changes: broadcast::Sender<Change>,
) {
    loop {
        let notice = match notices.recv().await {
            Ok(notice) => notice,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        if let Some(agent) = agent.upgrade().filter(|_| !notice.answered) {
            agent.tell_owner("limit", notice.text.clone());
        }
        // An error only says that nobody listens.
        let _ = changes.send(Change::Cost(notice));
    }
}

#[async_trait]
impl homeagent_gateway::Keeper for Keeper {
    fn live(&self) -> Option<Arc<Live>> {
        self.inner.state().present.as_ref().map(|present| Arc::clone(&present.live))
    }

    fn phase(&self) -> Phase {
        let state = self.inner.state();
        state.present.as_ref().map_or(state.phase, |present| present.agent.status().state)
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.inner.changes.subscribe()
    }

    async fn start(&self) -> Result<(), String> {
        Keeper::start(self).await.map_err(|error| error.to_string())
    }

    async fn stop(&self) {
        Keeper::stop(self).await;
    }
}

#[cfg(test)]
mod tests {
    use homeagent_gateway::Keeper as _;

    use super::*;

    #[tokio::test]
    async fn a_start_that_panics_leaves_an_agent_that_is_stopped() {
        let home = tempfile::tempdir().expect("a folder");
        let stores = Stores::open(home.path()).expect("new stores");
        let embedders = Arc::new(stores.embedders(home.path()));
        let knowing = Knowing::open(home.path(), &stores, embedders.current()).expect("a new memory");
        let keeper = Keeper::new(home.path().to_owned(), None, stores, knowing, embedders);
        let starts = keeper.clone();
        let (tell, told) = tokio::sync::oneshot::channel();
        let start = tokio::spawn(async move {
            let _starting = Starting::begin(&starts.inner);
            tell.send(starts.phase()).expect("somebody listens");
            panic!("as a part might");
        });
        assert_eq!(told.await.expect("it was told"), Phase::Start);
        start.await.expect_err("it panics");
        assert_eq!(keeper.phase(), Phase::Stopped);
    }
}
