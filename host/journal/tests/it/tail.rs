use homeagent_journal::{EventFilter, EventKind, Journal, RunStatus};
use serde_json::{Value, json};

use crate::home::{CONVERSATION, Home, accept, event, start};

/// Reads from a place on until there is nothing more; the places of what was read.
async fn all_after(journal: &Journal, mut place: i64, filter: &EventFilter) -> Vec<i64> {
    let mut places = Vec::new();
    loop {
        let tail = journal.events_after(place, filter.clone()).await.expect("reads");
        if tail.reached == place {
            return places;
        }
        place = tail.reached;
        places.extend(tail.events.iter().map(|event| event.seq));
    }
}

#[tokio::test]
async fn whoever_follows_gets_every_event_once_however_many_there_are() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let note = |n: usize| event(&session, None, EventKind::ModelCalled, json!({ "n": n }));
    let many = journal.append_all((0..1000).map(note).collect()).await.expect("appends");
    let large: String = "x".repeat(600 << 10);
    let large = event(&session, None, EventKind::ToolResultRecorded, json!({ "text": large }));
    let large = journal.append_all(vec![large; 5]).await.expect("appends");
    let all = EventFilter::default();
    assert_eq!(all_after(&journal, 0, &all).await, [many.clone(), large.clone()].concat());
    assert_eq!(all_after(&journal, many[998], &all).await, [vec![many[999]], large.clone()].concat());
    let page = journal.events_after(many[999], all).await.expect("reads");
    assert!(page.events.len() < 5, "so much text is not read at once");
}

#[tokio::test]
async fn a_filter_leaves_out_the_rest_and_still_gets_to_the_end() {
    let (_home, journal) = Home::new_journal();
    accept(&journal, "a").await;
    let (session, run) = start(&journal, &["a"]).await;
    let hidden = event(&session, Some(&run), EventKind::SystemPromptSnapshotted, json!({}));
    journal.append(hidden).await.expect("appends");
    let other = event(&session, None, EventKind::ModelCalled, json!({}));
    journal.append(other).await.expect("appends");
    journal.finish_run(&run, Vec::new(), RunStatus::Completed, None, None, Value::Null).await.expect("finishes");
    let kinds = async |filter: EventFilter| {
        let tail = journal.events_after(0, filter).await.expect("reads");
        assert_eq!(tail.reached, *journal.tip().borrow(), "it goes to the end");
        tail.events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(EventFilter::default()).await, ["input_accepted", "run_started", "model_called"]);
    let of_run = EventFilter { run: Some(run), hidden: true, ..EventFilter::default() };
    assert_eq!(kinds(of_run).await, ["run_started", "system_prompt_snapshotted", "run_completed"]);
    let chosen = EventFilter { kinds: vec![EventKind::RunStarted], ..EventFilter::default() };
    assert_eq!(kinds(chosen).await, ["run_started"]);
    let elsewhere = EventFilter { conversation: Some("qq:1".into()), ..EventFilter::default() };
    assert!(kinds(elsewhere).await.is_empty());
}

#[tokio::test]
async fn events_are_read_by_their_places_in_order_and_what_is_not_there_is_left_out() {
    let (_home, journal) = Home::new_journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let note = |n: usize| event(&session, None, EventKind::MemoryRecalled, json!({ "n": n }));
    let places = journal.append_all((0..5).map(note).collect()).await.expect("appends");
    let found = journal.events_at(vec![places[4], places[4] + 9, places[1], places[4], -1]).await.expect("reads");
    assert_eq!(found.iter().map(|event| event.seq).collect::<Vec<_>>(), [places[1], places[4]]);
    assert!(found.iter().all(|event| event.hidden));
}

#[tokio::test]
async fn the_end_is_known_at_once_and_told_when_it_moves() {
    let home = Home::new();
    let journal = home.journal();
    let mut tip = journal.tip();
    assert_eq!(*tip.borrow(), 0);
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let seq = journal.append(event(&session, None, EventKind::ModelCalled, json!({}))).await.expect("appends");
    tip.wait_for(|last| *last == seq).await.expect("it is told");
    journal.close().await;
    assert_eq!(*home.journal().tip().borrow(), seq, "another start knows it too");
}

#[tokio::test]
async fn a_damaged_event_holds_nobody_up() {
    let home = Home::new();
    let journal = home.journal();
    let session = journal.current_session(CONVERSATION).await.expect("a session");
    let note = |n: usize| event(&session, None, EventKind::ModelCalled, json!({ "n": n }));
    let places = journal.append_all((0..3).map(note).collect()).await.expect("appends");
    let damage = format!("UPDATE events SET payload = 'half a te' WHERE seq = {}", places[1]);
    home.database().write("damaging an event", |transaction| transaction.execute(&damage, [])).expect("writes");
    assert_eq!(all_after(&journal, 0, &EventFilter::default()).await, [places[0], places[2]]);
}
