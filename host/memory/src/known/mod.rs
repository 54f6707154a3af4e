//! What the graph knows, as documents that can be read and found like any: one for each entity of which something is said and
//! each audience that was told so.
//!
//! They are made of the graph alone and never distilled. Each is made of what its own audience was told, written anew only when
//! it says something else, and goes with what it holds. Which entities one speaks of stands in the database, so that a deletion
//! finds all that have to change.

mod table;
mod text;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_settings::{Database, DatabaseError};
use homeagent_types::{Audience, Viewer, now};

use crate::documents::{Document, DocumentError, Documents, Kind};
use crate::graph::{Graph, GraphError};
use table::Table;
use text::Told;

/// Relations that are told in one document at most, those told last.
const TOLD: u32 = 60;

/// Relations of the graph that are gone through in one piece of work, and documents that are looked at again.
const PIECE: u32 = 200;

/// So many documents there are at most; what comes later stays in the graph alone.
const MOST: u64 = 20_000;

/// The cursor that is 1 while documents owe a change of the graph.
const OWED: &str = "owed";

/// Why it could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnownError {
    /// What the graph answered.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// What the database answered.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// What the documents answered.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// Writes the documents. Clones share it; all methods block.
#[derive(Clone)]
pub struct KnownDocuments {
    graph: Graph,
    documents: Documents,
    table: Table,
    /// Held from reading the graph to writing what it says, and while something is forgotten.
    writing: Arc<Mutex<()>>,
    /// How many changes of the graph are under way that documents have to follow.
    owed: Arc<Mutex<usize>>,
}

