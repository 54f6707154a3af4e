//! The documents: their files, and what is known of them without reading those.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use homeagent_language::text::index_terms;
use homeagent_settings::{Database, DatabaseError};
use homeagent_types::Audience;
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::Notify;

use super::document::{Consumed, Document};
use super::table::{self, COLUMNS, Listed, MIGRATIONS};
use super::vectorise::DocumentVector;
use crate::context::Entry;
use crate::durable;
use crate::index::{Index, PassageKind};
use crate::vectors::{Kind, Vectors};

/// The most of a document's text by which it is found, in characters.
const MOST_TEXT: usize = 40_000;

/// Why something was not done with documents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// What the database answered.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// What the file system answered.
    #[error("{doing} the document {path} failed: {source}; what was to go into it stays where it was", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was being done to it.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is none of that name.
    #[error("there is no document {0}")]
    Missing(String),
}

/// The documents. Clones share them. All methods block on the disk: call them from a thread that may.
#[derive(Clone)]
pub struct Documents {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    database: Database,
    vectors: Vectors,
    /// What is written down is found there, too.
    index: OnceLock<Index>,
    /// Told when there are documents without a vector.
    changed: Notify,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    /// Held while a file is written: two who write one would meet beside it.
    files: Mutex<()>,
}

impl Documents {
    /// Opens the documents of a home folder, whose rows and `vectors` are in `database` (`memory.db`). Writes that were cut off are
    /// finished or taken back; the folder itself is looked through later, by [`Documents::look_through`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(home: &Path, database: &Database, vectors: &Vectors) -> Result<Self, DatabaseError> {
        database.migrate("documents", MIGRATIONS)?;
        let shared = Shared {
            folder: home.join("documents"),
            database: database.clone(),
            vectors: vectors.clone(),
            index: OnceLock::new(),
            changed: Notify::new(),
            writer: Mutex::new(database.writer()?),
            reader: Mutex::new(database.reader()?),
            files: Mutex::default(),
        };
        let documents = Self { shared: Arc::new(shared) };
        documents.finish_writes()?;
        Ok(documents)
    }

    /// The file of a document.
    #[must_use]
    pub fn path(&self, id: &str) -> PathBuf {
        self.shared.folder.join(format!("{id}.json"))
    }

    pub(crate) fn vector_path(&self, id: &str) -> PathBuf {
        self.shared.folder.join(format!("{id}.vec"))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Keeps exchanges that left a window. When this returns they are on the disk; when it fails, none of the documents
    /// that it could not write is listed, and the exchanges stay with the caller.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer.
    pub fn archive(
        &self,
        exchanges: Vec<Vec<Entry>>,
        vector: impl Fn(&Document) -> Option<DocumentVector>,
        now_ms: i64,
    ) -> Result<Vec<String>, DocumentError> {
        let mut kept = Vec::new();
        for document in Document::of_exchanges(exchanges, now_ms) {
            self.put(&document, vector(&document).as_ref())?;
            kept.push(document.id);
        }
        Ok(kept)
    }

    /// Puts a document there, or a new text in the place of one of that name.
    ///
    /// # Errors
    ///
    /// As for [`Documents::archive`].
    pub fn put(&self, document: &Document, vector: Option<&DocumentVector>) -> Result<(), DocumentError> {
        let terms = terms_of(document);
        // The row first, as unfinished: a start after a kill looks at those alone and not through the whole folder.
        let (number, before) =
            self.write("listing a document", |connection| table::insert(connection, document, &terms, false))?;
        self.vectors().drop_from_cache(Kind::Document, &[number]);
        self.vectors().drop_from_cache(Kind::Document, before.as_slice());
        let path = self.path(&document.id);
        let written = durable::folder(&self.shared.folder).and_then(|()| {
            let _one_at_a_time = self.files();
            document.write(&path)
        });
        if let Err(source) = written {
            // Where another text was there, it still is.
            self.finish_write(&document.id)?;
            return Err(DocumentError::File { path, doing: "writing", source });
        }
        let listed = self.write("listing a document", |connection| {
            connection.prepare_cached("UPDATE documents SET there = 1 WHERE id = ?1")?.execute([&document.id]).map(drop)
        });
        if let Err(error) = listed {
            if before.is_none() {
                // Whoever is told that it was not kept puts it somewhere else, or says it again: it is not to be there twice.
                let _ = durable::remove(&path);
            }
            return Err(error.into());
        }
        self.offer(std::slice::from_ref(document));
        let kept = vector.map_or(Ok(()), |vector| self.keep_vector(&document.id, number, vector));
        if let Err(error) = kept {
            tracing::debug!(%error, document = document.id, "a document's vector is made anew");
        }
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Reads a document. One whose file is damaged is set aside, said, and listed no longer; one whose file is gone is
    /// listed no longer.
    ///
    /// # Errors
    ///
    /// [`DocumentError::Missing`] in both cases; what the file system answers otherwise.
    pub fn read(&self, id: &str) -> Result<Document, DocumentError> {
        let path = self.path(id);
        match Document::read(&path) {
            Ok(document) => return Ok(document),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if is_content(&error) => self.set_aside(&path, &error),
            Err(source) => return Err(DocumentError::File { path, doing: "reading", source }),
        }
        self.unlist(id)?;
        Err(DocumentError::Missing(id.to_owned()))
    }

    pub(crate) fn set_aside(&self, path: &Path, error: &io::Error) {
        match durable::set_aside(path) {
            Ok(aside) => {
                tracing::warn!(%error, path = %aside.display(), "a document is damaged and set aside; mend it and take \
                    the .damaged off its name, or remove it");
            }
            Err(refused) => tracing::warn!(%error, %refused, path = %path.display(), "a document is damaged"),
        }
    }

    /// Which of these exchanges, by the ids of their first messages, are in a document.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn holding<'a>(&self, heads: impl IntoIterator<Item = &'a str>) -> Result<HashSet<String>, DatabaseError> {
        let heads: Vec<&str> = heads.into_iter().collect();
        self.look("looking up exchanges", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT 1 FROM document_heads JOIN documents USING (number) WHERE head = ?1 AND there = 1",
            )?;
            let mut held = HashSet::new();
            for head in heads {
                if statement.exists([head])? {
                    held.insert(head.to_owned());
                }
            }
            Ok(held)
        })
    }

    /// Marks a document as taken back into a conversation by a run. Its file stays until [`Documents::settle`]. False:
    /// another has taken it meanwhile.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer.
    pub fn consume(&self, document: &mut Document, consumed: Consumed) -> Result<bool, DocumentError> {
        let mark = &consumed;
        let marked = self.write("marking a document as taken back", |connection| {
            connection
                .prepare_cached(
                    "UPDATE documents SET consumed_run = ?2, consumed_in = ?3, consumed_ms = ?4, reads = reads + 1,
                         read_ms = ?4 WHERE id = ?1 AND consumed_run IS NULL",
                )?
                .execute(params![document.id, mark.run, mark.conversation, mark.at_ms])
        })?;
        if marked == 0 {
            return Ok(false);
        }
        document.read_ms = consumed.at_ms;
        document.reads += 1;
        document.consumed = Some(consumed);
        self.rewrite(document).map(|()| true)
    }

    /// The documents whose events stand in the saved context of a conversation are needed no longer: removes them.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer; the rest is removed the next time.
    pub fn settle(&self, ids: &[String]) -> Result<(), DocumentError> {
        for id in ids {
            // Those of earlier times are still named as long as their events stand in the context.
            if self.listed(id)?.is_some() || self.path(id).exists() {
                self.remove(id)?;
            }
        }
        Ok(())
    }

    /// Takes back the marks of documents that were taken into a conversation whose saved context does not hold them,
    /// `saved` being those that it does.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn release(&self, conversation: &str, saved: &[String]) -> Result<Vec<String>, DocumentError> {
        let marked: Vec<String> = self.look("looking for documents that were taken back", |connection| {
            let sql = "SELECT id FROM documents WHERE consumed_in = ?1 AND consumed_run IS NOT NULL";
            connection.prepare_cached(sql)?.query_map([conversation], |row| row.get(0))?.collect()
        })?;
        let released: Vec<String> = marked.into_iter().filter(|id| !saved.contains(id)).collect();
        for id in &released {
            self.write("putting a document back", |connection| {
                let sql =
                    "UPDATE documents SET consumed_run = NULL, consumed_in = NULL, consumed_ms = NULL WHERE id = ?1";
                connection.prepare_cached(sql)?.execute([id]).map(drop)
            })?;
            if let Ok(document) = self.read(id) {
                self.restore(document)?;
            }
        }
        Ok(released)
    }

    /// A document is there as before it was taken, but for exchanges that have left the context for another meanwhile.
    fn restore(&self, mut document: Document) -> Result<(), DocumentError> {
        let heads: Vec<String> =
            document.exchanges().iter().filter_map(|exchange| exchange.first()).map(|first| first.id.clone()).collect();
        let elsewhere: HashSet<String> = self.look("looking up exchanges", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT 1 FROM document_heads JOIN documents USING (number) WHERE head = ?1 AND there = 1 AND id <> ?2",
            )?;
            let mut elsewhere = HashSet::new();
            for head in heads {
                if statement.exists([&head, &document.id])? {
                    elsewhere.insert(head);
                }
            }
            Ok(elsewhere)
        })?;
        document.consumed = None;
        if elsewhere.is_empty() {
            return self.rewrite(&document);
        }
        let is_elsewhere = |exchange: &&[Entry]| exchange.first().is_some_and(|first| elsewhere.contains(&first.id));
        let left: Vec<Entry> =
            document.exchanges().into_iter().filter(|exchange| !is_elsewhere(exchange)).flatten().cloned().collect();
        if left.is_empty() {
            return self.remove(&document.id);
        }
        document.events = left;
        self.replace(&document)
    }

    /// The conversations into which documents were taken whose end is not known.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn unsettled(&self) -> Result<Vec<String>, DatabaseError> {
        self.look("looking for documents that were taken back", |connection| {
            let sql = "SELECT DISTINCT consumed_in FROM documents WHERE consumed_run IS NOT NULL";
            connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Counts an access.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer.
    pub fn accessed(&self, document: &mut Document, now_ms: i64) -> Result<(), DocumentError> {
        let counted = self.write("counting a document's reads", |connection| {
            let sql = "UPDATE documents SET reads = reads + 1, read_ms = ?2 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute(params![document.id, now_ms])
        })?;
        if counted == 0 {
            // It was removed since it was read.
            return Ok(());
        }
        document.reads += 1;
        document.read_ms = now_ms;
        self.rewrite(document)
    }

    /// Removes a document for good: its file, its vector, and all that is known of it.
    ///
    /// # Errors
    ///
    /// What the database and the file system answer.
    pub fn remove(&self, id: &str) -> Result<(), DocumentError> {
        {
            let _one_at_a_time = self.files();
            for path in [self.path(id), self.vector_path(id)] {
                durable::remove(&path).map_err(|source| DocumentError::File { path, doing: "removing", source })?;
            }
        }
        self.unlist(id)?;
        Ok(())
    }

    /// How many there are.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn count(&self) -> Result<u64, DatabaseError> {
        self.look("counting the documents", |connection| {
            let sql = "SELECT count(*) FROM documents WHERE there = 1";
            connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| u64::try_from(count).unwrap_or(0))
        })
    }

    /// What is known of one; nothing where there is none of that name.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn listed(&self, id: &str) -> Result<Option<Listed>, DatabaseError> {
        self.look("looking up a document", |connection| {
            let sql = format!("SELECT {COLUMNS} FROM documents WHERE id = ?1 AND there = 1");
            connection.prepare_cached(&sql)?.query_map([id], Listed::of_row)?.next().transpose()
        })
    }

    fn rewrite(&self, document: &Document) -> Result<(), DocumentError> {
        let path = self.path(&document.id);
        let _one_at_a_time = self.files();
        // Words may have been taken out of it since it was read, or it may be gone.
        let Ok(now) = Document::read(&path) else { return Ok(()) };
        let Document { reads, read_ms, consumed, .. } = document.clone();
        let document = Document { reads, read_ms, consumed, ..now };
        document.write(&path).map_err(|source| DocumentError::File { path, doing: "writing", source })
    }

    fn unlist(&self, id: &str) -> Result<(), DatabaseError> {
        if let Some(index) = self.shared.index.get() {
            index.remove(PassageKind::Document, &[id.to_owned()])?;
        }
        let number = self.write("taking a document off the list", |connection| table::remove(connection, id))?;
        self.vectors().drop_from_cache(Kind::Document, number.as_slice());
        Ok(())
    }

    /// Rows of documents that were being written when the daemon died: what is whole is there, as its file has it - a row
    /// may tell of a text that did not get there any more -, what is not never was.
    fn finish_writes(&self) -> Result<(), DatabaseError> {
        let unfinished: Vec<String> = self.look("looking for unfinished documents", |connection| {
            let sql = "SELECT id FROM documents WHERE there = 0";
            connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        })?;
        unfinished.iter().try_for_each(|id| self.finish_write(id))
    }

    fn finish_write(&self, id: &str) -> Result<(), DatabaseError> {
        match Document::read(&self.path(id)) {
            Ok(document) => self.list(&[Document { id: id.to_owned(), ..document }]),
            Err(_) => self.unlist(id),
        }
    }

    /// Lists documents whose files are there, all in one transaction.
    pub(crate) fn list(&self, documents: &[Document]) -> Result<(), DatabaseError> {
        if documents.is_empty() {
            return Ok(());
        }
        let terms: Vec<String> = documents.iter().map(terms_of).collect();
        let numbers = self.write("listing documents", |connection| {
            let insert = |(document, terms): (&Document, &String)| table::insert(connection, document, terms, true);
            documents.iter().zip(&terms).map(insert).collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let numbers: Vec<i64> =
            numbers.into_iter().flat_map(|(number, before)| [Some(number), before]).flatten().collect();
        self.vectors().drop_from_cache(Kind::Document, &numbers);
        self.offer(documents);
        self.shared.changed.notify_one();
        Ok(())
    }

    pub(crate) fn index(&self) -> &OnceLock<Index> {
        &self.shared.index
    }

    pub(crate) fn vectors(&self) -> &Vectors {
        &self.shared.vectors
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, ()> {
        self.shared.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn changed(&self) -> &Notify {
        &self.shared.changed
    }

    pub(crate) fn look<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let reader = self.shared.reader.lock().unwrap_or_else(PoisonError::into_inner);
        work(&reader).map_err(|source| self.shared.database.error(doing, source))
    }

    pub(crate) fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let mut writer: MutexGuard<'_, Connection> = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let run = || {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = work(&transaction)?;
            durable::step().map_err(|_| rusqlite::Error::InvalidQuery)?;
            transaction.commit()?;
            durable::step().map_err(|_| rusqlite::Error::InvalidQuery)?;
            Ok(answer)
        };
        run().map_err(|source| self.shared.database.error(doing, source))
    }
}

/// Whether a file could be read, and what it holds is wrong.
pub(crate) fn is_content(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// The terms by which a document is found.
pub(super) fn terms_of(document: &Document) -> String {
    let text: String = document.texts().join("\n").chars().take(MOST_TEXT).collect();
    index_terms(&text).join(" ")
}

/// Whether what has this audience, in its text form, may be shown.
pub(crate) fn may_see(viewer: &homeagent_types::Viewer, audience: &str) -> bool {
    viewer.may_see(&Audience::parse(audience))
}
