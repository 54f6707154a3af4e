//! What is known of the documents without reading their files: their rows in `memory.db`.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::document::{Consumed, Document, Kind};
use crate::vectors;

pub(crate) const MIGRATIONS: &[&str] = &["
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,             -- the file is documents/<id>.json
    there INTEGER NOT NULL,              -- 0 while its file is being written
    kind TEXT NOT NULL,
    conversation TEXT NOT NULL,
    audience TEXT NOT NULL,
    foreign_text INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    read_ms INTEGER NOT NULL,
    consumed_run TEXT,
    consumed_in TEXT,
    consumed_ms INTEGER,
    distilled_ms INTEGER                 -- when it was distilled into triples, once it was cold
) STRICT;
CREATE INDEX documents_unfinished ON documents (id) WHERE there = 0;
CREATE INDEX documents_consumed ON documents (consumed_in) WHERE consumed_run IS NOT NULL;
CREATE INDEX documents_seen ON documents (audience) WHERE there = 1 AND consumed_run IS NULL;
CREATE INDEX documents_cold ON documents (read_ms) WHERE distilled_ms IS NULL;
-- Which exchanges are in a document, by their first messages.
CREATE TABLE document_heads (
    head TEXT PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX document_heads_number ON document_heads (number);
-- The terms of each document. The rowid is the document's number.
CREATE VIRTUAL TABLE document_terms USING fts5(
    terms, content='', contentless_delete=1, tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* M* S* P* Co'\"
);
INSERT INTO document_terms (document_terms, rank) VALUES ('secure-delete', 1);
"];

/// A document, as its row has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The key of its texts and vectors.
    pub number: i64,
    /// Its name.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Where it was said or written.
    pub conversation: String,
    /// Who may see it, in its text form.
    pub audience: String,
    /// Others may have written some of it.
    pub foreign: bool,
    /// When the first of it was said, in milliseconds since 1970.
    pub from_ms: i64,
    /// When the last of it was said.
    pub to_ms: i64,
    /// How large it is, roughly.
    pub bytes: usize,
    /// How often it was read.
    pub reads: u32,
    /// When it was read last, or made.
    pub read_ms: i64,
    /// The turn that took its events back.
    pub consumed: Option<Consumed>,
}

pub(crate) const COLUMNS: &str = "number, id, kind, conversation, audience, foreign_text, from_ms, to_ms, bytes, reads, \
    read_ms, consumed_run, consumed_in, consumed_ms";

impl Listed {
    pub(crate) fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let consumed = match (row.get(11)?, row.get(12)?, row.get(13)?) {
            (Some(run), Some(conversation), Some(at_ms)) => Some(Consumed { run, conversation, at_ms }),
            _ => None,
        };
        Ok(Self {
            number: row.get(0)?,
            id: row.get(1)?,
            kind: Kind::parse(&row.get::<_, String>(2)?),
            conversation: row.get(3)?,
            audience: row.get(4)?,
            foreign: row.get(5)?,
            from_ms: row.get(6)?,
            to_ms: row.get(7)?,
            bytes: usize::try_from(row.get::<_, i64>(8)?).unwrap_or_default(),
            reads: row.get(9)?,
            read_ms: row.get(10)?,
            consumed,
        })
    }
}

/// Puts a row for a document, its heads and its terms; returns its number, and that which it had before.
pub(crate) fn insert(
    connection: &Connection,
    document: &Document,
    terms: &str,
    there: bool,
) -> rusqlite::Result<(i64, Option<i64>)> {
    let before = remove(connection, &document.id)?;
    let consumed = document.consumed.as_ref();
    let number = connection
        .prepare_cached(
            "INSERT INTO documents (id, there, kind, conversation, audience, foreign_text, created_ms, from_ms, to_ms,
                 bytes, reads, read_ms, consumed_run, consumed_in, consumed_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .insert(params![
            document.id,
            there,
            document.kind.as_str(),
            document.conversation,
            document.audience,
            document.foreign,
            document.created_ms,
            document.from_ms,
            document.to_ms,
            i64::try_from(document.bytes()).unwrap_or(i64::MAX),
            document.reads,
            document.read_ms,
            consumed.map(|consumed| &consumed.run),
            consumed.map(|consumed| &consumed.conversation),
            consumed.map(|consumed| consumed.at_ms),
        ])?;
    let mut head = connection.prepare_cached("INSERT OR REPLACE INTO document_heads (head, number) VALUES (?1, ?2)")?;
    for exchange in document.exchanges() {
        if let Some(first) = exchange.first().filter(|first| !first.id.is_empty()) {
            head.execute(params![first.id, number])?;
        }
    }
    connection
        .prepare_cached("INSERT INTO document_terms (rowid, terms) VALUES (?1, ?2)")?
        .execute(params![number, terms])?;
    Ok((number, before))
}

/// Puts other terms in the place of a document's.
pub(crate) fn feed(connection: &Connection, number: i64, terms: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM document_terms WHERE rowid = ?1")?.execute([number])?;
    let sql = "INSERT INTO document_terms (rowid, terms) VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute(params![number, terms]).map(drop)
}

/// Takes out all that is known of a document, its vector with it: the next document may get its number.
pub(crate) fn remove(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM documents WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if let Some(number) = number {
        connection.prepare_cached("DELETE FROM document_terms WHERE rowid = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM documents WHERE number = ?1")?.execute([number])?;
        vectors::delete(connection, vectors::Kind::Document, number)?;
    }
    Ok(number)
}
