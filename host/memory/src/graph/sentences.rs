//! Where relations were said.

use homeagent_types::Viewer;
use rusqlite::{Row, params};

use super::show::Showing;
use super::{Graph, GraphError, Sentence};

impl Showing<'_> {
    /// The sentences behind rows of a relation, the last one first.
    pub(super) fn sentences_of(&self, rows: &[i64], limit: u32) -> rusqlite::Result<Vec<Sentence>> {
        let sql = format!(
            "SELECT id, text, origin, speaker, at FROM evidence JOIN sentences ON sentences.id = sentence
             WHERE relation = ?1 AND {} ORDER BY at DESC, id DESC LIMIT ?2",
            self.seen.condition("audience")
        );
        let read = |row: &Row<'_>| {
            Ok(Sentence {
                id: row.get(0)?,
                text: row.get(1)?,
                origin: row.get(2)?,
                speaker: row.get(3)?,
                at: row.get(4)?,
            })
        };
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found: Vec<Sentence> = Vec::new();
        for relation in rows {
            for sentence in statement.query_map(params![relation, limit], read)? {
                found.push(sentence?);
            }
        }
        found.sort_by_key(|sentence| (-sentence.at, -sentence.id));
        found.dedup_by_key(|sentence| sentence.id);
        found.truncate(limit as usize);
        Ok(found)
    }
}

impl Graph {
    /// The sentences in which a relation was said, the last one first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn sentences_of(&self, relation: i64, limit: u32, viewer: &Viewer) -> Result<Vec<Sentence>, GraphError> {
        self.show("reading sentences", viewer, |showing| {
            let rows: Vec<i64> = showing.relation(relation)?.iter().flat_map(super::Relation::ids).collect();
            Ok(showing.sentences_of(&rows, limit)?)
        })
    }

    /// The places in the journal and in documents where something was said of an entity, the last one first.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn origins_of(&self, entity: i64, limit: u32, viewer: &Viewer) -> Result<Vec<String>, GraphError> {
        self.show("reading sentences", viewer, |showing| {
            let condition = showing.seen.condition("sentences.audience");
            let mut found: Vec<(i64, String)> = Vec::new();
            for entity in showing.merged.cluster(entity) {
                for end in ["subject", "object"] {
                    let sql = format!(
                        "SELECT sentences.at, origin FROM relations JOIN evidence ON relation = relations.id
                         JOIN sentences ON sentences.id = sentence
                         WHERE {end} = ?1 AND retracted_at IS NULL AND {condition}
                         ORDER BY relations.last_at DESC LIMIT ?2"
                    );
                    let mut statement = showing.connection.prepare_cached(&sql)?;
                    for row in statement.query_map(params![entity, limit], |row| Ok((row.get(0)?, row.get(1)?)))? {
                        found.push(row?);
                    }
                }
            }
            found.sort_by(|a, b| b.cmp(a));
            let mut seen = std::collections::HashSet::new();
            let distinct = found.into_iter().map(|(_, origin)| origin).filter(|origin| seen.insert(origin.clone()));
            Ok(distinct.take(limit as usize).collect())
        })
    }
}
