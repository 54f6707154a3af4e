//! Exporting and importing: one record a line, each with its `type`.

use std::io::{BufRead, Write};

use homeagent_types::memory::MemoryImported;
use homeagent_types::{Audience, CallError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{failed, passages};
use crate::documents::{Document, DocumentError, Kind};
use crate::graph::{GraphError, Joined, hex, unhex};
use crate::memory::Memory;

/// The version of the format.
const VERSION: u32 = 1;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Record {
    /// The first line.
    Header { format: String, version: u32 },
    /// A row of the graph.
    Row { table: String, row: Map<String, Value> },
    /// Somebody was heard in a group.
    Member { person: String, audience: String },
    /// An account of the owner's.
    Owner { person: String },
    /// The hash of a passage that is not to come back.
    Forgotten { hash: String },
    /// The list that is kept by hand, whole.
    Curated { text: String },
    /// A document, as its file has it.
    Document { document: Box<Document> },
}

impl Memory {
    /// Writes all that the memory knows beside the journal, without vectors, which are made again. Blocks.
    ///
    /// # Errors
    ///
    /// What the database, the file system and the writer answer.
    pub fn export(&self, out: &mut dyn Write) -> Result<(), CallError> {
        let mut put = |record: &Record| -> Result<(), String> {
            let line = serde_json::to_string(record).map_err(|error| error.to_string())?;
            writeln!(out, "{line}").map_err(|error| error.to_string())
        };
        put(&Record::Header { format: "homeagent-memory".to_owned(), version: VERSION }).map_err(failed)?;
        self.graph().export_rows(&mut |table, row| put(&Record::Row { table: table.to_owned(), row }))?;
        let (members, owners) = self.audiences().all();
        for (person, audience) in members {
            put(&Record::Member { person, audience: audience.to_string() }).map_err(failed)?;
        }
        for person in owners {
            put(&Record::Owner { person }).map_err(failed)?;
        }
        for hash in self.index().forgotten().map_err(failed)? {
            put(&Record::Forgotten { hash: hex(&hash) }).map_err(failed)?;
        }
        let text = self.curated().text().map_err(failed)?;
        if !text.is_empty() {
            put(&Record::Curated { text }).map_err(failed)?;
        }
        let documents = self.context().documents();
        let mut ids: Vec<String> = documents.ids().map_err(failed)?.into_iter().collect();
        ids.sort();
        for id in ids {
            let document = match documents.read(&id) {
                // It went meanwhile, or is damaged, which was said: that keeps nothing else from being exported.
                Err(DocumentError::Missing(_)) => continue,
                read => read.map_err(failed)?,
            };
            if document.kind == Kind::Known {
                // The graph says it already.
                continue;
            }
            put(&Record::Document { document: Box::new(document) }).map_err(failed)?;
        }
        Ok(())
    }

    /// Takes in what another memory exported, beside what is here. The graph is taken whole or not at all; what can't be
    /// taken, or is here as another, is named. Taking the same in again changes nothing. Blocks.
    ///
    /// # Errors
    ///
    /// [`CallError::Invalid`] for a line that is none, with its number: what stood before it in other groups is kept. What
    /// the database and the file system answer.
    pub fn import(&self, from: &mut dyn BufRead) -> Result<MemoryImported, CallError> {
        let mut lines = Lines { from, number: 0 };
        match lines.next().map_err(CallError::Invalid)? {
            Some(Record::Header { format, version }) if format == "homeagent-memory" && version == VERSION => {}
            _ => return Err(CallError::Invalid(format!("line 1 is no header of a memory of version {VERSION}"))),
        }
        // What the file says of what was forgotten there is no reason to refuse what it has.
        let is_forgotten = self.graph().forgotten_places();
        let mut imported = MemoryImported::default();
        let mut next = lines.next().map_err(CallError::Invalid)?;
        if matches!(next, Some(Record::Row { .. })) {
            next = self.import_graph(next, &mut lines, &mut imported)?;
        }
        while let Some(record) = next {
            self.import_record(record, &is_forgotten, &mut imported)
                .map_err(|error| CallError::Invalid(format!("line {}: {error}", lines.number)))?;
            next = lines.next().map_err(CallError::Invalid)?;
        }
        Ok(imported)
    }

    /// Takes the rows in; answers with the record after them. An empty graph becomes the other one, number for number.
    fn import_graph(
        &self,
        first: Option<Record>,
        lines: &mut Lines<'_>,
        imported: &mut MemoryImported,
    ) -> Result<Option<Record>, CallError> {
        let mut next = first;
        let is_empty = self.graph().is_empty()?;
        let rows = &mut || match next.take() {
            Some(Record::Row { table, row }) => {
                next = lines.next()?;
                Ok(Some((table, row)))
            }
            other => {
                next = other;
                Ok(None)
            }
        };
        let joined = if is_empty {
            self.graph().import_rows(rows).map(|rows| Joined { rows, left: Vec::new() })
        } else {
            self.graph().join_rows(rows, &|seq, at_ms| self.has_said(seq, at_ms))
        };
        self.known().begin_anew().map_err(failed)?;
        let joined = joined.map_err(|error| match error {
            GraphError::Invalid(why) => CallError::Invalid(why),
            other => other.into(),
        })?;
        imported.rows = joined.rows;
        imported.conflicts.extend(joined.left);
        Ok(next)
    }

    /// Whether this home's journal has something at a place, and from that very moment.
    fn has_said(&self, seq: &str, at_ms: i64) -> bool {
        let found = passages(self.index(), &[seq.to_owned()]);
        found.is_ok_and(|found| found.iter().any(|passage| passage.at_ms == at_ms))
    }

    fn import_record(
        &self,
        record: Record,
        is_forgotten: &dyn Fn(&str) -> bool,
        imported: &mut MemoryImported,
    ) -> Result<(), CallError> {
        match record {
            Record::Header { .. } => Err(CallError::Invalid("a header stands in the first line alone".to_owned())),
            Record::Row { .. } => Err(CallError::Invalid("the rows of the graph stand together".to_owned())),
            Record::Member { person, audience } => {
                self.audiences().heard_in_group(person, &Audience::parse(&audience)).map_err(failed)
            }
            Record::Owner { person } => self.audiences().heard_the_owner(&person).map_err(failed),
            Record::Forgotten { hash } => {
                let hash = unhex(&hash).ok_or_else(|| CallError::Invalid("a hash is hexadecimal".to_owned()))?;
                self.index().bury(&hash).map_err(failed)
            }
            Record::Curated { text } => {
                let left = self.curated().join(&text).map_err(failed)?;
                imported.conflicts.extend(left.iter().map(|line| format!("a line of memory.md: {line}")));
                Ok(())
            }
            Record::Document { document } => self.import_document(&document, is_forgotten, imported),
        }
    }

    fn import_document(
        &self,
        document: &Document,
        is_forgotten: &dyn Fn(&str) -> bool,
        imported: &mut MemoryImported,
    ) -> Result<(), CallError> {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if document.id.is_empty() || !document.id.chars().all(is_name) {
            return Err(CallError::Invalid(format!("\"{}\" is no name of a document", document.id)));
        }
        let documents = self.context().documents();
        match documents.read(&document.id) {
            Ok(there) if said(&there) == said(document) => Ok(()),
            _ if is_forgotten(&format!("document:{}", document.id)) => {
                let why = format!("the document {}: it, or words of it, were forgotten here", document.id);
                imported.conflicts.push(why);
                Ok(())
            }
            Ok(_) => {
                let other = Document { id: other_id(document)?, consumed: None, ..document.clone() };
                if !is_forgotten(&format!("document:{}", other.id)) && documents.read(&other.id).is_err() {
                    documents.replace(&other).map_err(failed)?;
                    imported.documents += 1;
                    imported.conflicts.push(format!(
                        "the document {} is another here and stays; the file's is {} now",
                        document.id, other.id
                    ));
                }
                Ok(())
            }
            Err(_) => {
                documents.replace(document).map_err(failed)?;
                imported.documents += 1;
                Ok(())
            }
        }
    }
}

/// What a document says, without how often it was read and whose turn has it.
fn said(document: &Document) -> Document {
    Document { reads: 0, read_ms: 0, consumed: None, ..document.clone() }
}

/// The name of a document beside one of its name that says something else: the same for the same words.
fn other_id(document: &Document) -> Result<String, CallError> {
    let text = serde_json::to_string(&said(document)).map_err(failed)?;
    let digest = Sha256::digest(text);
    Ok(format!("{}-{}", document.id, hex(digest.get(..8).unwrap_or_default())))
}

struct Lines<'a> {
    from: &'a mut dyn BufRead,
    number: usize,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<Record>, String> {
        let mut line = String::new();
        self.number += 1;
        let number = self.number;
        match self.from.read_line(&mut line) {
            Ok(0) => Ok(None),
            Ok(_) => serde_json::from_str(&line).map(Some).map_err(|error| format!("line {number}: {error}")),
            Err(error) => Err(format!("line {number}: {error}")),
        }
    }
}
