use homeagent_journal::{EventKind, JournalError, NewEvent};
use serde_json::json;

use crate::home::{CONVERSATION, Home, event};

#[test]
fn kinds_have_names_everywhere_the_same() {
    for kind in EventKind::ALL {
        assert_eq!(EventKind::from_name(kind.as_str()), Some(kind));
        assert_eq!(serde_json::to_value(kind).expect("serializes"), json!(kind.as_str()));
    }
    assert_eq!(EventKind::from_name("something_else"), None);
    assert_eq!(EventKind::ALL.into_iter().filter(|kind| kind.hidden()).count(), 6);
}

#[tokio::test]
async fn an_event_is_read_as_it_was_written() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let payload = json!({ "text": "你好，世界 👋 \"引号\" \u{0} end", "number": 1.5, "nested": [null, true] });
    let written = event(&session, None, EventKind::UserMessageAdded, payload);
    let seq = journal.append(written.clone()).await.expect("appends");
    let events = journal.session_events(&session, false, 0, 10).await.expect("reads");
    let [read] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(read.seq, seq);
    assert!(read.at_ms > 1_700_000_000_000);
    assert!(!read.hidden && read.run.is_none());
    let again = NewEvent {
        session: read.session.clone(),
        run: read.run.clone(),
        conversation: read.conversation.clone(),
        kind: read.kind,
        audience: read.audience.clone(),
        payload: read.payload.clone(),
    };
    assert_eq!(again, written);
}

#[tokio::test]
async fn kinds_with_an_operation_are_not_appended() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    for kind in [EventKind::InputAccepted, EventKind::RunStarted, EventKind::RunCompleted, EventKind::RunFailed] {
        let refused = journal.append(event(&session, None, kind, json!({}))).await;
        assert!(matches!(refused, Err(JournalError::ReservedKind { .. })), "{refused:?}");
    }
    for kind in [EventKind::OutputQueued, EventKind::OutputSent, EventKind::OutputUnknown, EventKind::InputFlushed] {
        let refused = journal.append(event(&session, None, kind, json!({ "output_id": 7 }))).await;
        assert!(matches!(refused, Err(JournalError::MissingField { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn an_event_of_nothing_known_is_refused() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let kind = EventKind::UserMessageAdded;
    for stray in [event("nowhere", None, kind, json!({})), event(&session, Some("no run"), kind, json!({}))] {
        let refused = journal.append(stray).await;
        assert!(matches!(refused, Err(JournalError::UnknownOwner { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn several_events_are_appended_all_or_none() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let good = event(&session, None, EventKind::UserMessageAdded, json!({}));
    let bad = event("nowhere", None, EventKind::UserMessageAdded, json!({}));
    journal.append_all(vec![good.clone(), bad]).await.expect_err("one is bad");
    assert!(journal.session_events(&session, false, 0, 10).await.expect("reads").is_empty());
    let seqs = journal.append_all(vec![good.clone(), good]).await.expect("appends");
    assert!(seqs[0] < seqs[1]);
    assert!(journal.append_all(Vec::new()).await.expect("nothing is fine").is_empty());
}
