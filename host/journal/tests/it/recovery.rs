use homeagent_journal::{EventKind, Journal, RETURNED_BY_RUN, Recovery, RunStatus, STOPPED_DURING_RUN};
use serde_json::{Value, json};

use crate::home::{CONVERSATION, Home, accept, event, start};

#[tokio::test]
async fn an_orderly_stop_leaves_nothing_to_recover() {
    let (home, journal) = Home::new_journal();
    accept(&journal, "a").await;
    let (session, run) = start(&journal, &["a"]).await;
    let output = |kind| event(&session, Some(&run), kind, json!({ "output_id": "o1", "text": "好" }));
    journal.append(output(EventKind::OutputQueued)).await.expect("appends");
    journal.append(output(EventKind::OutputSent)).await.expect("appends");
    journal.finish_run(&run, Vec::new(), RunStatus::Completed, None, None, Value::Null).await.expect("finishes");
    journal.close().await;
    assert_eq!(home.journal().recover().await.expect("recovers"), Recovery::default());
}

#[tokio::test]
async fn a_crash_fails_the_open_run_and_keeps_what_waits() {
    let (home, journal) = Home::new_journal();
    for id in ["taken", "等待一", "等待二"] {
        accept(&journal, id).await;
    }
    let (session, run) = start(&journal, &["taken"]).await;
    let queued = |id: &str| event(&session, Some(&run), EventKind::OutputQueued, json!({ "output_id": id }));
    journal.append_all(vec![queued("sent"), queued("lost")]).await.expect("appends");
    let sent = event(&session, Some(&run), EventKind::OutputSent, json!({ "output_id": "sent" }));
    journal.append(sent).await.expect("appends");
    drop(journal);

    let journal = home.journal();
    let recovery = journal.recover().await.expect("recovers");
    let [failed] = recovery.failed_runs.as_slice() else { panic!("{recovery:?}") };
    assert_eq!((failed.id.as_str(), failed.status), (run.as_str(), RunStatus::Failed));
    assert_eq!(failed.error.as_deref(), Some(STOPPED_DURING_RUN));
    assert_eq!(journal.run(&run).await.expect("reads").as_ref(), Some(failed));
    let pending: Vec<_> = recovery.pending_inputs.iter().map(|input| input.input_id.as_str()).collect();
    assert_eq!(pending, ["等待一", "等待二"], "the taken one is not repeated");
    assert_eq!(recovery.pending_inputs[0].payload, json!({ "text": "等待一" }));
    assert_eq!(recovery.pending_inputs[0].audience, "family");
    let [unknown] = recovery.unknown_outputs.as_slice() else { panic!("{recovery:?}") };
    assert_eq!((unknown.output_id.as_str(), unknown.queued.run.as_deref()), ("lost", Some(run.as_str())));
    let events = journal.run_events(&run).await.expect("reads");
    let kinds: Vec<_> = events.iter().rev().take(2).map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::RunFailed, EventKind::OutputUnknown]);

    let again = journal.recover().await.expect("recovers");
    assert!(again.failed_runs.is_empty() && again.unknown_outputs.is_empty());
    assert_eq!(again.pending_inputs, recovery.pending_inputs);
    assert_eq!(journal.run_events(&run).await.expect("reads"), events, "nothing was written twice");
    let inputs: Vec<String> = again.pending_inputs.into_iter().map(|input| input.input_id).collect();
    journal.start_run(CONVERSATION, "me", &inputs).await.expect("the waiting ones can be taken");
}

/// Runs with these events besides a message and a call of the model, each with an input of its own; returns their ids.
async fn cut_runs(journal: &Journal, all: &[(&str, Option<(EventKind, Value)>)]) -> Vec<String> {
    let mut runs = Vec::new();
    for (input, last) in all {
        accept(journal, input).await;
        let (session, run) = start(journal, &[input]).await;
        let of_run = |kind, payload| event(&session, Some(&run), kind, payload);
        let mut events = vec![
            of_run(EventKind::UserMessageAdded, json!({ "text": input })),
            of_run(EventKind::ModelCalled, json!({})),
        ];
        events.extend(last.clone().map(|(kind, payload)| of_run(kind, payload)));
        journal.append_all(events).await.expect("appends");
        runs.push(run);
    }
    runs
}

async fn waiting(journal: &Journal) -> Vec<(String, u32)> {
    let pending = journal.recover().await.expect("recovers").pending_inputs;
    pending.into_iter().map(|input| (input.input_id, input.returned)).collect()
}

