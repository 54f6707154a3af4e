//! The folder of the documents against the list of them: what a person put there, took away, or restored from a backup.

use std::collections::HashSet;
use std::io;

use super::document::{Document, Kind};
use super::store::{DocumentError, Documents, is_content};
use crate::durable;

/// How many documents are listed in one transaction, and how large they may be together, in bytes.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 8 << 20;

/// What looking through the folder came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Files that were not listed, and are now.
    pub taken_up: usize,
    /// Files that can't be read, and were set aside.
    pub set_aside: usize,
    /// Documents whose files are gone.
    pub gone: usize,
}

impl Documents {
    /// Looks through the folder: lists what is not listed, and takes off the list what is gone. It reads the names of all
    /// files, but only those files that it does not know; for a thread of its own, after the start.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer.
    pub fn look_through(&self) -> Result<Looked, DocumentError> {
        let failed = |source| DocumentError::File { path: self.folder().to_owned(), doing: "looking for", source };
        // The list first: what is written while the folder is read is in neither, or in both.
        let mut listed = self.ids()?;
        let mut looked = Looked::default();
        let files = match std::fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound && listed.is_empty() => return Ok(looked),
            Err(error) => return Err(failed(error)),
        };
        let mut batch = Vec::new();
        for file in files {
            let name = file.map_err(failed)?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
            if listed.remove(id) || self.is_listed(id)? {
                continue;
            }
            batch.extend(self.take_up(id, &mut looked));
            if batch.len() >= BATCH || batch.iter().map(Document::bytes).sum::<usize>() >= BATCH_BYTES {
                self.list(&std::mem::take(&mut batch))?;
            }
        }
        self.list(&batch)?;
        for id in listed {
            // It may have been removed meanwhile as it should be, or be back.
            if !self.path(&id).exists() && self.read(&id).is_err() {
                looked.gone += 1;
            }
        }
        Ok(looked)
    }

    /// Reads a file that is not listed.
    fn take_up(&self, id: &str, looked: &mut Looked) -> Option<Document> {
        let path = self.path(id);
        match Document::read(&path) {
            // It tells of a graph that is not there any more; what this one knows is written anew.
            Ok(document) if document.kind == Kind::Known => {
                if let Err(error) = durable::remove(&path).and_then(|()| durable::remove(&self.vector_path(id))) {
                    tracing::warn!(%error, path = %path.display(), "a document of what was known can't be removed");
                }
            }
            // Its name is what it is read by.
            Ok(document) => {
                looked.taken_up += 1;
                return Some(Document { id: id.to_owned(), ..document });
            }
            Err(error) if is_content(&error) => {
                self.set_aside(&path, &error);
                looked.set_aside += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, path = %path.display(), "a document can't be read"),
        }
        None
    }

    /// The names of all that are listed.
    pub(crate) fn ids(&self) -> Result<HashSet<String>, DocumentError> {
        let ids = self.look("listing the documents", |connection| {
            let mut statement = connection.prepare("SELECT id FROM documents WHERE there = 1")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })?;
        Ok(ids)
    }

    /// Whether a document has a row, finished or not.
    fn is_listed(&self, id: &str) -> Result<bool, DocumentError> {
        Ok(self.look("looking up a document", |connection| {
            connection.prepare_cached("SELECT 1 FROM documents WHERE id = ?1")?.exists([id])
        })?)
    }
}
