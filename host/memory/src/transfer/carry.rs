//! Exporting and importing: one record a line, each with its `type`.

use std::io::{BufRead, Write};

use homeagent_types::memory::MemoryImported;
use homeagent_types::{Audience, CallError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::failed;
use crate::documents::{Document, DocumentError};
use crate::graph::{GraphError, hex, unhex};
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
            put(&Record::Document { document: Box::new(document) }).map_err(failed)?;
        }
        Ok(())
    }

    /// Takes in what another memory exported. The graph is taken whole or not at all, and only where there is none yet; all
    /// else is added, and what was there as another is named. Blocks.
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
        let mut imported = MemoryImported::default();
        let mut next = lines.next().map_err(CallError::Invalid)?;
        if matches!(next, Some(Record::Row { .. })) {
            next = self.import_graph(next, &mut lines, &mut imported)?;
        }
        while let Some(record) = next {
            self.import_record(record, &mut imported)
                .map_err(|error| CallError::Invalid(format!("line {}: {error}", lines.number)))?;
            next = lines.next().map_err(CallError::Invalid)?;
        }
        Ok(imported)
    }

    /// Takes the rows in; answers with the record after them.
    fn import_graph(
        &self,
        first: Option<Record>,
        lines: &mut Lines<'_>,
        imported: &mut MemoryImported,
    ) -> Result<Option<Record>, CallError> {
        let mut next = first;
        if !self.graph().is_empty()? {
            imported.conflicts.push("the graph is not empty and was left as it is".to_owned());
            while let Some(Record::Row { .. }) = next {
                next = lines.next().map_err(CallError::Invalid)?;
            }
            return Ok(next);
        }
        let rows = self.graph().import_rows(&mut || match next.take() {
            Some(Record::Row { table, row }) => {
                next = lines.next()?;
                Ok(Some((table, row)))
            }
            other => {
                next = other;
                Ok(None)
            }
        });
        imported.rows = rows.map_err(|error| match error {
            GraphError::Invalid(why) => CallError::Invalid(why),
            other => other.into(),
        })?;
        Ok(next)
    }

    fn import_record(&self, record: Record, imported: &mut MemoryImported) -> Result<(), CallError> {
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
                let before = self.curated().text().map_err(failed)?;
                let empty = |before: &str| before.is_empty().then(|| text.clone());
                self.curated().rewrite(empty).map_err(failed)?;
                if !before.is_empty() && before != text {
                    imported.conflicts.push("memory.md has other lines and was left as it is".to_owned());
                }
                Ok(())
            }
            Record::Document { document } => self.import_document(&document, imported),
        }
    }

    fn import_document(&self, document: &Document, imported: &mut MemoryImported) -> Result<(), CallError> {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if document.id.is_empty() || !document.id.chars().all(is_name) {
            return Err(CallError::Invalid(format!("\"{}\" is no name of a document", document.id)));
        }
        let documents = self.context().documents();
        match documents.read(&document.id) {
            Ok(there) if there == *document => return Ok(()),
            Ok(_) => imported.conflicts.push(format!("the document {} was another and is replaced", document.id)),
            Err(_) => {}
        }
        documents.replace(document).map_err(failed)?;
        imported.documents += 1;
        Ok(())
    }
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
