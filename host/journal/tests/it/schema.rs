use homeagent_journal::{EventKind, Journal, JournalError};
use homeagent_settings::DatabaseError;
use serde_json::json;

use crate::home::{CONVERSATION, Home, event};

/// A second version that does not exist: what matters is that the first one's data goes through it.
const SECOND: &str = "ALTER TABLE events ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
    UPDATE events SET words = length(payload);";

/// Only how many there are counts: the first has been run.
const FIRST: &str = "this is never run again";

#[tokio::test]
async fn version_1_with_data_goes_to_version_2() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    journal.append(event(&session, None, EventKind::UserMessageAdded, json!("你好"))).await.expect("appends");
    journal.close().await;
    let database = home.database();
    database.migrate("journal", &[FIRST, SECOND]).expect("migrates");
    let words: i64 = database
        .read("reading", |connection| connection.query_row("SELECT words FROM events", [], |row| row.get(0)))
        .expect("the event is there");
    assert_eq!(words, 4);
}

#[tokio::test]
async fn a_newer_journal_is_refused() {
    let (home, journal) = Home::new_journal();
    journal.close().await;
    home.database().migrate("journal", &[FIRST, SECOND]).expect("migrates");
    let error = Journal::open(&home.database()).err().expect("is refused");
    assert!(
        matches!(&error, JournalError::Database(DatabaseError::Newer { found: 2, known: 1, component, .. }) if component == "journal"),
        "{error:?}"
    );
}
