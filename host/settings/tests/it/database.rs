use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use homeagent_settings::{Database, DatabaseError};

use crate::home::Home;

const FIRST: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    INSERT INTO notes (text) VALUES ('你好');";
const SECOND: &str = "ALTER TABLE notes ADD COLUMN words INTEGER NOT NULL DEFAULT 1;";

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("the file exists").permissions().mode() & 0o777
}

#[test]
fn the_file_and_its_side_files_are_closed_to_others() {
    let home = Home::new();
    let path = home.folder.path().join("里面/homeagent.db");
    let database = Database::open(&path).expect("opens");
    database.migrate("notes", &[FIRST]).expect("migrates");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
    assert_eq!(mode(path.parent().expect("a folder")), 0o700);
}

#[test]
fn a_file_open_to_others_is_closed() {
    let home = Home::new();
    let path = home.database().path().to_path_buf();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("chmod");
    let _database = home.database();
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn commits_are_synced_and_logged_ahead() {
    let home = Home::new();
    let database = home.database();
    let pragma = |name| {
        database.read("asking", |connection| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)))
    };
    assert_eq!(pragma("synchronous").expect("answers"), 2);
    assert_eq!(pragma("foreign_keys").expect("answers"), 1);
    let log: String = database
        .read("asking", |connection| connection.pragma_query_value(None, "journal_mode", |row| row.get(0)))
        .expect("answers");
    assert_eq!(log, "wal");
}

#[test]
fn components_migrate_by_themselves_and_keep_their_data() {
    let home = Home::new();
    home.database().migrate("notes", &[FIRST]).expect("version 1");
    home.database().migrate("other", &["CREATE TABLE other (id INTEGER PRIMARY KEY)"]).expect("another component");

    let database = home.database();
    database.migrate("notes", &[FIRST, SECOND]).expect("version 2");
    database.migrate("notes", &[FIRST, SECOND]).expect("nothing left to do");
    let row: (String, i64) = database
        .read("reading a note", |connection| {
            connection.query_row("SELECT text, words FROM notes", [], |row| Ok((row.get(0)?, row.get(1)?)))
        })
        .expect("the old row is there");
    assert_eq!(row, ("你好".to_owned(), 1));
}

#[test]
fn a_newer_file_is_refused() {
    let home = Home::new();
    home.database().migrate("notes", &[FIRST, SECOND]).expect("version 2");
    let error = home.database().migrate("notes", &[FIRST]).expect_err("is refused");
    assert!(matches!(error, DatabaseError::Newer { found: 2, known: 1, .. }), "{error:?}");
    let sentence = error.to_string();
    assert!(
        sentence.contains("version 2") && sentence.contains("up to 1") && sentence.contains("newer program"),
        "{sentence}"
    );
}

#[test]
fn a_failed_migration_changes_nothing() {
    let home = Home::new();
    let database = home.database();
    database.migrate("notes", &[FIRST]).expect("version 1");
    let error = database.migrate("notes", &[FIRST, SECOND, "CREATE TABLE notes (again)"]).expect_err("fails");
    assert!(matches!(error, DatabaseError::Migration { from: 1, to: 3, .. }), "{error:?}");
    // The second script went with the third.
    database.migrate("notes", &[FIRST, SECOND]).expect("version 2 is still to be reached");
}

#[test]
fn a_failed_write_leaves_nothing() {
    let home = Home::new();
    let database = home.database();
    database.migrate("notes", &[FIRST]).expect("version 1");
    let failed = database.write("writing notes", |transaction| {
        transaction.execute("INSERT INTO notes (text) VALUES ('a')", [])?;
        transaction.execute("INSERT INTO nowhere (text) VALUES ('b')", [])
    });
    assert!(matches!(failed, Err(DatabaseError::Statement { doing: "writing notes", .. })), "{failed:?}");
    let count: i64 = database
        .read("counting", |connection| connection.query_row("SELECT COUNT(*) FROM notes", [], |row| row.get(0)))
        .expect("counts");
    assert_eq!(count, 1);
}

#[test]
fn a_reader_cannot_write() {
    let home = Home::new();
    let database = home.database();
    database.migrate("notes", &[FIRST]).expect("version 1");
    let reader = database.reader().expect("a reader");
    let source = reader.execute("DELETE FROM notes", []).expect_err("is refused");
    assert!(matches!(database.error("deleting", source), DatabaseError::ReadOnly { .. }));
}

#[test]
fn a_prepared_statement_is_planned_once() {
    let home = Home::new();
    let database = home.database();
    database.migrate("notes", &[FIRST, "CREATE INDEX longer ON notes (text) WHERE id > 5;"]).expect("migrates");
    for connection in [database.reader(), database.writer()].map(|opened| opened.expect("opens")) {
        let sql = "SELECT id FROM notes WHERE text = ?1 AND id > ?2 LIMIT ?3";
        let mut statement = connection.prepare(sql).expect("a statement");
        for limit in 0..9 {
            let rows = statement.query_map(("你好", limit, limit), |row| row.get::<_, i64>(0)).expect("reads");
            rows.collect::<Result<Vec<i64>, _>>().expect("rows");
        }
        assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
    }
}

#[test]
fn what_is_no_database_is_named() {
    let home = Home::new();
    let path = home.folder.path().join("homeagent.db");
    fs::write(&path, "这不是数据库。".repeat(1000)).expect("writes");
    let error = Database::open(&path).expect_err("is refused");
    assert!(matches!(error, DatabaseError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains(path.to_str().expect("UTF-8")), "{error}");
}

#[test]
fn a_damaged_page_is_named() {
    let home = Home::new();
    let database = home.database();
    database.migrate("notes", &[FIRST]).expect("version 1");
    let path = database.path().to_path_buf();
    drop(database);
    let mut bytes = fs::read(&path).expect("reads");
    bytes[4096..].fill(0xff);
    fs::write(&path, bytes).expect("writes");
    let error = Database::open(&path).and_then(|database| database.migrate("notes", &[FIRST])).expect_err("is refused");
    assert!(matches!(error, DatabaseError::Damaged { .. }), "{error:?}");
}
