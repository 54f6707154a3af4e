//! What the distiller asks the graph for: names to compare and relations that stand on little.

use homeagent_types::Viewer;
use rusqlite::params;

use super::{EntityKind, FOREIGN_LABEL, Graph, GraphError, Relation};

/// A name, for comparing it with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRow {
    /// The name's row, by which its vector is kept.
    pub row: i64,
    /// Whose it is, after merges.
    pub entity: i64,
    /// The name.
    pub text: String,
    /// Of what kind.
    pub kind: EntityKind,
    /// Who heard it, in text form.
    pub audience: String,
}

/// Which relations stand on little.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weakness {
    /// Less sure than this.
    pub confidence: f32,
    /// Said in this many sentences at most.
    pub mentions: i64,
    /// Last said before this moment, in milliseconds since 1970 UTC.
    pub before_ms: i64,
}

impl Graph {
    /// The names with a row number above `after`, in their order, at most `limit`. For the memory's own work, which shows
    /// them to nobody.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn name_rows(&self, after: i64, limit: u32) -> Result<Vec<NameRow>, GraphError> {
        let merged = self.merged();
        self.read("reading names to compare", |connection| {
            let sql = "SELECT names.id, entity, names.text, kind, graph_audiences.text FROM names
                       JOIN graph_audiences ON graph_audiences.id = audience
                       WHERE names.id > ?1 ORDER BY names.id LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![after, limit], |row| {
                Ok(NameRow {
                    row: row.get(0)?,
                    entity: merged.root(row.get(1)?),
                    text: row.get(2)?,
                    kind: EntityKind::parse(&row.get::<_, String>(3)?),
                    audience: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Relations that hold and stand on little, with a number above `after`, in their order, at most `limit`; not
    /// such as others may have written, which stay as they were told. For the memory's own work, which shows them to nobody.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn weak(&self, weakness: Weakness, after: i64, limit: u32) -> Result<Vec<Relation>, GraphError> {
        self.show("looking for weak relations", &Viewer::Everything, |showing| {
            let sql = "SELECT id FROM relations WHERE id > ?1 AND confidence < ?2 AND mentions <= ?3 AND last_at < ?4
                       AND retracted_at IS NULL AND valid_to IS NULL
                       AND instr(' ' || kinds || ' ', ' ' || ?5 || ' ') = 0 ORDER BY id LIMIT ?6";
            let mut statement = showing.connection.prepare_cached(sql)?;
            let Weakness { confidence, mentions, before_ms } = weakness;
            let row = params![after, confidence, mentions, before_ms, FOREIGN_LABEL, limit];
            let ids: Vec<i64> = statement.query_map(row, |row| row.get(0))?.collect::<Result<_, _>>()?;
            drop(statement);
            let mut found = Vec::new();
            for id in ids {
                found.extend(showing.relation(id)?);
            }
            Ok(found)
        })
    }
}
