//! What happened: the journal, read only.

use axum::Json;
use axum::extract::State;
use homeagent_journal::{Event, JournalError, Run};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;
use crate::core::Shared;
use crate::document::{DiskFailures, Invalid, NotFound};
use crate::extract::{Asked, Named, within};

const USUAL: i64 = 20;
const MOST: i64 = 1000;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// How many at most.
    #[param(default = 20, minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// Only those that began before this run.
    before: Option<String>,
}

/// Lists runs, newest first.
#[utoipa::path(
    get,
    path = "/runs",
    operation_id = "listRuns",
    tag = "runs",
    params(Page),
    responses(
        (status = OK, body = Vec<Run>, description = "The runs"),
        NotFound,
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn list(State(core): State<Shared>, Asked(page): Asked<Page>) -> Result<Json<Vec<Run>>, Problem> {
    let limit = within("limit", page.limit.unwrap_or(USUAL), 1, Some(MOST))?;
    let journal = &core.parts.journal;
    if let Some(before) = &page.before
        && journal.run(before).await.map_err(problem)?.is_none()
    {
        return Err(unknown(before));
    }
    journal.runs(limit, page.before.as_deref()).await.map(Json).map_err(problem)
}

/// A run and all that happened in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunWithEvents {
    #[serde(flatten)]
    run: Run,
    events: Vec<Event>,
}

/// Shows a run with its events, hidden ones too.
#[utoipa::path(
    get,
    path = "/runs/{id}",
    operation_id = "getRun",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = OK, body = RunWithEvents, description = "The run"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn show(State(core): State<Shared>, Named(id): Named<String>) -> Result<Json<RunWithEvents>, Problem> {
    let journal = &core.parts.journal;
    let run = journal.run(&id).await.map_err(problem)?.ok_or_else(|| unknown(&id))?;
    let events = journal.run_events(&id).await.map_err(problem)?;
    Ok(Json(RunWithEvents { run, events }))
}

/// There is no run of this id.
pub(super) fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("there is no run \"{id}\"")).hint("`waiter runs list` shows the last runs")
}

pub(super) fn problem(error: JournalError) -> Problem {
    match error {
        JournalError::Database(error) => error.into(),
        error => Problem::internal(error.to_string()),
    }
}
