use homeagent_journal::{Acceptance, EventKind, JournalError};
use serde_json::json;

use crate::home::{CONVERSATION, Home, accept, event, start};

#[tokio::test]
async fn the_same_message_counts_once() {
    let (home, journal) = Home::new_journal();
    let key = Some(("qq", "消息-1"));
    let first =
        journal.accept_input(CONVERSATION, "a", key, json!({ "text": "你好" }), "family").await.expect("accepts");
    assert!(matches!(&first, Acceptance::Accepted { input_id, .. } if input_id == "a"), "{first:?}");
    drop(journal);

    let journal = home.journal();
    let duplicate = Acceptance::Duplicate { input_id: "a".to_owned() };
    let again = journal.accept_input(CONVERSATION, "b", key, json!({}), "family").await.expect("answers");
    assert_eq!(again, duplicate, "by the platform's id");
    let again = journal.accept_input(CONVERSATION, "a", None, json!({}), "family").await.expect("answers");
    assert_eq!(again, duplicate, "by our own id");
    let other = journal.accept_input(CONVERSATION, "c", Some(("web", "消息-1")), json!({}), "family").await;
    assert!(matches!(other, Ok(Acceptance::Accepted { .. })), "another channel's message of that id is another");

    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let events = journal.session_events(&session, true, 0, 10).await.expect("reads");
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].kind, events[0].audience.as_str()), (EventKind::InputAccepted, "family"));
    assert_eq!(events[0].payload, json!({ "text": "你好" }));
}

#[tokio::test]
async fn of_simultaneous_deliveries_one_counts() {
    let (_home, journal) = Home::new_journal();
    let ids: Vec<String> = (0..16).map(|number| format!("input {number}")).collect();
    let deliveries =
        ids.iter().map(|id| journal.accept_input(CONVERSATION, id, Some(("qq", "1")), json!({}), "family"));
    let answers = futures::future::join_all(deliveries).await;
    let accepted = answers.iter().filter(|answer| matches!(answer, Ok(Acceptance::Accepted { .. }))).count();
    assert_eq!(accepted, 1);
    assert!(answers.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_clock_that_jumps_a_year_ahead_or_back_makes_no_message_count_twice() {
    let (home, journal) = Home::new_journal();
    let year = 365_i64 * 24 * 3600 * 1000;
    for (id, jump) in [("back", year), ("ahead", -year)] {
        journal.accept_input(CONVERSATION, id, Some(("qq", id)), json!({}), "family").await.expect("accepts");
        let connection = home.database().writer().expect("a connection");
        connection.execute("UPDATE input_keys SET at_ms = at_ms + ?2 WHERE input = ?1", (id, jump)).expect("moves");
    }
    for id in ["back", "ahead", "back", "ahead"] {
        let again = journal.accept_input(CONVERSATION, "x", Some(("qq", id)), json!({}), "family").await;
        assert!(matches!(again, Ok(Acceptance::Duplicate { .. })), "{id}: {again:?}");
    }
}

#[tokio::test]
async fn platform_ids_are_forgotten_after_30_days_when_there_are_many_younger_ones() {
    let (home, journal) = Home::new_journal();
    let connection = home.database().writer().expect("a connection");
    connection
        .execute_batch(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 5000)
             INSERT INTO input_keys (channel, platform_id, input, at_ms)
             SELECT 'busy', n, n, 9000000000000 FROM number",
        )
        .expect("they can be written");
    for (id, days) in [("old", 31_i64), ("recent", 29)] {
        journal.accept_input(CONVERSATION, id, Some(("qq", id)), json!({}), "family").await.expect("accepts");
        let connection = home.database().writer().expect("a connection");
        let age = days * 24 * 3600 * 1000;
        connection.execute("UPDATE input_keys SET at_ms = at_ms - ?2 WHERE input = ?1", (id, age)).expect("ages");
    }
    let recent = journal.accept_input(CONVERSATION, "x", Some(("qq", "recent")), json!({}), "family").await;
    assert!(matches!(recent, Ok(Acceptance::Duplicate { .. })), "{recent:?}");
    let old = journal.accept_input(CONVERSATION, "y", Some(("qq", "old")), json!({}), "family").await;
    assert!(matches!(old, Ok(Acceptance::Accepted { .. })), "{old:?}");
}

#[tokio::test]
async fn an_input_is_taken_once() {
    let (_home, journal) = Home::new_journal();
    accept(&journal, "a").await;
    accept(&journal, "b").await;
    let (_, run) = start(&journal, &["a"]).await;
    let both = ["b".to_owned(), "a".to_owned()];
    let refused = journal.start_run(CONVERSATION, "me", &both).await;
    assert!(matches!(&refused, Err(JournalError::InputNotWaiting { state, .. }) if state == "taken"), "{refused:?}");
    let refused = journal.start_run(CONVERSATION, "me", &["没有".to_owned()]).await;
    assert!(matches!(refused, Err(JournalError::UnknownInput { .. })), "{refused:?}");
    assert_eq!(journal.runs(10, None).await.expect("reads").len(), 1, "the refused ones left no run");
    assert_eq!(journal.run(&run).await.expect("reads").expect("is there").audience, "family");
    start(&journal, &["b"]).await;
}

#[tokio::test]
async fn a_flushed_or_refused_input_waits_no_more() {
    let (_home, journal) = Home::new_journal();
    for id in ["a", "b", "c"] {
        accept(&journal, id).await;
    }
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let flushed = event(&session, None, EventKind::InputFlushed, json!({ "input_id": "a", "error": "stopping" }));
    let refused = event(&session, None, EventKind::InputRefused, json!({ "input_id": "b", "error": "too many" }));
    journal.append_all(vec![flushed, refused]).await.expect("appends");
    let pending = journal.recover().await.expect("recovers").pending_inputs;
    assert_eq!(pending.iter().map(|input| input.input_id.as_str()).collect::<Vec<_>>(), ["c"]);
    let late = journal.start_run(CONVERSATION, "me", &["a".to_owned()]).await;
    assert!(matches!(&late, Err(JournalError::InputNotWaiting { state, .. }) if state == "flushed"), "{late:?}");
}