impl KnownDocuments {
    /// Of a graph, among the documents of the same home.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database, graph: Graph, documents: Documents) -> Result<Self, DatabaseError> {
        Ok(Self { graph, documents, table: Table::open(database)?, writing: Arc::default(), owed: Arc::default() })
    }

    /// Goes on with what the graph was told since the last time, a piece of it; whether there is more.
    ///
    /// # Errors
    ///
    /// What the graph, the database and the file system answer; asking again goes on where it was.
    pub fn write_on(&self) -> Result<bool, KnownError> {
        let _writing = self.hold();
        let Some((entities, last)) = self.graph.told_after(self.table.cursor("relations")?, PIECE)? else {
            return Ok(false);
        };
        self.write(entities)?;
        self.table.advance("relations", last)?;
        Ok(true)
    }

    /// Looks at some of the documents again, in turn: what was merged, taken back or undone since.
    ///
    /// # Errors
    ///
    /// As for [`Self::write_on`].
    pub fn look_again(&self) -> Result<(), KnownError> {
        let _writing = self.hold();
        let after = self.table.cursor("again")?;
        let (entities, last) = self.table.entities_after(after, PIECE)?;
        self.write(entities)?;
        self.table.advance("again", last.unwrap_or(0))?;
        Ok(())
    }

    /// Something else is known of these entities now, or nothing any more: when this returns, no document says otherwise.
    ///
    /// # Errors
    ///
    /// As for [`Self::write_on`].
    pub fn changed(&self, entities: &[i64]) -> Result<(), KnownError> {
        let _writing = self.hold();
        let mut all: BTreeSet<i64> = entities.iter().copied().collect();
        for entity in entities {
            all.extend(self.table.speaking_of(*entity)?);
        }
        self.write(all)
    }

    /// Makes a change of the graph that documents have to follow, and has them follow it. Where a death or an error comes
    /// between, the next start looks at all of them.
    ///
    /// # Errors
    ///
    /// What `change` and `follow` answer, and the database.
    pub(crate) fn following<T, E: From<KnownError>>(
        &self,
        change: impl FnOnce() -> Result<T, E>,
        follow: impl FnOnce(&Self) -> Result<(), KnownError>,
    ) -> Result<T, E> {
        let owed = || self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut owed = owed();
            if *owed == 0 {
                self.table.advance(OWED, 1).map_err(KnownError::from)?;
            }
            *owed += 1;
        }
        let done = change().and_then(|answer| follow(self).map(|()| answer).map_err(E::from));
        let mut owed = owed();
        // A change that was not followed stays owed until the next start.
        *owed -= usize::from(done.is_ok());
        if *owed == 0 {
            self.table.advance(OWED, 0).map_err(KnownError::from)?;
        }
        done
    }

    /// Follows what the graph was changed by before a death.
    ///
    /// # Errors
    ///
    /// As for [`Self::write_on`].
    pub(crate) fn catch_up(&self) -> Result<(), KnownError> {
        if self.table.cursor(OWED)? == 0 {
            return Ok(());
        }
        self.anything_changed()?;
        let owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        if *owed == 0 {
            self.table.advance(OWED, 0)?;
        }
        Ok(())
    }

    /// Something else may be known of anything, as after an undoing: looks at all documents, and has the graph gone through
    /// again for what has none.
    ///
    /// # Errors
    ///
    /// As for [`Self::write_on`].
    pub fn anything_changed(&self) -> Result<(), KnownError> {
        let _writing = self.hold();
        let mut after = 0;
        while let (entities, Some(last)) = self.table.entities_after(after, PIECE)? {
            self.write(entities)?;
            after = last;
        }
        Ok(self.table.advance("relations", 0)?)
    }

    /// Keeps everybody from writing until what is returned is dropped.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all documents; they are written again from the beginning. `_held` is from [`Self::hold`].
    ///
    /// # Errors
    ///
    /// As for [`Self::write_on`].
    pub(crate) fn clear(&self, _held: &MutexGuard<'_, ()>) -> Result<(), KnownError> {
        for id in self.table.documents(None)? {
            self.documents.remove(&id)?;
            self.table.remove(&id)?;
        }
        self.table.advance("relations", 0)?;
        Ok(())
    }

    /// Goes through the whole graph again, from now on; what is there stays until then.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn begin_anew(&self) -> Result<(), KnownError> {
        let _writing = self.hold();
        Ok(self.table.advance("relations", 0)?)
    }

    /// Whether some of what the graph was told is not written yet.
    ///
    /// # Errors
    ///
    /// What the graph and the database answer.
    pub fn is_behind(&self) -> Result<bool, KnownError> {
        Ok(self.graph.told_after(self.table.cursor("relations")?, 1)?.is_some())
    }

    fn write(&self, entities: impl IntoIterator<Item = i64>) -> Result<(), KnownError> {
        let mut left: BTreeSet<i64> = entities.into_iter().collect();
        let mut done = BTreeSet::new();
        while let Some(entity) = left.pop_first() {
            if !done.insert(entity) {
                continue;
            }
            let audiences = self.graph.audiences_of(entity)?;
            let mut stale: BTreeSet<String> = self.table.documents(Some(entity))?.into_iter().collect();
            for audience in &audiences {
                let Some(told) = self.told(entity, audience)? else { continue };
                if told.entity != entity {
                    // It is one with another now, whose document tells of both.
                    left.insert(told.entity);
                    continue;
                }
                let id = table::name(entity, audience);
                stale.remove(&id);
                self.put(&id, audience, &told)?;
            }
            for id in stale {
                self.documents.remove(&id)?;
                self.table.remove(&id)?;
            }
        }
        Ok(())
    }

    /// What an audience was told of an entity; nothing where it is only named in what is said of others.
    fn told(&self, entity: i64, audience: &Audience) -> Result<Option<Told>, KnownError> {
        let viewer = Viewer::Only([audience.clone()].into());
        let known = match self.graph.entity(entity, &viewer) {
            Ok(known) => known,
            Err(GraphError::NoEntity(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let relations = self.graph.relations_of(known.id, TOLD, &viewer)?;
        let told = Told::new(&known, &relations);
        Ok(told.is_subject.then_some(told))
    }

    fn put(&self, id: &str, audience: &Audience, told: &Told) -> Result<(), KnownError> {
        let before = match self.documents.listed(id)? {
            Some(_) => self.documents.read(id).ok(),
            None if self.table.count()? >= MOST => return Ok(()),
            None => None,
        };
        let is_same = |document: &Document| {
            document.title.as_deref() == Some(&told.title)
                && document.text == told.text
                && document.foreign == told.foreign
                && document.kind == Kind::Known
        };
        let is_same = before.as_ref().is_some_and(is_same);
        if is_same && self.table.speaks_of(id)? == told.speaks_of {
            return Ok(());
        }
        // The row first: what is written is found again, whatever comes between.
        self.table.put(id, told.entity, &told.speaks_of)?;
        if is_same {
            return Ok(());
        }
        let now_ms = i64::try_from(now()).unwrap_or(i64::MAX);
        let mut document = Document::note(Some(told.title.clone()), told.text.clone(), String::new(), audience, now_ms);
        document.id = id.to_owned();
        document.kind = Kind::Known;
        document.foreign = told.foreign;
        (document.from_ms, document.to_ms) = told.times;
        if let Some(before) = before {
            (document.created_ms, document.reads, document.read_ms) = (before.created_ms, before.reads, before.read_ms);
        }
        self.documents.replace(&document)?;
        Ok(())
    }
}
