//! Names that many passages share, each kept once under a number.

use rusqlite::{Connection, Transaction};
use rustc_hash::FxHashMap;

/// The names by their numbers, as in the table `passage_names`.
#[derive(Default)]
pub(super) struct Names {
    by_name: FxHashMap<String, u32>,
    by_id: FxHashMap<u32, String>,
}

impl Names {
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut names = Self::default();
        let mut statement = connection.prepare("SELECT id, name FROM passage_names")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            names.learn(row.get(0)?, row.get(1)?);
        }
        Ok(names)
    }

    pub(super) fn id(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub(super) fn name(&self, id: u32) -> &str {
        self.by_id.get(&id).map_or("", String::as_str)
    }

    pub(super) fn learn(&mut self, id: u32, name: String) {
        self.by_id.insert(id, name.clone());
        self.by_name.insert(name, id);
    }
}

/// The number of a name in the table, which has it from then on.
pub(super) fn intern(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<u32> {
    let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO passage_names (name) VALUES (?1)")?;
    insert.execute([name])?;
    let mut select = transaction.prepare_cached("SELECT id FROM passage_names WHERE name = ?1")?;
    select.query_row([name], |row| row.get(0))
}