#[tokio::test]
async fn the_inputs_of_a_run_that_only_looked_and_thought_wait_again() {
    let (home, journal) = Home::new_journal();
    let tool = |payload| Some((EventKind::ToolStarted, payload));
    let runs = cut_runs(
        &journal,
        &[
            ("asked", None),
            ("looked", tool(json!({ "effect": "read" }))),
            ("kept", tool(json!({ "effect": "own" }))),
            ("acted", tool(json!({ "effect": "world" }))),
            ("unknown", tool(json!({}))),
            ("said", Some((EventKind::OutputQueued, json!({ "output_id": "o" })))),
        ],
    )
    .await;
    accept(&journal, "joined").await;
    journal.join_run(&runs[0], "joined", Vec::new()).await.expect("an interrupt joins it");
    drop(journal);

    let journal = home.journal();
    let recovery = journal.recover().await.expect("recovers");
    assert_eq!(recovery.failed_runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>(), runs);
    let errors: Vec<_> = recovery.failed_runs.iter().map(|run| run.error.as_deref().expect("an error")).collect();
    let stays = STOPPED_DURING_RUN;
    assert_eq!(errors, [RETURNED_BY_RUN, RETURNED_BY_RUN, stays, stays, stays, stays]);
    let pending: Vec<_> = recovery.pending_inputs.iter().map(|input| input.input_id.clone()).collect();
    assert_eq!(pending, ["asked", "looked", "joined"]);
    let last = journal.run_events(&runs[0]).await.expect("reads").pop().expect("its end");
    assert_eq!(last.payload["result"]["inputs_returned"], json!(["asked", "joined"]));

    let history = journal.conversation_history(CONVERSATION, 100).await.expect("reads");
    let texts: Vec<_> = history.iter().map(|event| event.payload["text"].as_str().expect("a text")).collect();
    assert_eq!(texts, ["kept", "acted", "unknown", "said"], "what is taken up again is said by the next run alone");
    journal.start_run(CONVERSATION, "me", &pending).await.expect("they can be taken again");
}

#[tokio::test]
async fn it_is_counted_how_often_an_input_was_given_back() {
    let (home, journal) = Home::new_journal();
    accept(&journal, "deadly").await;
    let mut journal = journal;
    for times in 0..3 {
        assert_eq!(waiting(&journal).await, [("deadly".to_owned(), times)]);
        start(&journal, &["deadly"]).await;
        drop(journal);
        journal = home.journal();
    }
    assert_eq!(waiting(&journal).await, [("deadly".to_owned(), 3)]);
}

#[tokio::test]
async fn a_damaged_start_of_a_tool_counts_as_a_deed() {
    let (home, journal) = Home::new_journal();
    cut_runs(&journal, &[("looked", Some((EventKind::ToolStarted, json!({ "effect": "read" }))))]).await;
    let damage = "UPDATE events SET payload = '{torn' WHERE kind = 'tool_started'";
    home.database().writer().expect("a connection").execute_batch(damage).expect("damages");
    assert!(waiting(&journal).await.is_empty());
}

#[tokio::test]
async fn one_damaged_event_keeps_nobody_from_the_others() {
    let (home, journal) = Home::new_journal();
    for id in ["broken", "sound"] {
        accept(&journal, id).await;
    }
    let (session, run) = start(&journal, &[]).await;
    for text in ["one", "two", "three"] {
        let said = event(&session, Some(&run), EventKind::UserMessageAdded, json!({ "text": text }));
        journal.append(said).await.expect("appends");
    }
    let damage = "UPDATE events SET payload = '{torn' WHERE payload LIKE '%\"two\"%' OR payload LIKE '%\"broken\"%'";
    home.database().writer().expect("a connection").execute_batch(damage).expect("damages");

    let texts = |events: Vec<homeagent_journal::Event>| -> Vec<String> {
        events.iter().filter_map(|event| event.payload["text"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(texts(journal.conversation_history(CONVERSATION, 10).await.expect("reads")), ["one", "three"]);
    assert_eq!(texts(journal.run_events(&run).await.expect("reads")), ["one", "three"]);
    assert_eq!(texts(journal.session_events(&session, true, 0, 10).await.expect("reads")), ["sound", "one", "three"]);
    let pending = journal.recover().await.expect("recovers").pending_inputs;
    assert_eq!(pending.iter().map(|input| input.input_id.as_str()).collect::<Vec<_>>(), ["sound"]);
}
