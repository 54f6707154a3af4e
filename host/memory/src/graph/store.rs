//! Small facts about the graph as a whole.

use rusqlite::{Connection, OptionalExtension as _, params};

/// Makes the salt of the tombstones' hashes, once.
pub(super) fn prepare_salt(connection: &Connection) -> rusqlite::Result<()> {
    let salt = format!("{}{}", uuid::Uuid::now_v7().simple(), uuid::Uuid::now_v7().simple());
    connection.execute("INSERT OR IGNORE INTO graph_meta (key, value) VALUES ('salt', ?1)", [salt]).map(drop)
}

/// What was noted under a key.
pub(super) fn noted(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT value FROM graph_meta WHERE key = ?1", [key], |row| row.get(0)).optional()
}

/// Notes something under a key.
pub(super) fn note(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO graph_meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
    connection.execute(sql, params![key, value]).map(drop)
}
