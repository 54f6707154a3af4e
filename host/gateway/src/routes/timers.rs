//! The timers of the plugin `timer`, as the owner sees them: its tools, called with the owner's rights.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::plugins::to_the_end;
use super::tools::owners_cause;
use crate::Problem;
use crate::core::Shared;
use crate::document::{CallFailures, Invalid};
use crate::extract::{Asked, Named, within};

const USUAL: i64 = 100;
const MOST: i64 = 1_000;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// How many at most.
    #[param(default = 100, minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// Goes on behind this: the `next` of the page before.
    after: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Whose {
    /// The account whose timer is meant, where that is a member's: the timer's `of`.
    of: Option<String>,
}

/// A page of timers.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Timers {
    timers: Vec<Timer>,
    /// How many there are.
    total: u64,
    /// What the next page goes on behind.
    next: Option<String>,
    /// The time zone of all times.
    time_zone: String,
}

/// A timer.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Timer {
    name: String,
    /// When it is due, in words or as a cron expression.
    when: String,
    /// The time it is due next; nothing while it is paused.
    next: Option<String>,
    paused: bool,
    /// It interrupts what runs, also in quiet hours.
    urgent: bool,
    /// What happens to times that were missed: `skip`, `once` or `all`.
    missed: String,
    /// The account that set it.
    by: String,
    /// Whose it is, where it is a member's.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    /// What the agent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The tool that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    arguments: Option<Value>,
    /// Whether the agent says what came of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<bool>,
    /// The conversation it goes to, where that is another than the one it was set in.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// A timer that was taken away.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Cancelled {
    cancelled: String,
}

async fn call<T: DeserializeOwned>(core: &Shared, tool: &'static str, args: Value) -> Result<Json<T>, Problem> {
    let turns = Arc::clone(&core.live()?.turns);
    let work = async move { turns.call_tool(tool, args.to_string(), owners_cause()).await };
    let output = to_the_end("call", work).await?;
    let broken =
        |error| Problem::internal(format!("the plugin timer answered {tool} with what can't be read: {error}"));
    serde_json::from_str(&output.value).map(Json).map_err(broken)
}

/// Lists the timers, by name.
#[utoipa::path(
    get,
    path = "/timers",
    operation_id = "listTimers",
    tag = "timers",
    params(Page),
    responses((status = OK, body = Timers, description = "The timers"), Invalid, CallFailures)
)]
pub(crate) async fn list(State(core): State<Shared>, Asked(page): Asked<Page>) -> Result<Json<Timers>, Problem> {
    let limit: u64 = within("limit", page.limit.unwrap_or(USUAL), 1, Some(MOST))?;
    call(&core, "timer_list", json!({ "limit": limit, "after": page.after })).await
}

/// Takes a timer away.
#[utoipa::path(
    delete,
    path = "/timers/{name}",
    operation_id = "cancelTimer",
    tag = "timers",
    params(("name" = String, Path, description = "The timer", example = "tea"), Whose),
    responses((status = OK, body = Cancelled, description = "What was cancelled"), CallFailures)
)]
pub(crate) async fn cancel(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(Whose { of }): Asked<Whose>,
) -> Result<Json<Cancelled>, Problem> {
    call(&core, "timer_cancel", json!({ "name": name, "of": of })).await
}

/// Has a timer wait until it is resumed.
#[utoipa::path(
    post,
    path = "/timers/{name}/pause",
    operation_id = "pauseTimer",
    tag = "timers",
    params(("name" = String, Path, description = "The timer", example = "tea"), Whose),
    responses((status = OK, body = Timer, description = "The timer"), CallFailures)
)]
pub(crate) async fn pause(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(Whose { of }): Asked<Whose>,
) -> Result<Json<Timer>, Problem> {
    call(&core, "timer_pause", json!({ "name": name, "of": of })).await
}

/// Has a paused timer go on.
#[utoipa::path(
    post,
    path = "/timers/{name}/resume",
    operation_id = "resumeTimer",
    tag = "timers",
    params(("name" = String, Path, description = "The timer", example = "tea"), Whose),
    responses((status = OK, body = Timer, description = "The timer"), CallFailures)
)]
pub(crate) async fn resume(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(Whose { of }): Asked<Whose>,
) -> Result<Json<Timer>, Problem> {
    call(&core, "timer_resume", json!({ "name": name, "of": of })).await
}
