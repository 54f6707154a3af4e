//! Finding documents: by their words, and of those by their vectors.

use std::collections::BTreeSet;

use homeagent_language::text::query_terms;
use homeagent_settings::DatabaseError;
use homeagent_types::{Audience, Viewer};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, params_from_iter};

use super::document::Document;
use super::store::{Documents, may_see};
use super::table::{COLUMNS, Listed};
use super::vector_file::StoredVector;
use crate::context::cosine;

/// How many documents that have the words are looked at closer.
const CANDIDATES: usize = 50;

/// The most terms of a question that are looked for.
const MOST_TERMS: usize = 64;

/// What the vectors count, beside the words.
const VECTOR_WEIGHT: f64 = 0.5;

/// How many documents a summary names, and how much it says of each, in characters.
const SUMMARISED: usize = 3;
const SAID_OF_EACH: usize = 240;

/// A question's vector and the identity of the model that made it.
pub type QueryVector<'a> = (&'a str, &'a [f32]);

/// A document that bears on a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What is known of it.
    pub listed: Listed,
    /// How much it bears on it: 1 is the most of those found.
    pub score: f64,
}

/// What the prompt says of the documents that bear on what is being said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The text; empty where there are none.
    pub text: String,
    /// The documents in it.
    pub documents: Vec<String>,
    /// Others may have written some of it.
    pub foreign: bool,
}

