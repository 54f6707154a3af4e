use homeagent_journal::EventKind;
use serde_json::json;

use crate::home::{CONVERSATION, Home, event};

#[tokio::test]
async fn each_conversation_has_one_current_session() {
    let (home, journal) = Home::new_journal();
    let first = journal.current_session(CONVERSATION).await.expect("a session");
    assert_eq!(journal.current_session(CONVERSATION).await.expect("the same"), first);
    let other = journal.current_session("cli").await.expect("another's");
    assert_ne!(other, first);
    let second = journal.new_session(CONVERSATION).await.expect("a new one");
    assert_ne!(second, first);
    drop(journal);

    let journal = home.journal();
    assert_eq!(journal.current_session(CONVERSATION).await.expect("the newer"), second);
    assert_eq!(journal.current_session("cli").await.expect("is untouched"), other);
    let sessions = journal.sessions().await.expect("reads");
    let listed: Vec<_> = sessions.iter().map(|session| (&session.id, session.ended_at.is_some())).collect();
    assert_eq!(listed, [(&second, false), (&other, false), (&first, true)]);
}

#[tokio::test]
async fn simultaneous_first_inputs_share_a_session() {
    let (_home, journal) = Home::new_journal();
    let asked = (0..16).map(|_| journal.current_session(CONVERSATION));
    let mut ids: Vec<_> = futures::future::join_all(asked).await.into_iter().map(|id| id.expect("a session")).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn session_events_are_paged_and_filtered() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let events = (0..6).map(|number| {
        let kind = if number % 2 == 0 { EventKind::UserMessageAdded } else { EventKind::SkillActivationSnapshotted };
        event(&session, None, kind, json!({ "number": number }))
    });
    let seqs = journal.append_all(events.collect()).await.expect("appends");
    let read = async |visible_only, from, limit| {
        let events = journal.session_events(&session, visible_only, from, limit).await.expect("reads");
        events.iter().map(|event| event.payload["number"].as_i64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(read(false, 0, 100).await, [0, 1, 2, 3, 4, 5]);
    assert_eq!(read(true, 0, 100).await, [0, 2, 4]);
    assert_eq!(read(false, seqs[3], 2).await, [3, 4]);
    assert_eq!(read(true, seqs[3], 100).await, [4]);
    assert!(read(true, 0, 0).await.is_empty());
}

#[tokio::test]
async fn history_is_the_newest_messages_of_the_current_session() {
    let (_home, journal) = Home::new_journal();
    let old = journal.current_session(CONVERSATION).await.expect("a session");
    journal.append(event(&old, None, EventKind::UserMessageAdded, json!("before"))).await.expect("appends");
    let session = journal.new_session(CONVERSATION).await.expect("a new one");
    let kinds = [
        EventKind::UserMessageAdded,
        EventKind::ModelCalled,
        EventKind::AssistantMessageAdded,
        EventKind::ToolStarted,
        EventKind::ToolResultRecorded,
        EventKind::ToolResultRecorded,
        EventKind::SystemPromptSnapshotted,
        EventKind::AssistantMessageAdded,
        EventKind::OutputQueued,
    ];
    let numbered = kinds.iter().enumerate();
    let events = numbered.map(|(number, kind)| event(&session, None, *kind, json!({ "n": number, "output_id": "o" })));
    journal.append_all(events.collect()).await.expect("appends");
    let read = async |limit| {
        let events = journal.conversation_history(CONVERSATION, limit).await.expect("reads");
        events.iter().map(|event| event.payload["n"].as_i64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(read(100).await, [0, 2, 4, 5, 7]);
    assert_eq!(read(4).await, [2, 4, 5, 7]);
    assert_eq!(read(3).await, [7], "results whose call is cut off are left out");
    assert_eq!(read(0).await, [0_i64; 0]);
    assert!(journal.conversation_history("nobody", 10).await.expect("reads").is_empty());
}
