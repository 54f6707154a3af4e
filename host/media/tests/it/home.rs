//! A data folder with a store in it, and a clock that is set by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use homeagent_media::{Address, Parts, Store};
use homeagent_network::Network;
use homeagent_settings::{Database, Secrets, Settings};
use tempfile::TempDir;

pub(crate) const DAY: u64 = 24 * 3600 * 1000;

pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) folder: TempDir,
    clock: Arc<AtomicU64>,
    network: Option<Network>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(None)
    }

    pub(crate) fn with(network: Option<Network>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("homeagent.db")).expect("a database");
        let secrets = Secrets::open(&database, folder.path()).expect("secrets");
        let settings = Settings::open(&database, &secrets).expect("settings");
        let clock = Arc::new(AtomicU64::new(1_000 * DAY));
        let store = open(&folder, &settings, &clock, &network);
        Self { store, settings, folder, clock, network }
    }

    /// As after a start of the daemon.
    pub(crate) fn reopen(&mut self) {
        self.store = open(&self.folder, &self.settings, &self.clock, &self.network);
    }

    pub(crate) fn pass(&self, milliseconds: u64) {
        self.clock.fetch_add(milliseconds, Ordering::Relaxed);
    }

    pub(crate) fn path(&self, address: Address) -> std::path::PathBuf {
        let name = address.to_string();
        self.folder.path().join("media").join(&name[..2]).join(&name[2..])
    }

    pub(crate) async fn has(&self, address: Address) -> bool {
        self.store.list().await.expect("a list").iter().any(|listed| listed.address == address.to_string())
    }
}

fn open(folder: &TempDir, settings: &Settings, clock: &Arc<AtomicU64>, network: &Option<Network>) -> Store {
    let clock = Arc::clone(clock);
    Store::open(Parts {
        home: folder.path().to_owned(),
        settings: settings.clone(),
        network: network.clone(),
        clock: Arc::new(move || clock.load(Ordering::Relaxed)),
    })
    .expect("the store opens")
}
