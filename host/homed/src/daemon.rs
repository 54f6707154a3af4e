//! The parts of a running daemon.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_gateway::{Doors, Gateway};
use homeagent_journal::{Journal, JournalError};
use homeagent_providers::discovery::{Discovery, process_environment};
use homeagent_settings::{BindingError, DatabaseError, SecretsError, SettingsError, SourceError};
use tokio_util::task::AbortOnDropHandle;

use crate::keeper::{AgentError, Keeper};
use crate::knowing::Knowing;
use crate::lock::{HomeLock, LockError};
use crate::logging::Log;
use crate::meters::Meters;
use crate::monitor::Monitor;
use crate::stores::Stores;

/// Why the daemon does not start. Each is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nothing says where the data folder is.
    #[error("it is not known where your data folder is; say so with --home DIR or the variable HOMEAGENT_HOME")]
    NoHome,
    /// The data folder.
    #[error("the data folder {home} can't be used: {source}; choose another with --home DIR", home = home.display())]
    Home {
        /// The folder.
        home: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another daemon has the data folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The secrets.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The sources.
    #[error(transparent)]
    Sources(#[from] SourceError),
    /// Who has which role.
    #[error(transparent)]
    Bindings(#[from] BindingError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The memory.
    #[error("{0}; its file is memory.db in the data folder")]
    Memory(#[from] homeagent_memory::OpenError),
    /// The store of media.
    #[error("the folder media in the data folder can't be used: {source}; check that it belongs to you")]
    Media {
        /// What the operating system said.
        source: io::Error,
    },
    /// The agent, with its plugins and sources.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The API.
    #[error(transparent)]
    Gateway(#[from] homeagent_gateway::StartError),
}

/// A running daemon.
pub struct Daemon {
    gateway: Gateway,
    keeper: Keeper,
    knowing: Knowing,
    journal: Journal,
    discovery: Discovery,
    /// Removes media that are too old.
    _tidying: AbortOnDropHandle<()>,
    /// Ends after the parts that log.
    log: Log,
    /// Given back last.
    _lock: HomeLock,
}

/// How a daemon is started.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Where the API listens, in place of the setting `core.gateway.listen`.
    pub listen: Option<String>,
    /// Keeps the log away from the terminal.
    pub quiet: bool,
    /// The program that compiles components, called with `compile`: `homed` itself. Without one the daemon's own process
    /// does, and keeps the memory that takes.
    pub compiler: Option<PathBuf>,
}

impl Daemon {
    /// Starts every part, in the order in which they need each other.
    ///
    /// # Errors
    ///
    /// Sentences that say what to do.
    pub async fn start(home: &Path, launch: Launch) -> Result<Self, StartError> {
        let Launch { listen, quiet, compiler } = launch;
        // First: each part takes its counters when it is made.
        let meters = Meters::start();
        make_folder(home)?;
        let home = &fs::canonicalize(home).map_err(|source| StartError::Home { home: home.to_owned(), source })?;
        let lock = HomeLock::take(home)?;
        let stores = Stores::open(home)?;
        let log = Log::start(home, &stores.settings, &stores.secrets, quiet);
        tracing::info!(version = env!("CARGO_PKG_VERSION"), home = %home.display(), "starting");
        stores.log_remarks();
        let listen = match listen {
            Some(listen) => listen,
            None => stores.settings.text("core.gateway.listen")?,
        };
        // Before the agent takes up what the last stop left waiting: a port in use would cut that work off again.
        let doors = Doors::open(home, &listen).await?;
        let embedders = Arc::new(stores.embedders(home));
        let knowing = Knowing::open(home, &stores, embedders.current())?;
        let keeper = Keeper::new(home.clone(), compiler, stores.clone(), knowing.clone(), Arc::clone(&embedders));
        keeper.start().await?;
        let looked_at = stores.clone();
        let (journal, secrets) = (stores.journal.clone(), stores.secrets.clone());
        let discovery = Discovery::new(
            stores.settings.clone(),
            stores.secrets.clone(),
            stores.sources.clone(),
            process_environment,
        );
        let media = stores.media.clone();
        let tidying = AbortOnDropHandle::new(tokio::spawn(async move { media.keep_tidy().await }));
        let gateway = Gateway::serve(
            doors,
            homeagent_gateway::Parts {
                home: home.clone(),
                listen,
                settings: stores.settings,
                secrets: stores.secrets,
                sources: stores.sources,
                costs: stores.costs,
                bindings: stores.bindings,
                journal: stores.journal,
                media: stores.media,
                memory: Arc::clone(&knowing.memory) as _,
                models: embedders,
                keeper: Arc::new(keeper.clone()),
                monitor: Arc::new(Monitor::new(&log, meters, secrets)),
            },
        );
        looked_at.look_for_damage();
        Ok(Self { gateway, keeper, knowing, journal, discovery, _tidying: tidying, log, _lock: lock })
    }

    /// Where the API listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.gateway.addr()
    }

    /// Looks for a source where none is configured, and takes the only one into use. For a daemon whose owner is not there
    /// to be asked; takes a few seconds at most.
    pub async fn adopt_source(&self) {
        if let Err(error) = self.discovery.adopt().await {
            tracing::warn!(%error, "looking for a source failed; `waiter source offers` looks again");
        }
    }

    /// Stops in order: the agent first, so that whoever waits gets a result; the plugins when nobody needs them.
    pub async fn stop(mut self) {
        tracing::info!("stopping");
        self.keeper.rest().await;
        self.gateway.shutdown().await;
        self.keeper.stop().await;
        self.knowing.close().await;
        self.journal.close().await;
        self.log.finish_spans().await;
        tracing::info!("stopped");
    }
}

fn make_folder(home: &Path) -> Result<(), StartError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(home);
    made.map_err(|source| StartError::Home { home: home.to_owned(), source })
}
