use homeagent_journal::{EventKind, JournalError, RunStatus};
use serde_json::{Value, json};

use crate::home::{Home, accept, event, start};

#[tokio::test]
async fn a_run_is_recorded_from_start_to_end() {
    let (_home, journal) = Home::new_journal();
    accept(&journal, "a").await;
    let (session, run) = start(&journal, &["a"]).await;
    let open = journal.run(&run).await.expect("reads").expect("is there");
    assert_eq!((open.status, open.ended_at), (RunStatus::Open, None));
    let prompt = event(&session, Some(&run), EventKind::SystemPromptSnapshotted, json!({ "prompt": "你是" }));
    let message = event(&session, Some(&run), EventKind::AssistantMessageAdded, json!({ "text": "好" }));
    journal.append_all(vec![prompt, message]).await.expect("appends");
    let result = json!({ "rounds": 1 });
    journal.finish_run(&run, Vec::new(), RunStatus::Completed, Some("stop"), None, result).await.expect("finishes");

    let ended = journal.run(&run).await.expect("reads").expect("is there");
    assert_eq!((ended.status, ended.finish_reason.as_deref()), (RunStatus::Completed, Some("stop")));
    assert!(ended.ended_at >= Some(ended.started_at));
    let events = journal.run_events(&run).await.expect("reads");
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["run_started", "system_prompt_snapshotted", "assistant_message_added", "run_completed"]);
    assert_eq!(events[0].payload, json!({ "principal": "qq:10001", "inputs": ["a"] }));
    assert_eq!(events[3].payload["result"]["rounds"], 1);
    assert!(events.iter().all(|event| event.seq > 0 && event.run.as_deref() == Some(run.as_str())));
    assert_eq!((events[0].audience.as_str(), events[3].audience.as_str()), ("family", "family"));
}

#[tokio::test]
async fn a_run_ends_once_and_for_good() {
    let (_home, journal) = Home::new_journal();
    let (_, run) = start(&journal, &[]).await;
    let finish = |run: &str, status| {
        let (journal, run) = (journal.clone(), run.to_owned());
        async move { journal.finish_run(&run, Vec::new(), status, None, Some("a reason"), Value::Null).await }
    };
    assert!(matches!(finish(&run, RunStatus::Open).await, Err(JournalError::NotFinal)));
    assert!(matches!(finish("nowhere", RunStatus::Failed).await, Err(JournalError::UnknownRun { .. })));
    finish(&run, RunStatus::Cancelled).await.expect("finishes");
    let again = finish(&run, RunStatus::Completed).await;
    assert!(matches!(again, Err(JournalError::RunEnded { status: RunStatus::Cancelled, .. })), "{again:?}");
    let events = journal.run_events(&run).await.expect("reads");
    assert_eq!(events.last().map(|event| event.kind), Some(EventKind::RunFailed));
    assert_eq!(events.last().map(|event| event.payload["status"].clone()), Some(json!("cancelled")));
}

#[tokio::test]
async fn what_comes_before_the_end_of_a_run_is_recorded_with_it_or_not_at_all() {
    let (_home, journal) = Home::new_journal();
    let (session, run) = start(&journal, &[]).await;
    let said = || vec![event(&session, Some(&run), EventKind::AssistantMessageAdded, json!({ "text": "好" }))];
    let refused = journal.finish_run(&run, said(), RunStatus::Open, None, None, Value::Null).await;
    assert!(matches!(refused, Err(JournalError::NotFinal)), "{refused:?}");
    assert_eq!(journal.run_events(&run).await.expect("reads").len(), 1, "it has only begun");
    journal.finish_run(&run, said(), RunStatus::Completed, None, None, Value::Null).await.expect("finishes");
    let kinds: Vec<_> = journal.run_events(&run).await.expect("reads").iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::RunStarted, EventKind::AssistantMessageAdded, EventKind::RunCompleted]);
}

#[tokio::test]
async fn runs_are_paged_newest_first() {
    let (_home, journal) = Home::new_journal();
    let mut started = Vec::new();
    for _ in 0..5 {
        started.insert(0, start(&journal, &[]).await.1);
    }
    let mut seen: Vec<String> = Vec::new();
    loop {
        let page = journal.runs(2, seen.last().map(String::as_str)).await.expect("reads");
        if page.is_empty() {
            break;
        }
        seen.extend(page.into_iter().map(|run| run.id));
    }
    assert_eq!(seen, started);
    assert!(journal.runs(2, Some("nowhere")).await.expect("reads").is_empty());
}

#[tokio::test]
async fn an_input_joins_an_open_run_with_its_words_or_not_at_all() {
    let (_home, journal) = Home::new_journal();
    accept(&journal, "first").await;
    accept(&journal, "more").await;
    let (session, run) = start(&journal, &["first"]).await;
    let words = || vec![event(&session, Some(&run), EventKind::UserMessageAdded, json!({ "input_id": "more" }))];
    let nameless = event(&session, Some(&run), EventKind::OutputQueued, json!({}));
    let refused = journal.join_run(&run, "more", words().into_iter().chain([nameless]).collect()).await;
    assert!(matches!(refused, Err(JournalError::MissingField { .. })), "{refused:?}");
    assert_eq!(journal.run_events(&run).await.expect("reads").len(), 1, "it has only begun");
    journal.join_run(&run, "more", words()).await.expect("it waits still");
    let taken = journal.join_run(&run, "more", words()).await;
    assert!(matches!(taken, Err(JournalError::InputNotWaiting { .. })), "{taken:?}");
    journal.finish_run(&run, Vec::new(), RunStatus::Completed, None, None, Value::Null).await.expect("finishes");
    accept(&journal, "late").await;
    let late = journal.join_run(&run, "late", words()).await;
    assert!(matches!(late, Err(JournalError::RunEnded { .. })), "{late:?}");
}
