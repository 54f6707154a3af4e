//! The memory, as its owner sees it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homeagent_types::memory::{
    MemoryExported, MemoryFile, MemoryForget, MemoryForgotten, MemoryGraph, MemoryHit, MemoryImported, MemoryOfRun,
    MemoryPlace, MemoryQuery, MemoryState,
};
use serde::Deserialize;

use super::plugins::to_the_end;
use crate::Problem;
use crate::core::Shared;
use crate::document::{CallFailures, Conflict, Invalid, NotFound};
use crate::extract::{Asked, Document, Named, within};

const USUAL: i64 = 10;
const MOST: i64 = 200;
const USUALLY_AROUND: i64 = 3;
const MOST_AROUND: i64 = 50;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// A question, or any text that what is looked for is about.
    text: String,
    /// How many at most.
    #[param(default = 10, minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// Also what others told in private. Without it, what the owner may be told.
    all: Option<bool>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Around {
    /// How many before it and after it, at most.
    #[param(default = 3, minimum = 0, maximum = 50)]
    around: Option<i64>,
    /// Also what others told in private. Without it, what the owner may be told.
    all: Option<bool>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Name {
    /// What it is called. Without it, the names that are spoken of most.
    name: Option<String>,
    /// Also what others told in private. Without it, what the owner may be told.
    all: Option<bool>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Whose {
    /// Also the words that others told in private. Without it, what the owner may be told.
    all: Option<bool>,
}

/// Finds what was said and written, best first.
#[utoipa::path(
    get,
    path = "/memory/search",
    operation_id = "searchMemory",
    tag = "memory",
    params(Search),
    responses((status = OK, body = Vec<MemoryHit>, description = "What was found"), Invalid)
)]
pub(crate) async fn search(
    State(core): State<Shared>,
    Asked(Search { text, limit, all }): Asked<Search>,
) -> Result<Json<Vec<MemoryHit>>, Problem> {
    let limit = within("limit", limit.unwrap_or(USUAL), 1, Some(MOST))?;
    let query = MemoryQuery { text, limit, everything: all.unwrap_or(false) };
    Ok(Json(core.parts.memory.search(query).await?))
}

/// Shows a passage and what was said around it.
#[utoipa::path(
    get,
    path = "/memory/passages/{kind}/{place}",
    operation_id = "showMemory",
    tag = "memory",
    params(
        ("kind" = String, Path, description = "What it is", example = "said"),
        ("place" = String, Path, description = "Where it stands", example = "7"),
        Around,
    ),
    responses((status = OK, body = MemoryPlace, description = "The passage"), NotFound, Invalid)
)]
pub(crate) async fn show(
    State(core): State<Shared>,
    Named((kind, place)): Named<(String, String)>,
    Asked(Around { around, all }): Asked<Around>,
) -> Result<Json<MemoryPlace>, Problem> {
    let around = within("around", around.unwrap_or(USUALLY_AROUND), 0, Some(MOST_AROUND))?;
    Ok(Json(core.parts.memory.show(&format!("{kind}/{place}"), around, all.unwrap_or(false)).await?))
}

/// Shows what the graph knows: of whatever is called so, or which names it knows.
#[utoipa::path(
    get,
    path = "/memory/graph",
    operation_id = "showGraph",
    tag = "memory",
    params(Name),
    responses((status = OK, body = MemoryGraph, description = "What it knows"), Invalid)
)]
pub(crate) async fn graph(
    State(core): State<Shared>,
    Asked(Name { name, all }): Asked<Name>,
) -> Result<Json<MemoryGraph>, Problem> {
    Ok(Json(core.parts.memory.graph(name.as_deref(), all.unwrap_or(false)).await?))
}

/// Says what of the memory the model of a turn was shown, and why.
#[utoipa::path(
    get,
    path = "/memory/runs/{run}",
    operation_id = "explainMemory",
    tag = "memory",
    params(("run" = String, Path, description = "The turn"), Whose),
    responses((status = OK, body = MemoryOfRun, description = "What it was shown"), NotFound, Invalid)
)]
pub(crate) async fn explain(
    State(core): State<Shared>,
    Named(run): Named<String>,
    Asked(Whose { all }): Asked<Whose>,
) -> Result<Json<MemoryOfRun>, Problem> {
    Ok(Json(core.parts.memory.explain(&run, all.unwrap_or(false)).await?))
}

/// How the memory is: how much there is, and how far it is with what was said lately.
#[utoipa::path(
    get,
    path = "/memory",
    operation_id = "memoryState",
    tag = "memory",
    responses((status = OK, body = MemoryState, description = "How it is"))
)]
pub(crate) async fn state(State(core): State<Shared>) -> Result<Json<MemoryState>, Problem> {
    Ok(Json(core.parts.memory.state().await?))
}

/// Forgets for good: a text, a document, a stretch of time, somebody or something, or a person. With `dry_run` it only says
/// what would go.
#[utoipa::path(
    post,
    path = "/memory/forget",
    operation_id = "forgetMemory",
    tag = "memory",
    request_body = MemoryForget,
    responses((status = OK, body = MemoryForgotten, description = "What went, or would go"), CallFailures)
)]
pub(crate) async fn forget(
    State(core): State<Shared>,
    Document(wish): Document<MemoryForget>,
) -> Result<Json<MemoryForgotten>, Problem> {
    let memory = Arc::clone(&core.parts.memory);
    to_the_end("forgetting", async move { memory.forget(wish).await }).await.map(Json)
}

/// Writes what the memory knows beside the journal into a file of the daemon's machine: documents, the graph, the list that is
/// kept by hand, who was heard in which group, and what is not to come back.
#[utoipa::path(
    post,
    path = "/memory/export",
    operation_id = "exportMemory",
    tag = "memory",
    request_body = MemoryFile,
    responses((status = OK, body = MemoryExported, description = "The file"), Conflict, CallFailures)
)]
pub(crate) async fn export(
    State(core): State<Shared>,
    Document(file): Document<MemoryFile>,
) -> Result<Json<MemoryExported>, Problem> {
    let memory = Arc::clone(&core.parts.memory);
    to_the_end("exporting the memory", async move { memory.export(file).await }).await.map(Json)
}

/// Takes in what another memory has exported into a file of the daemon's machine.
#[utoipa::path(
    post,
    path = "/memory/import",
    operation_id = "importMemory",
    tag = "memory",
    request_body = MemoryFile,
    responses((status = OK, body = MemoryImported, description = "What was taken in"), CallFailures)
)]
pub(crate) async fn import(
    State(core): State<Shared>,
    Document(file): Document<MemoryFile>,
) -> Result<Json<MemoryImported>, Problem> {
    let memory = Arc::clone(&core.parts.memory);
    to_the_end("importing a memory", async move { memory.import(file).await }).await.map(Json)
}
