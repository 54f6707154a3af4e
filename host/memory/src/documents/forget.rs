//! Forgetting in documents: some go, some are written anew without the words.

use std::io;

use super::document::Document;
use super::store::{DocumentError, Documents};
use crate::durable;
use crate::vectors::Kind;

/// What becomes of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    /// It stays as it is.
    Stays,
    /// This takes its place.
    Becomes(Box<Document>),
    /// It goes.
    Goes,
}

impl Documents {
    /// Decides on each document's file. Files that are none that can be read, such as those that were set aside, go where
    /// `is_to_go` says so of their bytes. Returns the documents that went or are others now; in a dry run those that would.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer; asking again does the rest.
    pub(crate) fn decide(
        &self,
        fate: &dyn Fn(Document) -> Fate,
        is_to_go: &dyn Fn(&str) -> bool,
        dry_run: bool,
    ) -> Result<Vec<String>, DocumentError> {
        let failed = |source| DocumentError::File { path: self.folder().to_owned(), doing: "looking for", source };
        let files = match std::fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut decided = Vec::new();
        for file in files {
            let path = file.map_err(failed)?.path();
            let id = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
            let document = id.and_then(|id| Document::read(&path).ok().map(|document| (id, document)));
            match document {
                Some((id, document)) => match fate(Document { id: id.to_owned(), ..document }) {
                    Fate::Stays => {}
                    Fate::Becomes(other) => {
                        if !dry_run {
                            self.replace(&other)?;
                        }
                        decided.push(id.to_owned());
                    }
                    Fate::Goes => {
                        if !dry_run {
                            self.remove(id)?;
                        }
                        decided.push(id.to_owned());
                    }
                },
                None if path.extension().is_some_and(|ending| ending == "vec") => {}
                None => {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    if !dry_run && is_to_go(&String::from_utf8_lossy(&bytes)) {
                        durable::remove(&path).map_err(|source| DocumentError::File {
                            path: path.clone(),
                            doing: "removing",
                            source,
                        })?;
                    }
                }
            }
        }
        if dry_run {
            return Ok(decided);
        }
        self.write("tidying the documents' index", |connection| {
            connection.execute("INSERT INTO document_terms (document_terms) VALUES ('optimize')", []).map(drop)
        })?;
        Ok(decided)
    }

    /// Puts a document into its own place. Its vector tells of what it said before, and is made anew.
    pub(crate) fn replace(&self, document: &Document) -> Result<(), DocumentError> {
        let before = self.listed(&document.id)?.map(|listed| listed.number);
        self.put(document, None)?;
        let after = self.listed(&document.id)?.map(|listed| listed.number);
        let numbers: Vec<i64> = before.into_iter().chain(after).collect();
        self.vectors().remove(Kind::Document, &numbers)?;
        let path = self.vector_path(&document.id);
        durable::remove(&path).map_err(|source| DocumentError::File { path, doing: "removing", source })?;
        self.changed().notify_one();
        Ok(())
    }
}
