//! Looking through the whole file for damage.

use rusqlite::Connection;

use super::{Database, DatabaseError};

impl Database {
    /// Reads the whole file and says what is damaged: a sentence for each table, with what to do. On a large file it
    /// takes seconds; meanwhile others read and write.
    ///
    /// What is damaged inside a value - a text with other letters in it - does not show here.
    ///
    /// # Errors
    ///
    /// As for [`Database::read`], where not even the names of the tables can be read.
    pub fn damage(&self) -> Result<Vec<String>, DatabaseError> {
        let connection = self.reader()?;
        let tables = table_names(&connection).map_err(|source| self.error("looking for damage", source))?;
        let findings = tables.iter().filter_map(|table| Some((table, finding(&connection, table)?)));
        let path = self.path().display();
        let sentence = |(table, words): (&String, String)| {
            format!(
                "the table {table} in {path} is damaged ({words}); what lies elsewhere is served as before. Stop the \
                 daemon, move the file away together with its -wal and -shm files, and put a backup in its place; \
                 without a backup, `sqlite3 {path} .recover` saves what can still be read"
            )
        };
        Ok(findings.map(sentence).collect())
    }
}

fn table_names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// What SQLite says of a table and its indexes, in one line; nothing where they are whole.
fn finding(connection: &Connection, table: &str) -> Option<String> {
    let mut words = String::from("ok");
    let checked = connection.pragma(None, "quick_check", table, |row| {
        if words == "ok" {
            words = row.get(0)?;
        }
        Ok(())
    });
    match checked {
        Ok(()) if words == "ok" => None,
        Ok(()) => Some(words.lines().next_back().unwrap_or_default().to_owned()),
        Err(error) => Some(error.to_string()),
    }
}
