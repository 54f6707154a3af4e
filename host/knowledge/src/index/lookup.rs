//! Reading the index: by words, and by ids.

use std::collections::HashMap;

use homeagent_settings::DatabaseError;
use rusqlite::{Row, params};

use super::Index;

/// What a heading counts for, where a word of the text counts 1.
const HEADING_WEIGHT: f64 = 2.0;

/// A chunk that holds words that were asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) chunk: i64,
    /// How well they fit: BM25, the more the better.
    pub(crate) score: f64,
}

/// A chunk as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) id: i64,
    pub(crate) base: i64,
    pub(crate) position: i64,
    pub(crate) lines: (u32, u32),
    pub(crate) start: usize,
    pub(crate) headings: Vec<String>,
    pub(crate) lead: Option<String>,
    pub(crate) text: String,
}

impl Index {
    /// The chunks of these bases that hold one of these terms, the best first.
    pub(crate) fn with_terms(&self, terms: &[String], bases: &[i64], most: usize) -> Result<Vec<Found>, DatabaseError> {
        let quoted = terms.iter().map(|term| format!("\"{}\"", term.replace(['"', '\0'], " ")));
        let question = quoted.collect::<Vec<_>>().join(" OR ");
        if question.is_empty() {
            return Ok(Vec::new());
        }
        let bases = serde_json::to_string(bases).unwrap_or_default();
        self.read("searching the knowledge base", |connection| {
            let sql = "SELECT c.id, -bm25(chunk_terms, ?3, 1.0) AS score FROM chunk_terms
                       JOIN chunks c ON c.id = chunk_terms.rowid
                       WHERE chunk_terms MATCH ?1 AND c.base IN (SELECT value FROM json_each(?2))
                       ORDER BY score DESC, c.id LIMIT ?4";
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let row = |row: &Row<'_>| Ok(Found { chunk: row.get(0)?, score: row.get(1)? });
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map(params![question, bases, HEADING_WEIGHT, most], row)?.collect()
        })
    }

    /// These chunks, in any order; those that are gone are left out.
    pub(crate) fn chunks(&self, ids: &[i64]) -> Result<Vec<Stored>, DatabaseError> {
        let ids = serde_json::to_string(ids).unwrap_or_default();
        self.read("reading passages", |connection| {
            let sql = "SELECT id, base, position, first_line, last_line, start, headings, lead, text FROM chunks
                       WHERE id IN (SELECT value FROM json_each(?1))";
            connection.prepare_cached(sql)?.query_map([ids], stored)?.collect()
        })
    }

    /// How many chunks a base has, and how many of those have vectors of this model; of all bases where none is said.
    pub(crate) fn counts(&self, base: Option<i64>, model: Option<&str>) -> Result<(u64, u64), DatabaseError> {
        self.read("counting passages", |connection| {
            let sql = "SELECT COUNT(*), COUNT(v.chunk) FROM chunks c
                       LEFT JOIN vectors v ON v.chunk = c.id AND v.model = (SELECT id FROM models WHERE identity = ?2)
                       WHERE ?1 IS NULL OR c.base = ?1";
            let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()));
            connection.prepare_cached(sql)?.query_row(params![base, model], read)
        })
    }

    /// The same for each base that has any.
    pub(crate) fn counts_by_base(&self, model: Option<&str>) -> Result<HashMap<i64, (u64, u64)>, DatabaseError> {
        self.read("counting passages", |connection| {
            let sql = "SELECT c.base, COUNT(*), COUNT(v.chunk) FROM chunks c
                       LEFT JOIN vectors v ON v.chunk = c.id AND v.model = (SELECT id FROM models WHERE identity = ?1)
                       GROUP BY c.base";
            let read = |row: &Row<'_>| {
                let (passages, vectors): (i64, i64) = (row.get(1)?, row.get(2)?);
                Ok((row.get(0)?, (passages.unsigned_abs(), vectors.unsigned_abs())))
            };
            connection.prepare_cached(sql)?.query_map([model], read)?.collect()
        })
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let headings: String = row.get(6)?;
    Ok(Stored {
        id: row.get(0)?,
        base: row.get(1)?,
        position: row.get(2)?,
        lines: (row.get(3)?, row.get(4)?),
        start: usize::try_from(row.get::<_, i64>(5)?).unwrap_or_default(),
        headings: serde_json::from_str(&headings).unwrap_or_default(),
        lead: row.get(7)?,
        text: row.get(8)?,
    })
}
