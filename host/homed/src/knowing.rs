//! What the agent knows beside what is being said: its memory, and the knowledge base. Both stay open from the daemon's start
//! to its end.

use std::path::Path;
use std::sync::Arc;

use homeagent_agent::Agent;
use homeagent_knowledge::Knowledge;
use homeagent_language::embed::CurrentEmbedder;
use homeagent_memory::Memory;
use homeagent_types::ports::{Adviser, KnowledgeAdmin, Toolbox};

use crate::daemon::StartError;
use crate::stores::Stores;

/// Clones share it.
#[derive(Clone)]
pub(crate) struct Knowing {
    pub(crate) memory: Arc<Memory>,
    /// None where it could not be opened: its files are the owner's, and the agent lives without them.
    pub(crate) knowledge: Option<Arc<Knowledge>>,
}

impl Knowing {
    /// Opens both. To be called inside a runtime.
    pub(crate) fn open(home: &Path, stores: &Stores, embedder: CurrentEmbedder) -> Result<Self, StartError> {
        let memory = Memory::open(homeagent_memory::Parts {
            home: home.to_owned(),
            journal: stores.journal.clone(),
            settings: stores.settings.clone(),
            bindings: stores.bindings.clone(),
            embedder: embedder.clone(),
            elsewhere: Some(Arc::new(stores.clone())),
            plugin_values: Some(stores.data.keys.clone()),
        })?;
        let parts = homeagent_knowledge::Parts { home: home.to_owned(), settings: stores.settings.clone(), embedder };
        let knowledge = Knowledge::open(parts)
            .inspect_err(|error| tracing::error!(%error, "the knowledge base can't be used"))
            .ok();
        Ok(Self { memory, knowledge })
    }

    /// The tools of both.
    pub(crate) fn toolboxes(&self) -> Vec<Arc<dyn Toolbox>> {
        let mut toolboxes = self.memory.toolboxes();
        toolboxes.extend(self.knowledge.clone().map(|knowledge| knowledge as Arc<dyn Toolbox>));
        toolboxes
    }

    /// The knowledge base, as the API sees it.
    pub(crate) fn knowledge(&self) -> Option<Arc<dyn KnowledgeAdmin>> {
        self.knowledge.clone().map(|knowledge| knowledge as Arc<dyn KnowledgeAdmin>)
    }

    /// From now on, the memory's own questions are asked by this agent, for as long as it lives.
    pub(crate) fn ask(&self, agent: &Arc<Agent>) {
        let adviser: Arc<dyn Adviser> = Arc::clone(agent) as _;
        self.memory.set_adviser(Arc::downgrade(&adviser));
    }

    /// Ends the work of both; what was begun is finished.
    pub(crate) async fn close(&self) {
        self.memory.close().await;
        if let Some(knowledge) = &self.knowledge {
            knowledge.close().await;
        }
    }
}
