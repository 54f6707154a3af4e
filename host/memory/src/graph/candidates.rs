//! What the distiller asks the graph for: names to compare and relations that stand on little.

use std::collections::BTreeSet;

use homeagent_types::{Audience, Viewer};
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

    /// What relations with a number above `after` are about, in their order, at most `limit` of them: the entities at their ends,
    /// and the last of the relations; none where there are no more. For the memory's own work, which shows them to nobody.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn told_after(&self, after: i64, limit: u32) -> Result<Option<(Vec<i64>, i64)>, GraphError> {
        let merged = self.merged();
        self.read("reading what was told lately", |connection| {
            let sql = "SELECT id, subject, object FROM relations WHERE id > ?1 ORDER BY id LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![after, limit])?;
            let (mut entities, mut last) = (BTreeSet::new(), None);
            while let Some(row) = rows.next()? {
                last = Some(row.get(0)?);
                let ends: [Option<i64>; 2] = [row.get(1)?, row.get(2)?];
                entities.extend(ends.into_iter().flatten().map(|end| merged.root(end)));
            }
            Ok(last.map(|last| (entities.into_iter().collect(), last)))
        })
    }

    /// The audiences before which something was told of an entity. For the memory's own work, which shows them to nobody.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn audiences_of(&self, entity: i64) -> Result<Vec<Audience>, GraphError> {
        let merged = self.merged();
        self.read("reading who was told of an entity", |connection| {
            let sql = "SELECT text FROM graph_audiences WHERE id IN (
                           SELECT audience FROM relations WHERE subject = ?1 UNION
                           SELECT audience FROM relations WHERE object = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            let mut found = BTreeSet::new();
            for entity in merged.cluster(entity) {
                for text in statement.query_map([entity], |row| row.get::<_, String>(0))? {
                    found.insert(text?);
                }
            }
            Ok(found.iter().map(|text| Audience::parse(text)).collect())
        })
    }

    /// Makes the words anew by which names and values are found, in one transaction: they are found as before until it is done.
    ///
    /// # Errors
    ///
    /// What the database answers; then they are as they were.
    pub fn feed_anew(&self) -> Result<(), GraphError> {
        self.write("making the graph's terms anew", |writing| Ok(super::terms::make_anew(writing.connection)?))
    }
}
