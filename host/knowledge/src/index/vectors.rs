//! The vectors of chunks, each with the model that made it.

use homeagent_language::embed::int8::Quantised;
use homeagent_settings::DatabaseError;
use rusqlite::params;

use super::Index;

/// A vector as it is kept, and what it is of.
pub(crate) struct StoredVector {
    pub(crate) chunk: i64,
    pub(crate) base: i64,
    pub(crate) vector: Quantised,
}

impl Index {
    /// All vectors of a model.
    pub(crate) fn vectors(&self, model: &str) -> Result<Vec<StoredVector>, DatabaseError> {
        self.read("reading the vectors of the knowledge base", |connection| {
            let sql = "SELECT v.chunk, c.base, v.scale, v.steps FROM vectors v JOIN chunks c ON c.id = v.chunk
                       WHERE v.model = (SELECT id FROM models WHERE identity = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([model], |row| {
                let steps: Vec<u8> = row.get(3)?;
                let values = steps.into_iter().map(|step| i8::from_le_bytes([step])).collect();
                let vector = Quantised { scale: row.get(2)?, values };
                Ok(StoredVector { chunk: row.get(0)?, base: row.get(1)?, vector })
            })?;
            rows.collect()
        })
    }

    /// Chunks behind this one, by their ids, that have no vector of a model; with what the vector is made of.
    pub(crate) fn without_vector(
        &self,
        model: &str,
        after: i64,
        most: usize,
    ) -> Result<Vec<(i64, String)>, DatabaseError> {
        self.read("looking for passages without vectors", |connection| {
            let sql = "SELECT c.id, c.headings, c.lead, c.text FROM chunks c
                       WHERE c.id > ?2 AND NOT EXISTS (
                           SELECT 1 FROM vectors v JOIN models m ON m.id = v.model
                           WHERE v.chunk = c.id AND m.identity = ?1)
                       ORDER BY c.id LIMIT ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![model, after, most], |row| {
                let headings: Vec<String> = serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default();
                let lead: Option<String> = row.get(2)?;
                let parts = [headings.join(" > "), lead.unwrap_or_default(), row.get(3)?];
                let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                Ok((row.get(0)?, parts.join("\n")))
            })?;
            rows.collect()
        })
    }

    /// Keeps vectors of a model, in the place of those of other models; the bases that the chunks are of, for those that
    /// are still there.
    pub(crate) fn put_vectors(
        &self,
        model: &str,
        vectors: &[(i64, Quantised)],
    ) -> Result<Vec<(i64, i64)>, DatabaseError> {
        self.database().write("keeping vectors of the knowledge base", |transaction| {
            transaction.execute("INSERT OR IGNORE INTO models (identity) VALUES (?1)", [model])?;
            let mut bases = Vec::with_capacity(vectors.len());
            for (chunk, vector) in vectors {
                let steps: Vec<u8> = vector.values.iter().map(|step| step.to_le_bytes()[0]).collect();
                let sql = "INSERT INTO vectors (chunk, model, scale, steps)
                           SELECT id, (SELECT id FROM models WHERE identity = ?2), ?3, ?4 FROM chunks WHERE id = ?1
                           ON CONFLICT (chunk) DO UPDATE SET model = excluded.model, scale = excluded.scale,
                               steps = excluded.steps";
                let put =
                    transaction.prepare_cached(sql)?.execute(params![chunk, model, f64::from(vector.scale), steps])?;
                if put > 0 {
                    let sql = "SELECT base FROM chunks WHERE id = ?1";
                    bases.push((*chunk, transaction.prepare_cached(sql)?.query_row([chunk], |row| row.get(0))?));
                }
            }
            Ok(bases)
        })
    }
}
