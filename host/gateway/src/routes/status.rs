//! Whether and how the daemon is.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use homeagent_agent::{ActiveRun, AgentStatus};
use homeagent_providers::SourceState;
use homeagent_providers::cost::CostToday;
use homeagent_types::ProcessFigures;
use homeagent_types::ports::PluginStatus;
use serde::Serialize;
use utoipa::ToSchema;

use crate::core::{Shared, on_disk};
use crate::ports::LoggedProblem;
use crate::{Problem, document};

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct Pong {
    name: &'static str,
    version: &'static str,
}

/// Asks whether the daemon answers.
///
/// The only operation without a token, so it says nothing about the home.
#[utoipa::path(
    get,
    path = "/ping",
    operation_id = "ping",
    tag = "daemon",
    security(()),
    responses(
        (status = OK, body = Pong, description = "It does"),
    )
)]
pub(crate) async fn ping() -> Json<Pong> {
    Json(Pong { name: "homed", version: VERSION })
}

/// The OpenAPI document of this API.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "getOpenApi",
    tag = "daemon",
    responses(
        (status = OK, body = serde_json::Value, description = "The document"),
    )
)]
pub(crate) async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], document::json())
}

/// How the daemon is.
#[derive(Serialize, ToSchema)]
pub(crate) struct Status {
    name: &'static str,
    version: &'static str,
    pid: u32,
    uptime_ms: u64,
    home: String,
    /// What is left for us on the disk that holds the home, where the system tells.
    disk_free_bytes: Option<u64>,
    url: String,
    process: ProcessFigures,
    agent: AgentStatus,
    active: Vec<ActiveRun>,
    /// Pieces of work that wait for the journal.
    journal_waiting: usize,
    plugins: PluginCounts,
    /// Those that are tried when no other is configured, too.
    sources: Vec<SourceState>,
    /// What was spent today.
    cost: CostToday,
    /// The last warnings and errors of the log, the oldest first.
    problems: Vec<LoggedProblem>,
}

/// How many plugins work.
#[derive(Serialize, ToSchema)]
struct PluginCounts {
    live: usize,
    not_live: Vec<NotLive>,
    /// Those for which calls wait.
    waiting: Vec<Waiting>,
}

/// A plugin that is behind.
#[derive(Serialize, ToSchema)]
struct Waiting {
    name: String,
    calls: usize,
}

/// A plugin that does not work.
#[derive(Serialize, ToSchema)]
struct NotLive {
    name: String,
    state: String,
    reason: Option<String>,
}

/// Tells how the daemon is.
#[utoipa::path(
    get,
    path = "/status",
    operation_id = "getStatus",
    tag = "daemon",
    responses(
        (status = OK, body = Status, description = "How it is; without plugins and sources while the agent is stopped"),
    )
)]
pub(crate) async fn status(State(core): State<Shared>) -> Result<Json<Status>, Problem> {
    // A disk that hangs holds up this answer alone.
    let home = core.parts.home.clone();
    let disk_free_bytes = on_disk(move || Ok::<_, Problem>(free_bytes(&home))).await?;
    let present = core.parts.keeper.live();
    let plugins = present.as_ref().map(|live| live.plugins.list()).unwrap_or_default();
    let waiting = plugins.iter().filter(|plugin| plugin.waiting > 0);
    let waiting = waiting.map(|plugin| Waiting { name: plugin.name.clone(), calls: plugin.waiting }).collect();
    let (live, others): (Vec<PluginStatus>, Vec<PluginStatus>) =
        plugins.into_iter().partition(|plugin| plugin.state == "live");
    let not_live =
        others.into_iter().map(|plugin| NotLive { name: plugin.name, state: plugin.state, reason: plugin.reason });
    Ok(Json(Status {
        name: "homed",
        version: VERSION,
        pid: std::process::id(),
        uptime_ms: u64::try_from(core.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        home: core.parts.home.display().to_string(),
        disk_free_bytes,
        url: format!("http://{}", core.addr),
        process: ProcessFigures::read(),
        agent: match &present {
            Some(live) => live.turns.status(),
            None => AgentStatus::absent(core.parts.keeper.phase()),
        },
        active: present.as_ref().map(|live| live.turns.active()).unwrap_or_default(),
        journal_waiting: core.parts.journal.waiting(),
        plugins: PluginCounts { live: live.len(), not_live: not_live.collect(), waiting },
        sources: present.map(|live| live.providers.states()).unwrap_or_default(),
        cost: core.parts.costs.of_today(),
        problems: core.parts.monitor.problems(),
    }))
}

pub(super) fn free_bytes(home: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(home).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}
