//! What happens when the disk does not take a job. Inside the crate, because it takes a job that misbehaves.

use rusqlite::params;
use tempfile::TempDir;

use super::*;

fn writer() -> (TempDir, Database, Writer) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("homeagent.db")).expect("opens");
    database.migrate("journal", crate::schema::MIGRATIONS).expect("migrates");
    database.migrate("jobs", &["CREATE TABLE jobs (text TEXT NOT NULL UNIQUE)"]).expect("migrates");
    let writer = Writer::start(&database).expect("starts");
    (folder, database, writer)
}

fn insert(text: String) -> impl Fn(&Connection) -> Result<(), Failure> + Send + 'static {
    move |connection| Ok(connection.execute("INSERT INTO jobs (text) VALUES (?1)", params![text]).map(drop)?)
}

fn stored(database: &Database) -> i64 {
    let count = |connection: &Connection| connection.query_row("SELECT COUNT(*) FROM jobs", [], |row| row.get(0));
    database.read("counting", count).expect("counts")
}

#[tokio::test]
async fn a_full_disk_takes_the_small_jobs_and_says_so_to_the_big_one() {
    let (_folder, database, writer) = writer();
    let limit = |connection: &Connection| Ok(connection.execute_batch("PRAGMA max_page_count = 100")?);
    writer.write("limiting", limit).await.expect("limits");
    let big = writer.write("writing a big one", insert("大".repeat(1_000_000)));
    let small = (0..8).map(|number| writer.write("writing a small one", insert(number.to_string())));
    let (big, small) = tokio::join!(big, futures::future::join_all(small));
    let error = big.expect_err("does not fit");
    assert!(matches!(&error, JournalError::Database(DatabaseError::DiskFull { .. })), "{error:?}");
    assert!(small.iter().all(Result::is_ok), "{small:?}");
    assert_eq!(stored(&database), 8);
}

#[tokio::test]
async fn a_read_only_file_is_said_and_writing_goes_on_after() {
    let (_folder, database, writer) = writer();
    let read_only = |connection: &Connection| {
        connection.pragma_update(None, "query_only", true)?;
        let refused = insert("a".to_owned())(connection);
        connection.pragma_update(None, "query_only", false)?;
        refused
    };
    let error = writer.write("writing", read_only).await.expect_err("is refused");
    assert!(matches!(&error, JournalError::Database(DatabaseError::ReadOnly { .. })), "{error:?}");
    writer.write("writing", insert("a".to_owned())).await.expect("is written");
    assert_eq!(stored(&database), 1);
}

#[tokio::test]
async fn a_job_that_fails_takes_back_only_its_own() {
    let (_folder, database, writer) = writer();
    let twice = |connection: &Connection| {
        insert("b".to_owned())(connection)?;
        insert("a".to_owned())(connection)
    };
    let (first, second, third) = tokio::join!(
        writer.write("first", insert("a".to_owned())),
        writer.write("second", twice),
        writer.write("third", insert("c".to_owned())),
    );
    first.expect("is written");
    second.expect_err("breaks the rule");
    third.expect("is written");
    assert_eq!(stored(&database), 2);
}

#[tokio::test]
async fn a_locked_file_is_waited_for() {
    let (_folder, database, writer) = writer();
    let other = database.writer().expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("locks");
    let waiting = tokio::spawn(async move { writer.write("writing", insert("a".to_owned())).await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "the file is locked for as long as the other one has it");
    other.execute_batch("COMMIT").expect("unlocks");
    waiting.await.expect("ends").expect("is written");
}

#[tokio::test]
async fn work_is_done_although_nobody_waits() {
    let (_folder, database, writer) = writer();
    {
        let abandoned = writer.write("writing", insert("a".to_owned()));
        tokio::pin!(abandoned);
        // Polled once: it is queued, then dropped.
        assert!(futures::poll!(abandoned.as_mut()).is_pending());
    }
    writer.close().await;
    assert_eq!(stored(&database), 1);
    let error = writer.write("writing", insert("b".to_owned())).await.expect_err("is closed");
    assert!(matches!(error, JournalError::Closed));
}
