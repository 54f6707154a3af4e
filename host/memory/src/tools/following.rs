//! What is mended in the graph is mended in the documents that tell of it.

use homeagent_types::CallError;
use serde_json::Value;

use super::arguments::{number, text};
use super::{Asked, Inner, definitions};
use crate::known::KnownError;

/// What a call may change.
pub(super) enum Touched {
    /// What is known of these entities.
    Some(Vec<i64>),
    /// Anything.
    All,
}

impl Inner {
    /// What a call mends, read before it is made: afterwards it may be gone. None: it only adds, or reads.
    pub(super) fn touched(&self, name: &str, arguments: &Value, asked: &Asked<'_>) -> Option<Touched> {
        self.known.get()?;
        let mends = [definitions::MERGE, definitions::PURGE, definitions::EDIT, definitions::DELETE_ENTITY];
        if !mends.contains(&name) {
            return None;
        }
        if number(arguments, "undo").is_some() {
            return Some(Touched::All);
        }
        let listed = arguments.get("relations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let relations = listed.iter().filter_map(Value::as_i64).chain(number(arguments, "relation"));
        let found = relations.filter_map(|id| self.graph.relation(id, &asked.viewer).ok());
        let mut entities: Vec<i64> =
            found.flat_map(|relation| [Some(relation.subject.0), relation.object_entity]).flatten().collect();
        let named = ["entity", "from", "into"].into_iter().filter_map(|name| text(arguments, name));
        entities.extend(named.filter_map(|name| self.entity(name, asked).ok()));
        Some(Touched::Some(entities))
    }

    /// Makes a call, and has the documents follow what it mends.
    pub(super) fn followed<T>(
        &self,
        touched: Option<Touched>,
        call: impl FnOnce() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let (Some(touched), Some(known)) = (touched, self.known.get()) else { return call() };
        let done = known.following(
            || call().map_err(Stopped::Call),
            |known| match &touched {
                Touched::Some(entities) => known.changed(entities),
                Touched::All => known.anything_changed(),
            },
        );
        done.map_err(|stopped| match stopped {
            Stopped::Call(error) => error,
            Stopped::Known(error) => CallError::NotStored(error.to_string()),
        })
    }
}

/// Where it came to an end.
enum Stopped {
    Call(CallError),
    Known(KnownError),
}

impl From<KnownError> for Stopped {
    fn from(error: KnownError) -> Self {
        Self::Known(error)
    }
}
