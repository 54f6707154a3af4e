use std::collections::HashSet;
use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use homeagent_journal::{EventKind, Journal, JournalError};
use homeagent_settings::DatabaseError;
use serde_json::json;

use crate::home::{CONVERSATION, Home, event};

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_appenders_share_commits() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let appenders = (0..64).map(|appender| {
        let (journal, session) = (journal.clone(), session.clone());
        tokio::spawn(async move {
            let mut seqs = Vec::new();
            for number in 0..10 {
                let payload = json!({ "appender": appender, "number": number });
                let event = event(&session, None, EventKind::UserMessageAdded, payload);
                seqs.push(journal.append(event).await.expect("appends"));
            }
            assert!(seqs.is_sorted(), "one appender's events keep their order");
            seqs
        })
    });
    let mut seqs = HashSet::new();
    for appender in futures::future::join_all(appenders).await {
        seqs.extend(appender.expect("ends"));
    }
    assert_eq!(seqs.len(), 640);
    drop(journal);
    let events = home.journal().session_events(&session, true, 0, 10_000).await.expect("reads");
    assert_eq!(events.len(), 640);
    assert!(events.is_sorted_by_key(|event| event.seq));
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_drop_without_close() {
    let home = Home::new();
    for round in 1..=3 {
        let journal = home.journal();
        let session = journal.current_session(CONVERSATION).await.expect("a session");
        journal.append(event(&session, None, EventKind::UserMessageAdded, json!(round))).await.expect("appends");
        let events = journal.session_events(&session, true, 0, 100).await.expect("reads");
        assert_eq!(events.len(), round, "and is read at once");
    }
}

#[tokio::test]
async fn a_closed_journal_is_read_and_not_written() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let message = event(&session, None, EventKind::UserMessageAdded, json!("你好"));
    journal.append(message.clone()).await.expect("appends");
    journal.close().await;
    journal.close().await;
    assert!(matches!(journal.append(message).await, Err(JournalError::Closed)));
    assert_eq!(journal.session_events(&session, true, 0, 10).await.expect("reads").len(), 1);
    let log = home.database().path().with_extension("db-wal");
    assert_eq!(fs::metadata(log).map(|file| file.len()).unwrap_or(0), 0, "the log is folded in");
}

#[tokio::test]
async fn reads_do_not_wait_for_a_writer() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let other = home.database().writer().expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("locks");
    let reads = (0..8).map(|_| journal.session_events(&session, true, 0, 10));
    let reads = futures::future::join_all(reads);
    let answers = tokio::time::timeout(std::time::Duration::from_secs(5), reads).await.expect("answers");
    assert!(answers.iter().all(Result::is_ok));
}

#[tokio::test]
async fn damage_is_an_error_that_names_the_file() {
    let home = Home::new();
    let journal = home.journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let events = (0..200).map(|_| event(&session, None, EventKind::UserMessageAdded, json!("字".repeat(500))));
    journal.append_all(events.collect()).await.expect("appends");
    journal.close().await;
    drop(journal);
    let path = home.database().path().to_path_buf();
    let mut file = fs::OpenOptions::new().write(true).open(&path).expect("opens");
    let length = file.metadata().expect("has a length").len();
    // The first and the last pages stay, so that the damage is met in use and not at start.
    file.seek(SeekFrom::Start(length / 2)).expect("seeks");
    file.write_all(&vec![0xff; usize::try_from(length / 4).expect("fits")]).expect("writes");
    drop(file);

    let journal = Journal::open(&home.database()).expect("the beginning is whole");
    let error = journal.session_events(&session, true, 0, 1000).await.expect_err("is damaged");
    assert!(matches!(&error, JournalError::Database(DatabaseError::Damaged { .. })), "{error:?}");
    assert!(error.to_string().contains(path.to_str().expect("UTF-8")), "{error}");
}

#[tokio::test]
async fn the_log_beside_the_database_stays_small_however_much_is_written() {
    let (home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    for _ in 0..40 {
        let large = || event(&session, None, EventKind::UserMessageAdded, json!({ "text": "x".repeat(64 << 10) }));
        journal.append_all((0..32).map(|_| large()).collect()).await.expect("appends");
    }
    let log = fs::metadata(home.folder.path().join("homeagent.db-wal")).expect("there is a log").len();
    assert!(log < 60 << 20, "80 MB were written, and the log keeps {log} bytes");
    journal.close().await;
    let log = fs::metadata(home.folder.path().join("homeagent.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "it is folded in when the journal closes");
}