impl Documents {
    /// The documents that bear most on a question, the best first, among those that `viewer` may see and that no turn has
    /// taken back.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn find(
        &self,
        question: &str,
        vector: Option<QueryVector<'_>>,
        viewer: &Viewer,
        limit: usize,
    ) -> Result<Vec<Found>, DatabaseError> {
        let terms: BTreeSet<String> = query_terms(question).into_iter().take(MOST_TERMS).collect();
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let quoted: Vec<String> = terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\""))).collect();
        let rows = self.with_words(&quoted.join(" OR "), viewer)?;
        Ok(self.ranked(rows, vector, limit))
    }

    /// Those that have any of these terms, with how well they match: SQLite's `bm25()`, of which less is better.
    fn with_words(&self, terms: &str, viewer: &Viewer) -> Result<Vec<(Listed, f64)>, DatabaseError> {
        let mut values = vec![Value::Text(terms.to_owned())];
        let seen = match viewer {
            Viewer::Everything => String::new(),
            Viewer::Only(audiences) => {
                values.extend(audiences.iter().map(|audience| Value::Text(audience.to_string())));
                format!("AND audience IN ({})", vec!["?"; audiences.len()].join(", "))
            }
        };
        let sql = format!(
            "SELECT {COLUMNS}, bm25(document_terms) AS rank FROM document_terms
             JOIN documents ON documents.number = document_terms.rowid
             WHERE document_terms MATCH ? AND there = 1 AND consumed_run IS NULL {seen}
             ORDER BY rank LIMIT {CANDIDATES}"
        );
        let rows: Vec<(Listed, f64)> = self.look("searching the documents", |connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let read = |row: &rusqlite::Row<'_>| Ok((Listed::of_row(row)?, row.get("rank")?));
            statement.query_map(params_from_iter(values), read)?.collect()
        })?;
        // The one rule of who may see what, beside the narrowing above.
        Ok(rows.into_iter().filter(|(listed, _)| may_see(viewer, &listed.audience)).collect())
    }

    /// Ranks by words and vectors, each between 0 and 1, added. The vectors count where all have one of the question's
    /// model.
    fn ranked(&self, rows: Vec<(Listed, f64)>, vector: Option<QueryVector<'_>>, limit: usize) -> Vec<Found> {
        let best = rows.iter().map(|(_, rank)| -rank).fold(0.0, f64::max);
        let words = |rank: f64| if best > 0.0 { -rank / best } else { 1.0 };
        let near = |listed: &Listed, (model, query): QueryVector<'_>| {
            let stored = StoredVector::read(&self.vector_path(&listed.id)).ok()?;
            (stored.model == model).then(|| cosine(query, &stored.vector))?
        };
        let cosines: Option<Vec<f64>> =
            vector.and_then(|vector| rows.iter().map(|(listed, _)| near(listed, vector)).collect());
        let scaled = cosines.map(|cosines| {
            let (least, most) =
                (cosines.iter().copied().fold(1.0, f64::min), cosines.iter().copied().fold(-1.0, f64::max));
            let span = most - least;
            cosines.iter().map(|one| if span > 0.0 { (one - least) / span } else { 1.0 }).collect::<Vec<_>>()
        });
        let score = |(at, (listed, rank)): (usize, (Listed, f64))| {
            let words = words(rank);
            let near = scaled.as_ref().and_then(|scaled| scaled.get(at));
            let score = near.map_or(words, |near| (1.0 - VECTOR_WEIGHT) * words + VECTOR_WEIGHT * near);
            Found { listed, score }
        };
        let mut found: Vec<Found> = rows.into_iter().enumerate().map(score).collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.listed.to_ms.cmp(&a.listed.to_ms)));
        found.truncate(limit);
        found
    }

    /// What the prompt says of the documents that bear most on what is being said: three at most, a few lines. It counts
    /// as no access.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn summary(
        &self,
        question: &str,
        vector: Option<QueryVector<'_>>,
        viewer: &Viewer,
    ) -> Result<Summary, DatabaseError> {
        let mut summary = Summary::default();
        for found in self.find(question, vector, viewer, SUMMARISED)? {
            let Ok(document) = self.read(&found.listed.id) else { continue };
            summary.text.push_str(&line(&document));
            summary.foreign |= document.foreign;
            summary.documents.push(document.id);
        }
        Ok(summary)
    }

    /// Documents that have gone cold, and are not distilled yet: not read since `before_ms` and at most `reads` times; the
    /// coldest first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn cold(&self, before_ms: i64, reads: u32, limit: usize) -> Result<Vec<Listed>, DatabaseError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM documents
             WHERE distilled_ms IS NULL AND read_ms < ?1 AND reads <= ?2 AND there = 1 AND consumed_run IS NULL
             ORDER BY read_ms LIMIT ?3"
        );
        self.look("looking for cold documents", |connection| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            connection.prepare_cached(&sql)?.query_map((before_ms, reads, limit), Listed::of_row)?.collect()
        })
    }

    /// Notes that a cold document was distilled. It stays to be found by its words.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn distilled(&self, id: &str, now_ms: i64) -> Result<(), DatabaseError> {
        self.write("noting that a document was distilled", |connection| {
            let sql = "UPDATE documents SET distilled_ms = ?2 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute((id, now_ms)).map(drop)
        })
    }

    /// Documents by their numbers, which rise with the time at which they were listed: those after `number`, at most
    /// `limit`.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn after(&self, number: i64, limit: usize) -> Result<Vec<Listed>, DatabaseError> {
        let sql = format!("SELECT {COLUMNS} FROM documents WHERE number > ?1 AND there = 1 ORDER BY number LIMIT ?2");
        self.look("listing documents", |connection| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            connection.prepare_cached(&sql)?.query_map((number, limit), Listed::of_row)?.collect()
        })
    }

    /// Who may see the document of this number, as long as it is there.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn audience_of(&self, number: i64) -> Result<Option<Audience>, DatabaseError> {
        self.look("looking up a document", |connection| {
            let sql = "SELECT audience FROM documents WHERE number = ?1 AND there = 1";
            let audience: Option<String> =
                connection.prepare_cached(sql)?.query_row([number], |row| row.get(0)).optional()?;
            Ok(audience.map(|audience| Audience::parse(&audience)))
        })
    }
}

/// What a summary says of a document.
fn line(document: &Document) -> String {
    let day = jiff::Timestamp::from_millisecond(document.from_ms).map_or_else(
        |_| String::new(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let texts = document.texts().join(" / ");
    let said: String = texts.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SAID_OF_EACH).collect();
    let cut = if said.chars().count() == SAID_OF_EACH { "…" } else { "" };
    format!("- {} ({day}): {said}{cut}\n", document.id)
}
