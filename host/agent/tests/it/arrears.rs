//! Ends of runs that the journal did not take when they came.

use homeagent_journal::{EventKind, Run, RunStatus};

use crate::fake::answer;
use crate::home::{Home, finished, soon};

/// A turn whose end can't be recorded, and why it failed is known; returns its run.
async fn run_without_an_end(home: &Home) -> String {
    let mut asked = home.ask("one").await;
    let call = soon(home.models.next()).await;
    home.break_table("events");
    call.end(answer("first"));
    let result = finished(&mut asked).await;
    assert_eq!(result.error.map(|error| error.code), Some("journal".to_owned()));
    assert_eq!(run(home, &result.run).await.status, RunStatus::Open, "nothing can be written yet");
    result.run
}

async fn run(home: &Home, id: &str) -> Run {
    home.journal.run(id).await.unwrap().unwrap()
}

/// The run once it has ended.
async fn ended(home: &Home, id: &str) -> Run {
    let mut tip = home.journal.tip();
    loop {
        let run = run(home, id).await;
        if run.status != RunStatus::Open {
            return run;
        }
        soon(tip.changed()).await.unwrap();
    }
}

#[tokio::test]
async fn a_run_whose_end_was_not_taken_is_ended_as_soon_as_the_journal_takes_something_again() {
    let home = Home::new().await;
    let id = run_without_an_end(&home).await;
    home.mend();
    home.works().await;
    let run = ended(&home, &id).await;
    assert_eq!(run.status, RunStatus::Failed);
    assert!(run.error.is_some_and(|error| error.contains("I can't write my journal")), "it says why");
    let ends = home.kinds(&id).await.into_iter().filter(|kind| *kind == EventKind::RunFailed).count();
    assert_eq!(ends, 1, "it ends once");
}

#[tokio::test]
async fn an_agent_that_stops_ends_what_it_owes() {
    let home = Home::new().await;
    let id = run_without_an_end(&home).await;
    home.mend();
    home.agent.shutdown().await;
    assert_eq!(run(&home, &id).await.status, RunStatus::Failed);
}
