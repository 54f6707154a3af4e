//! What every request handler gets.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use homeagent_journal::Journal;
use homeagent_media::Store;
use homeagent_providers::Costs;
use homeagent_settings::{Bindings, Secrets, Settings, Sources};
use homeagent_types::ports::{EmbeddingModels, MemoryAdmin};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Problem;
use crate::connections::AllConnections;
use crate::ports::{Keeper, Live, Monitor};
use crate::token::Token;

/// The parts of the daemon that the gateway shows.
pub struct Parts {
    /// The data folder. It has to exist.
    pub home: PathBuf,
    /// Where to listen, `HOST:PORT`; port 0 takes any that is free.
    pub listen: String,
    /// The settings.
    pub settings: Settings,
    /// The secrets.
    pub secrets: Secrets,
    /// The configured sources.
    pub sources: Sources,
    /// What models cost.
    pub costs: Costs,
    /// Who has which role.
    pub bindings: Bindings,
    /// The journal.
    pub journal: Journal,
    /// What people, tools and models handed over.
    pub media: Store,
    /// What was said and done before.
    pub memory: Arc<dyn MemoryAdmin>,
    /// The models that make vectors.
    pub models: Arc<dyn EmbeddingModels>,
    /// The agent, and what lives as long as it does.
    pub keeper: Arc<dyn Keeper>,
    /// What the daemon knows of itself.
    pub monitor: Arc<dyn Monitor>,
}

/// [`Parts`] at work.
pub(crate) struct Core {
    pub(crate) parts: Parts,
    pub(crate) token: Token,
    /// Where the TCP side listens.
    pub(crate) addr: SocketAddr,
    pub(crate) started: Instant,
    pub(crate) connections: AllConnections,
    /// Cancelled when the gateway is told to stop.
    pub(crate) stopping: CancellationToken,
    /// Whoever has a token of it is waited for when the gateway stops.
    pub(crate) tasks: TaskTracker,
}

pub(crate) type Shared = Arc<Core>;

impl Core {
    /// What lives as long as the agent.
    ///
    /// # Errors
    ///
    /// The agent is stopped.
    pub(crate) fn live(&self) -> Result<Arc<Live>, Problem> {
        self.parts.keeper.live().ok_or_else(Problem::agent_stopped)
    }
}

/// Runs work that waits for the disk where it holds up nobody.
pub(crate) async fn on_disk<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, Problem>
where
    T: Send + 'static,
    E: Into<Problem> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Problem::internal("the work ended without an answer; the log says more")),
    }
}
