//! Which entities are one. Merging moves nothing: an entity points at what it was merged into, so undoing it in any order
//! gives back exactly what was.

use std::collections::HashMap;

use rusqlite::Connection;

/// The merges in force. There are few, so they are kept in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    into: HashMap<i64, i64>,
    from: HashMap<i64, Vec<i64>>,
}

impl Merged {
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut merged = Self::default();
        let mut statement =
            connection.prepare("SELECT id, merged_into FROM entities WHERE merged_into IS NOT NULL ORDER BY id")?;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (entity, into): (i64, i64) = row?;
            merged.into.insert(entity, into);
            merged.from.entry(into).or_default().push(entity);
        }
        Ok(merged)
    }

    /// The entity that stands for this one.
    pub(super) fn root(&self, entity: i64) -> i64 {
        let mut at = entity;
        // Only roots are merged, so there is no circle; the bound keeps a damaged file from being one.
        for _ in 0..=self.into.len() {
            match self.into.get(&at) {
                Some(next) => at = *next,
                None => break,
            }
        }
        at
    }

    /// All entities that are one with this one, itself among them, sorted.
    pub(super) fn cluster(&self, entity: i64) -> Vec<i64> {
        let mut all = vec![self.root(entity)];
        let mut next = 0;
        while let Some(at) = all.get(next).copied() {
            let below = self.from.get(&at).into_iter().flatten();
            let fresh: Vec<i64> = below.filter(|below| !all.contains(below)).copied().collect();
            all.extend(fresh);
            next += 1;
        }
        all.sort_unstable();
        all
    }

    /// All clusters of more than one, in the order of the entities that stand for them.
    pub(super) fn clusters(&self) -> Vec<Vec<i64>> {
        let mut roots: Vec<i64> = self.into.keys().map(|entity| self.root(*entity)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots.into_iter().map(|root| self.cluster(root)).collect()
    }
}
