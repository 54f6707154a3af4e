use homeagent_journal::{EventKind, Journal, JournalError};
use homeagent_settings::DatabaseError;
use serde_json::json;

use crate::home::{CONVERSATION, Home, event};

/// A version that does not exist: what matters is that the data of the one before goes through it.
const NEXT: &str = "ALTER TABLE events ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
    UPDATE events SET words = length(payload);";

/// Only how many there are counts: they have been run.
const RUN: &str = "this is never run again";

#[tokio::test]
async fn a_journal_with_data_goes_to_the_next_version() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    journal.append(event(&session, None, EventKind::UserMessageAdded, json!("你好"))).await.expect("appends");
    journal.close().await;
    let database = home.database();
    database.migrate("journal", &[RUN, RUN, NEXT]).expect("migrates");
    let words: i64 = database
        .read("reading", |connection| connection.query_row("SELECT words FROM events", [], |row| row.get(0)))
        .expect("the event is there");
    assert_eq!(words, 4);
}

#[tokio::test]
async fn a_newer_journal_is_refused() {
    let (home, journal) = Home::new_journal();
    journal.close().await;
    home.database().migrate("journal", &[RUN, RUN, NEXT]).expect("migrates");
    let error = Journal::open(&home.database()).err().expect("is refused");
    assert!(
        matches!(&error, JournalError::Database(DatabaseError::Newer { found: 3, known: 2, component, .. }) if component == "journal"),
        "{error:?}"
    );
}
