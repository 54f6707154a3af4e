//! Finding documents: by their words and their vectors.

use std::collections::{BTreeSet, HashMap, HashSet};

use homeagent_language::text::query_terms;
use homeagent_settings::DatabaseError;
use homeagent_types::{Audience, Viewer};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use super::document::Document;
use super::store::{Documents, may_see};
use super::table::{COLUMNS, Listed};
use super::vectorise::DocumentVector;
use crate::recall::asked;
use crate::vectors::Kind;

/// How many documents that have the words are looked at closer.
const CANDIDATES: usize = 50;

/// The most terms of a question that are looked for.
const MOST_TERMS: usize = 64;

/// What the vectors count, beside the words.
const VECTOR_WEIGHT: f64 = 0.5;

/// How many documents a summary names, and how much it says of each, in characters.
const SUMMARISED: usize = 3;
const SAID_OF_EACH: usize = 240;

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
    /// taken back. `vector`: the question's, where there is one.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn find(
        &self,
        question: &str,
        vector: Option<&DocumentVector>,
        viewer: &Viewer,
        limit: usize,
    ) -> Result<Vec<Found>, DatabaseError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let terms: BTreeSet<String> = query_terms(&asked(question)).into_iter().take(MOST_TERMS).collect();
        let quoted: Vec<String> = terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\""))).collect();
        let mut rows = match quoted.is_empty() {
            true => Vec::new(),
            false => self.with_words(&quoted.join(" OR "), viewer)?,
        };
        let nearness = match vector {
            Some(vector) => self.near(vector, viewer, &mut rows)?,
            None => HashMap::new(),
        };
        let mut found: Vec<Found> = ranked(rows, vector.map(|_| &nearness));
        found.truncate(limit);
        Ok(found)
    }

    /// Those that have any of these terms, with how well they match: SQLite's `bm25()`, of which less is better.
    fn with_words(&self, terms: &str, viewer: &Viewer) -> Result<Vec<(Listed, f64)>, DatabaseError> {
        let (seen, audiences) = seen_by(viewer);
        let values: Vec<Value> = [Value::Text(terms.to_owned())].into_iter().chain(audiences).collect();
        let sql = format!(
            "SELECT {COLUMNS}, bm25(document_terms) AS rank FROM document_terms
             JOIN documents ON documents.number = document_terms.rowid
             WHERE document_terms MATCH ? AND there = 1 AND consumed_run IS NULL {seen}
             ORDER BY rank LIMIT {CANDIDATES}"
        );
        let rows: Vec<(Listed, f64)> = self.look("searching the documents", |connection| {
            let read = |row: &Row<'_>| Ok((Listed::of_row(row)?, row.get("rank")?));
            connection.prepare_cached(&sql)?.query_map(params_from_iter(values), read)?.collect()
        })?;
        // The one rule of who may see what, beside the narrowing above.
        Ok(rows.into_iter().filter(|(listed, _)| may_see(viewer, &listed.audience)).collect())
    }

    /// How near documents are to a vector, from 0 (no nearer than any) to 1 (the nearest), by their numbers. The nearest
    /// that have none of the words are added to the rows.
    fn near(
        &self,
        vector: &DocumentVector,
        viewer: &Viewer,
        rows: &mut Vec<(Listed, f64)>,
    ) -> Result<HashMap<i64, f64>, DatabaseError> {
        let (seen, audiences) = seen_by(viewer);
        let sql = format!("SELECT number FROM documents WHERE there = 1 AND consumed_run IS NULL {seen}");
        let allowed: HashSet<i64> = self.look("searching the documents", |connection| {
            connection.prepare_cached(&sql)?.query_map(params_from_iter(audiences), |row| row.get(0))?.collect()
        })?;
        let nearest = |k: usize, allow: &dyn Fn(i64) -> bool| {
            self.vectors().nearest(Kind::Document, &vector.vector, &vector.model, k, allow)
        };
        let near = nearest(CANDIDATES, &|number| allowed.contains(&number))?;
        let known: HashSet<i64> = rows.iter().map(|(listed, _)| listed.number).collect();
        let sql = format!("SELECT {COLUMNS} FROM documents WHERE number = ?1");
        for (number, _) in near.best.iter().filter(|(number, _)| !known.contains(number)) {
            let listed = self.look("looking up a document", |connection| {
                connection.prepare_cached(&sql)?.query_row([number], Listed::of_row).optional()
            })?;
            rows.extend(listed.filter(|listed| may_see(viewer, &listed.audience)).map(|listed| (listed, 0.0)));
        }
        let listed: HashSet<i64> = rows.iter().map(|(listed, _)| listed.number).collect();
        let all = nearest(listed.len(), &|number| listed.contains(&number))?;
        let best = all.best.first().map_or(0.0, |(_, cosine)| f64::from(*cosine));
        let span = best - f64::from(near.mean);
        let scaled =
            |cosine: f32| if span > 0.0 { ((f64::from(cosine) - f64::from(near.mean)) / span).max(0.0) } else { 1.0 };
        Ok(all.best.into_iter().map(|(number, cosine)| (number, scaled(cosine))).collect())
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
        vector: Option<&DocumentVector>,
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
    /// coldest first. What the graph knows is not distilled again.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn cold(&self, before_ms: i64, reads: u32, limit: usize) -> Result<Vec<Listed>, DatabaseError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM documents
             WHERE distilled_ms IS NULL AND read_ms < ?1 AND reads <= ?2 AND there = 1 AND consumed_run IS NULL
             AND kind <> 'known' ORDER BY read_ms LIMIT ?3"
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

/// Ranks by words and nearness, each between 0 and 1, added; by words alone where there is no vector.
fn ranked(rows: Vec<(Listed, f64)>, nearness: Option<&HashMap<i64, f64>>) -> Vec<Found> {
    let best = rows.iter().map(|(_, rank)| -rank).fold(0.0, f64::max);
    let score = |(listed, rank): (Listed, f64)| {
        let words = if best > 0.0 { -rank / best } else { 0.0 };
        let near = nearness.map(|nearness| nearness.get(&listed.number).copied().unwrap_or(0.0));
        let score = near.map_or(words, |near| (1.0 - VECTOR_WEIGHT) * words + VECTOR_WEIGHT * near);
        Found { listed, score }
    };
    let mut found: Vec<Found> = rows.into_iter().map(score).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.listed.to_ms.cmp(&a.listed.to_ms)));
    found
}

/// The condition for a viewer, and its values.
fn seen_by(viewer: &Viewer) -> (String, Vec<Value>) {
    match viewer {
        Viewer::Everything => (String::new(), Vec::new()),
        Viewer::Only(audiences) => {
            let values = audiences.iter().map(|audience| Value::Text(audience.to_string())).collect();
            (format!("AND audience IN ({})", vec!["?"; audiences.len()].join(", ")), values)
        }
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
