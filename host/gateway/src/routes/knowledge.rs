//! The knowledge base, as its owner looks after it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use homeagent_types::knowledge::{Changed, Found, Import, Listing, Outline, Query, SectionText, Status};
use homeagent_types::ports::KnowledgeAdmin;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::plugins::to_the_end;
use crate::Problem;
use crate::core::Shared;
use crate::document::{CallFailures, Conflict};
use crate::extract::{self, Asked, Named, within};

const USUAL: i64 = 5;
const MOST: i64 = 50;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// What is looked for.
    text: String,
    /// Only in the base of this name.
    base: Option<String>,
    /// What these would be told: `owner`, `members` or `everyone`. Without it, the owner.
    audience: Option<String>,
    /// How many passages at most.
    #[param(default = 5, minimum = 1, maximum = 50)]
    limit: Option<i64>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Below {
    /// The heading, with or without those above it: `House > Heating`.
    heading: String,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only the base of this name; without it, all.
    base: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Imported {
    /// The file's name: it says what the file is, and what the base is called where nothing else is said.
    file: String,
    /// The base's name.
    base: Option<String>,
    /// What becomes of it: a base that is not there yet, one in the place of that of its name, or a section of one.
    #[param(inline)]
    how: Option<Import>,
}

/// A base that is gone.
#[derive(Serialize, ToSchema)]
#[schema(as = RemovedKnowledgeBase)]
pub(crate) struct Removed {
    /// Its name.
    removed: String,
}

fn knowledge(core: &Shared) -> Result<Arc<dyn KnowledgeAdmin>, Problem> {
    core.live()?.knowledge.clone().ok_or_else(|| {
        let detail = "the knowledge base could not be opened when the agent started";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .hint("the log says why; `waiter status` shows its last lines")
    })
}

/// Lists the knowledge bases, and says how far they are indexed.
#[utoipa::path(
    get,
    path = "/knowledge",
    operation_id = "listKnowledge",
    tag = "knowledge",
    responses((status = OK, body = Listing, description = "All bases"), CallFailures)
)]
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Listing>, Problem> {
    Ok(Json(knowledge(&core)?.list().await?))
}

/// Finds passages, the best first.
#[utoipa::path(
    get,
    path = "/knowledge/search",
    operation_id = "searchKnowledge",
    tag = "knowledge",
    params(Search),
    responses((status = OK, body = Found, description = "What was found"), CallFailures)
)]
pub(crate) async fn search(State(core): State<Shared>, Asked(asked): Asked<Search>) -> Result<Json<Found>, Problem> {
    let Search { text, base, audience, limit } = asked;
    let limit = within("limit", limit.unwrap_or(USUAL), 1, Some(MOST))?;
    Ok(Json(knowledge(&core)?.search(Query { text, base, audience, limit }).await?))
}

/// Shows a base and its headings.
#[utoipa::path(
    get,
    path = "/knowledge/bases/{name}",
    operation_id = "getKnowledgeBase",
    tag = "knowledge",
    params(("name" = String, Path, description = "The base", example = "house")),
    responses((status = OK, body = Outline, description = "The base"), CallFailures)
)]
pub(crate) async fn show(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Outline>, Problem> {
    Ok(Json(knowledge(&core)?.show(&name).await?))
}

/// The text below a heading of a base; of a long one its first 16 KiB.
#[utoipa::path(
    get,
    path = "/knowledge/bases/{name}/section",
    operation_id = "getKnowledgeSection",
    tag = "knowledge",
    params(("name" = String, Path, description = "The base", example = "house"), Below),
    responses((status = OK, body = SectionText, description = "The text"), CallFailures, Conflict)
)]
pub(crate) async fn section(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(Below { heading }): Asked<Below>,
) -> Result<Json<SectionText>, Problem> {
    Ok(Json(knowledge(&core)?.section(&name, &heading).await?))
}

/// Makes a base, or a part of one, of a file: Markdown, text or HTML.
///
/// It is found when this answers; vectors are made in the background.
#[utoipa::path(
    post,
    path = "/knowledge/import",
    operation_id = "importKnowledge",
    tag = "knowledge",
    params(Imported),
    request_body(content = String, content_type = "application/octet-stream", description = "The file's bytes"),
    responses((status = OK, body = Changed, description = "The base"), CallFailures, Conflict)
)]
pub(crate) async fn import(
    State(core): State<Shared>,
    Asked(asked): Asked<Imported>,
    request: Request,
) -> Result<Json<Changed>, Problem> {
    let knowledge = knowledge(&core)?;
    let most = usize::try_from(knowledge.largest_file()).unwrap_or(usize::MAX);
    let bytes = extract::read(request, most).await.map_err(|problem| match problem.status() {
        StatusCode::PAYLOAD_TOO_LARGE => problem.hint("the setting core.knowledge.file_mib says how large it may be"),
        _ => problem,
    })?;
    let Imported { file, base, how } = asked;
    let work = async move { knowledge.import(&file, bytes.into(), base.as_deref(), how.unwrap_or_default()).await };
    to_the_end("import", work).await.map(Json)
}

/// Removes a base: its text, the text before it, and all that the index has of it.
#[utoipa::path(
    delete,
    path = "/knowledge/bases/{name}",
    operation_id = "removeKnowledgeBase",
    tag = "knowledge",
    params(("name" = String, Path, description = "The base", example = "house")),
    responses((status = OK, body = Removed, description = "It is gone"), CallFailures)
)]
pub(crate) async fn remove(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Removed>, Problem> {
    let knowledge = knowledge(&core)?;
    let removed = to_the_end("removal", async move { knowledge.remove(&name).await }).await?;
    Ok(Json(Removed { removed }))
}

/// Cuts and indexes one base, or all, from the beginning.
#[utoipa::path(
    post,
    path = "/knowledge/reindex",
    operation_id = "reindexKnowledge",
    tag = "knowledge",
    params(Which),
    responses((status = OK, body = Status, description = "How the index is"), CallFailures)
)]
pub(crate) async fn reindex(
    State(core): State<Shared>,
    Asked(Which { base }): Asked<Which>,
) -> Result<Json<Status>, Problem> {
    let knowledge = knowledge(&core)?;
    to_the_end("reindexing", async move { knowledge.reindex(base.as_deref()).await }).await.map(Json)
}
