//! What can go wrong with the graph.

use homeagent_settings::DatabaseError;

use super::model::Refusal;

/// An error of the graph; each says what whoever asked can do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// There is no such entity, or it may not be seen here.
    #[error("there is no entity {0} here; memory_introspect lists those there are")]
    NoEntity(String),
    /// More than one has this name.
    #[error("more than one is called \"{name}\": {candidates}; give the id")]
    Ambiguous {
        /// The name.
        name: String,
        /// The ids, and what tells them apart.
        candidates: String,
    },
    /// There is no such relation, or it may not be seen here.
    #[error("there is no relation {0} here")]
    NoRelation(i64),
    /// There is no such change, or it may not be undone from here.
    #[error("there is no change {0} that could be undone here")]
    NoChange(i64),
    /// It was undone before.
    #[error("change {0} has been undone already")]
    AlreadyUndone(i64),
    /// What it changed was deleted since.
    #[error("change {0} can't be undone: what it changed was deleted since")]
    Deleted(i64),
    /// It makes no sense; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// A claim was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The database failed; nothing was changed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// What ends a transaction early: an answer of SQLite, which gets its sentence where the file is known, or an error.
#[derive(Debug)]
pub(super) enum Stop {
    Sqlite(rusqlite::Error),
    Graph(GraphError),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<GraphError> for Stop {
    fn from(error: GraphError) -> Self {
        Self::Graph(error)
    }
}
