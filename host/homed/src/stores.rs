//! The stores in `homeagent.db`, which stay open from the daemon's start to its end.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use homeagent_journal::Journal;
use homeagent_media::Store;
use homeagent_models::LocalModels;
use homeagent_network::Network;
use homeagent_providers::Costs;
use homeagent_settings::{
    Bindings, Database, Grants, Ledger, PluginData, Prices, Secrets, Settings, Sources, Spending,
};
use homeagent_types::CallError;
use homeagent_types::ports::{Forgets, Renamed};

use crate::daemon::StartError;

/// What is kept. Clones share it.
#[derive(Clone)]
pub(crate) struct Stores {
    database: Database,
    pub(crate) settings: Settings,
    pub(crate) secrets: Secrets,
    pub(crate) sources: Sources,
    pub(crate) bindings: Bindings,
    pub(crate) grants: Grants,
    pub(crate) data: PluginData,
    pub(crate) spending: Spending,
    pub(crate) costs: Costs,
    ledger: Ledger,
    pub(crate) journal: Journal,
    pub(crate) media: Store,
}

impl Stores {
    pub(crate) fn open(home: &Path) -> Result<Self, StartError> {
        let database = Database::open(home.join("homeagent.db"))?;
        let secrets = Secrets::open(&database, home)?;
        let settings = Settings::open(&database, &secrets)?;
        let media = Store::open(homeagent_media::Parts {
            home: home.to_owned(),
            settings: settings.clone(),
            // Without the system's certificates the agent does not start, and says so.
            network: Network::system().ok(),
            clock: Arc::new(homeagent_types::now),
        });
        let (ledger, prices) = (Ledger::open(&database)?, Prices::open(&database)?);
        Ok(Self {
            costs: Costs::new(ledger.clone(), prices, settings.clone(), Arc::new(homeagent_types::now)),
            ledger,
            settings,
            sources: Sources::open(&database)?,
            bindings: Bindings::open(&database)?,
            grants: Grants::open(&database)?,
            data: PluginData::open(&database)?,
            spending: Spending::open(&database)?,
            journal: Journal::open(&database)?,
            media: media.map_err(|source| StartError::Media { source })?,
            secrets,
            database,
        })
    }

    /// The embedding models, the best of which is loaded in the background from now on.
    pub(crate) fn embedders(&self, home: &Path) -> LocalModels {
        LocalModels::start(homeagent_models::Parts {
            home: home.to_owned(),
            settings: self.settings.clone(),
            sources: self.sources.clone(),
            // As for media.
            network: Network::system().ok(),
        })
    }

    /// Logs what was found while they were opened, when there was no log yet.
    pub(crate) fn log_remarks(&self) {
        for remark in self.database.take_remarks() {
            tracing::warn!("{remark}");
        }
    }

    /// Looks through the database for damage and logs what there is, on a thread of its own: it may take seconds, and
    /// what is whole is served meanwhile.
    pub(crate) fn look_for_damage(&self) {
        let database = self.database.clone();
        let look = move || match database.damage() {
            Ok(findings) => findings.iter().for_each(|finding| tracing::error!("{finding}")),
            Err(error) => tracing::error!("{error}"),
        };
        if let Err(error) = std::thread::Builder::new().name("damage".to_owned()).spawn(look) {
            tracing::warn!(%error, "the database could not be looked through for damage");
        }
    }
}

#[async_trait]
impl Forgets for Stores {
    async fn rename(&self, renamed: Renamed) -> Result<(), CallError> {
        let ledger = self.ledger.clone();
        let done = tokio::task::spawn_blocking(move || ledger.rename(&*renamed)).await;
        match done {
            Ok(done) => done.map_err(|error| CallError::NotStored(error.to_string())),
            Err(error) => Err(CallError::Other(error.to_string())),
        }
    }

    async fn remove_media(&self, addresses: Vec<String>) -> Result<(), CallError> {
        // One that can't be found is not there.
        for address in addresses.iter().filter_map(|address| self.media.find(address).ok()) {
            self.media.remove(address).await.map_err(|error| CallError::NotStored(error.to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn media_that_are_forgotten_are_gone_and_others_stay() {
        let home = tempfile::tempdir().expect("a folder");
        let stores = Stores::open(home.path()).expect("new stores");
        let keep = |bytes: &[u8]| stores.media.put(bytes.to_vec(), "text/plain");
        let (gone, kept) = (keep(b"gone").await.expect("kept"), keep(b"kept").await.expect("kept"));
        let addresses = vec![gone.address.short(), "0123456789abcdef".to_owned()];
        stores.remove_media(addresses).await.expect("removed, or not there");
        assert!(stores.media.get(gone.address).await.is_err());
        assert_eq!(&*stores.media.get(kept.address).await.expect("there").bytes, b"kept");
    }
}
