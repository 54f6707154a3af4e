//! The parts of a running daemon.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_agent::Agent;
use homeagent_gateway::{Doors, Gateway};
use homeagent_journal::{Journal, JournalError};
use homeagent_providers::{Policy, Providers};
use homeagent_runtime::{Bundled, Runtime, RuntimeError};
use homeagent_settings::{
    BindingError, Bindings, Database, DatabaseError, Grants, Secrets, SecretsError, Settings, SettingsError,
    SourceError, Sources,
};
use homeagent_types::ports::Mind;

use crate::lock::{HomeLock, LockError};
use crate::logging;

/// Why the daemon does not start. Each is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum StartError {
    #[error("it is not known where your data folder is; say so with --home DIR or the variable HOMEAGENT_HOME")]
    NoHome,
    #[error("the data folder {home} can't be used: {source}; choose another with --home DIR", home = home.display())]
    Home { home: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Sources(#[from] SourceError),
    #[error(transparent)]
    Bindings(#[from] BindingError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Providers(#[from] homeagent_providers::transport::TransportError),
    #[error(transparent)]
    Agent(#[from] homeagent_agent::StartError),
    #[error(transparent)]
    Gateway(#[from] homeagent_gateway::StartError),
}

/// A running daemon.
pub(crate) struct Daemon {
    gateway: Gateway,
    agent: Arc<Agent>,
    runtime: Runtime,
    journal: Journal,
    /// Given back last.
    _lock: HomeLock,
}

/// The stores in `homeagent.db`.
struct Stores {
    settings: Settings,
    secrets: Secrets,
    sources: Sources,
    bindings: Bindings,
    grants: Grants,
    journal: Journal,
}

impl Stores {
    fn open(home: &Path) -> Result<Self, StartError> {
        let database = Database::open(home.join("homeagent.db"))?;
        let secrets = Secrets::open(&database, home)?;
        Ok(Self {
            settings: Settings::open(&database, &secrets)?,
            sources: Sources::open(&database)?,
            bindings: Bindings::open(&database)?,
            grants: Grants::open(&database)?,
            journal: Journal::open(&database)?,
            secrets,
        })
    }
}

impl Daemon {
    /// Starts every part, in the order in which they need each other. `quiet` keeps the log away from the terminal.
    pub(crate) async fn start(home: &Path, listen: Option<String>, quiet: bool) -> Result<Self, StartError> {
        make_folder(home)?;
        let home = &fs::canonicalize(home).map_err(|source| StartError::Home { home: home.to_owned(), source })?;
        let lock = HomeLock::take(home)?;
        let stores = Stores::open(home)?;
        let level = stores.settings.text("core.log.level").unwrap_or_else(|_| "info".to_owned());
        logging::start(home, &level, quiet);
        tracing::info!(version = env!("CARGO_PKG_VERSION"), home = %home.display(), "starting");
        let Stores { settings, secrets, sources, bindings, grants, journal } = stores;
        let listen = match listen {
            Some(listen) => listen,
            None => settings.text("core.gateway.listen")?,
        };
        // Before the agent takes up what the last stop left waiting: a port in use would cut that work off again.
        let doors = Doors::open(home, &listen).await?;
        let runtime = Runtime::new(homeagent_runtime::Parts {
            settings: settings.clone(),
            grants,
            secrets: secrets.clone(),
            bundled: homeagent_bundle::packages()
                .map(|package| Bundled { manifest: package.manifest, component: package.component })
                .collect(),
            plugins: home.join("plugins"),
            cache: home.join("cache"),
        })?;
        let adapters = runtime.adapters();
        let providers = Arc::new(Providers::new(
            settings.clone(),
            secrets.clone(),
            sources.clone(),
            Arc::clone(&adapters),
            Policy::default(),
        )?);
        // Plugins first, so that inputs the last stop left waiting find what answers them; what plugins submit before
        // there is an agent is answered with not-live.
        runtime.load_all().await;
        let agent = Agent::start(homeagent_agent::Parts {
            journal: journal.clone(),
            settings: settings.clone(),
            bindings,
            plugins: Arc::new(runtime.clone()),
            models: Arc::clone(&providers) as _,
            home: home.clone(),
        })
        .await?;
        let mind: Arc<dyn Mind> = Arc::clone(&agent) as _;
        runtime.bind(Arc::downgrade(&mind));
        let parts = homeagent_gateway::Parts {
            home: home.clone(),
            listen,
            settings,
            secrets,
            sources,
            journal: journal.clone(),
            turns: Arc::clone(&agent) as _,
            providers,
            plugins: Arc::new(runtime.clone()),
            adapters,
            listeners: Arc::new(runtime.clone()),
        };
        let gateway = Gateway::serve(doors, parts);
        Ok(Self { gateway, agent, runtime, journal, _lock: lock })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.addr()
    }

    /// Stops in order: the agent first, so that whoever waits gets a result; the plugins when nobody needs them.
    pub(crate) async fn stop(self) {
        tracing::info!("stopping");
        self.agent.shutdown().await;
        self.gateway.shutdown().await;
        self.runtime.shutdown().await;
        self.journal.close().await;
        tracing::info!("stopped");
    }
}

fn make_folder(home: &Path) -> Result<(), StartError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(home);
    made.map_err(|source| StartError::Home { home: home.to_owned(), source })
}
