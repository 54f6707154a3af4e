//! The tools by which the model asks the graph, tells it things, and mends it.

mod arguments;
mod changing;
mod definitions;
mod following;
mod people;
mod reading;
mod telling;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use homeagent_types::ports::Toolbox;
use homeagent_types::{CallError, Cause, ToolDefinition, ToolOutput, Viewer};
use serde_json::Value;

use crate::Audiences;
use crate::context::now_ms;
use crate::curated::{Curated, CuratedError};
use crate::graph::{Author, Graph, GraphError, NameVectors, Source};
use crate::known::KnownDocuments;
use crate::recollection::Recalled;
use crate::social::Social;

/// Finds passages for `memory_recall`: the one recall that everything uses.
#[async_trait]
pub trait Recaller: Send + Sync {
    /// The passages that answer a question best, of those that all who read what comes of `cause` may see.
    async fn passages(&self, text: &str, limit: usize, cause: &Cause) -> Result<Vec<Recalled>, CallError>;
}

/// The tools of the graph, of people, and of the list that is kept by hand.
pub struct GraphTools {
    inner: Arc<Inner>,
    recaller: OnceLock<Arc<dyn Recaller>>,
    names: OnceLock<NameVectors>,
}

/// What the blocking part of a call works on.
pub(crate) struct Inner {
    pub(crate) graph: Graph,
    pub(crate) social: Social,
    pub(crate) curated: Curated,
    pub(crate) audiences: Audiences,
    known: OnceLock<KnownDocuments>,
}

/// For whom a call is made.
pub(crate) struct Asked<'a> {
    pub(crate) cause: &'a Cause,
    pub(crate) viewer: Viewer,
    pub(crate) account: String,
    pub(crate) now_ms: i64,
}

impl GraphTools {
    /// Over the parts of one home.
    #[must_use]
    pub fn new(graph: Graph, curated: Curated, audiences: Audiences) -> Self {
        let social = Social::new(graph.clone());
        let inner = Arc::new(Inner { graph, social, curated, audiences, known: OnceLock::new() });
        Self { inner, recaller: OnceLock::new(), names: OnceLock::new() }
    }

    /// Has `memory_recall` find passages too, from now on.
    pub fn set_recaller(&self, recaller: Arc<dyn Recaller>) {
        // The first one given stays; there is one recall in a home.
        let _ = self.recaller.set(recaller);
    }

    /// Has the documents follow that tell what is known, from now on.
    pub fn set_known(&self, known: KnownDocuments) {
        // As above.
        let _ = self.inner.known.set(known);
    }

    /// Has `memory_recall` find entities by the meaning of their names too, from now on.
    pub fn set_names(&self, names: NameVectors) {
        // As above.
        let _ = self.names.set(names);
    }
}

#[async_trait]
impl Toolbox for GraphTools {
    fn name(&self) -> &str {
        "memory"
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        definitions::all()
    }

    async fn call(&self, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        if name == definitions::RECALL {
            return self.recall(&arguments, cause).await;
        }
        let (inner, name, cause) = (self.inner.clone(), name.to_owned(), cause.clone());
        let work = move || inner.run(&name, &arguments, &cause);
        tokio::task::spawn_blocking(work).await.map_err(|_| CallError::Retryable)?
    }
}

impl Inner {
    fn run(&self, name: &str, arguments: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let asked = self.asked(cause);
        let touched = self.touched(name, arguments, &asked);
        self.followed(touched, || self.call(name, arguments, &asked))
    }

    fn call(&self, name: &str, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        match name {
            definitions::COMMIT => self.commit(arguments, asked),
            definitions::MERGE => self.merge(arguments, asked),
            definitions::PURGE => self.purge(arguments, asked),
            definitions::EDIT => self.edit(arguments, asked),
            definitions::DELETE_ENTITY => self.delete_entity(arguments, asked),
            definitions::INTROSPECT => self.introspect(arguments, asked),
            definitions::PERSON_QUERY => self.person_query(arguments, asked),
            definitions::PERSON_SET_TRAIT => self.person_set_trait(arguments, asked),
            definitions::PERSON_RELATE => self.person_relate(arguments, asked),
            definitions::CURATED_ADD => self.curated_add(arguments, asked),
            definitions::CURATED_REMOVE => self.curated_remove(arguments, asked),
            other => Err(CallError::NotFound(format!("the memory has no tool {other}"))),
        }
    }

    pub(crate) fn asked<'a>(&self, cause: &'a Cause) -> Asked<'a> {
        Asked { cause, viewer: self.audiences.viewer_of(cause), account: cause.principal.to_string(), now_ms: now_ms() }
    }
}

impl Asked<'_> {
    pub(crate) fn author(&self) -> Author<'_> {
        Author { actor: &self.account, audience: &self.cause.audience, viewer: &self.viewer, at_ms: self.now_ms }
    }

    /// Where that comes from which is told by a call.
    pub(crate) fn source(&self) -> Source {
        Source {
            audience: self.cause.audience.clone(),
            speaker: Some(self.cause.principal.clone()),
            origin: format!("run:{}", self.cause.run.as_deref().unwrap_or("none")),
            at_ms: self.now_ms,
            undoable: true,
        }
    }
}

/// An error as the model gets to read it.
impl From<GraphError> for CallError {
    fn from(error: GraphError) -> Self {
        let text = error.to_string();
        match error {
            GraphError::NoEntity(_) | GraphError::NoRelation(_) | GraphError::NoChange(_) => Self::NotFound(text),
            GraphError::AlreadyUndone(_) | GraphError::Deleted(_) => Self::Conflict(text),
            GraphError::Database(_) => Self::NotStored(text),
            GraphError::Ambiguous { .. } | GraphError::Invalid(_) | GraphError::Refused(_) => Self::Invalid(text),
        }
    }
}

impl From<CuratedError> for CallError {
    fn from(error: CuratedError) -> Self {
        let text = error.to_string();
        match error {
            CuratedError::Length(_) | CuratedError::Known => Self::Invalid(text),
            CuratedError::Unknown => Self::NotFound(text),
            CuratedError::Full | CuratedError::NoText(_) => Self::Conflict(text),
            CuratedError::File { .. } => Self::NotStored(text),
        }
    }
}
