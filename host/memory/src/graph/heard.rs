//! Before whom each name was said, in memory: what a search by meaning asks of every name that is near enough.

use std::sync::{Arc, PoisonError, RwLock};

use homeagent_types::Viewer;
use rusqlite::Connection;

use super::seen::Seen;
use super::{Graph, GraphError};

/// The audience's id of each row of a name, at the row's number; 0 where there is none. Rows are only ever added behind the
/// last, and one that was deleted has no vector by which it could be found.
pub(super) type Heard = RwLock<Arc<Vec<u32>>>;

impl Graph {
    /// Whether a name's row may be seen: what a search for vectors is allowed to find. Reads the names that came since the
    /// last time.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn visible_names(&self, viewer: &Viewer) -> Result<impl Fn(i64) -> bool + use<>, GraphError> {
        let seen = self.seen(viewer);
        let heard = if seen == Seen::All { Arc::default() } else { self.heard()? };
        Ok(move |row| {
            let audience = || usize::try_from(row).ok().and_then(|row| heard.get(row)).copied().unwrap_or_default();
            seen == Seen::All || seen.holds(i64::from(audience()))
        })
    }

    fn heard(&self) -> Result<Arc<Vec<u32>>, GraphError> {
        let mut heard = self.shared.heard.write().unwrap_or_else(PoisonError::into_inner);
        let after = i64::try_from(heard.len()).unwrap_or(i64::MAX).saturating_sub(1);
        let more = self.read("reading who heard which name", |connection| Ok(said_after(connection, after)?))?;
        if !more.is_empty() {
            let heard = Arc::make_mut(&mut heard);
            for (row, audience) in more {
                let row = usize::try_from(row).unwrap_or_default();
                heard.resize(row.max(heard.len()), 0);
                heard.push(audience);
            }
        }
        Ok(heard.clone())
    }

    /// Forgets them, before other rows take their numbers.
    pub(super) fn clear_heard(&self) {
        *self.shared.heard.write().unwrap_or_else(PoisonError::into_inner) = Arc::default();
    }
}

/// Rows of names with a number above `after`, in their order, with their audiences.
fn said_after(connection: &Connection, after: i64) -> rusqlite::Result<Vec<(i64, u32)>> {
    let mut statement =
        connection.prepare_cached("SELECT id, audience FROM names NOT INDEXED WHERE id > ?1 ORDER BY id")?;
    statement.query_map([after], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
