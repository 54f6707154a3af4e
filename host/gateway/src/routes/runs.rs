//! What happened: the journal, read only.

use axum::Json;
use axum::extract::State;
use homeagent_journal::{Event, JournalError, Run};
use serde::{Deserialize, Serialize};

use crate::Problem;
use crate::core::Shared;
use crate::extract::{Asked, Named};

const USUAL: u32 = 20;
const MOST: u32 = 1000;

#[derive(Deserialize)]
pub(crate) struct Page {
    limit: Option<u32>,
    before: Option<String>,
}

/// `GET runs?limit=&before=`, newest first.
pub(crate) async fn list(State(core): State<Shared>, Asked(page): Asked<Page>) -> Result<Json<Vec<Run>>, Problem> {
    let limit = page.limit.unwrap_or(USUAL).clamp(1, MOST);
    let runs = core.parts.journal.runs(limit, page.before.as_deref()).await;
    runs.map(Json).map_err(problem)
}

#[derive(Serialize)]
pub(crate) struct RunWithEvents {
    #[serde(flatten)]
    run: Run,
    events: Vec<Event>,
}

/// `GET runs/{id}`.
pub(crate) async fn show(State(core): State<Shared>, Named(id): Named<String>) -> Result<Json<RunWithEvents>, Problem> {
    let journal = &core.parts.journal;
    let run = journal.run(&id).await.map_err(problem)?.ok_or_else(|| {
        Problem::not_found(format!("there is no run \"{id}\"")).hint("`waiter runs list` shows the last runs")
    })?;
    let events = journal.run_events(&id).await.map_err(problem)?;
    Ok(Json(RunWithEvents { run, events }))
}

fn problem(error: JournalError) -> Problem {
    match error {
        JournalError::Database(error) => error.into(),
        error => Problem::internal(error.to_string()),
    }
}
