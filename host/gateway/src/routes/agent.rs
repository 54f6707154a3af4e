//! The agent's life inside the daemon.

use axum::Json;
use axum::extract::State;
use homeagent_agent::Phase;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Problem;
use crate::core::Shared;

/// Where the agent is in its life.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentState {
    state: Phase,
}

fn state(core: &Shared) -> Json<AgentState> {
    Json(AgentState { state: core.parts.keeper.phase() })
}

/// Stops the agent inside the daemon.
///
/// The answer comes when it has stopped. Nothing happens where it is stopped already.
#[utoipa::path(
    post,
    path = "/agent/stop",
    operation_id = "stopAgent",
    tag = "agent",
    responses(
        (status = OK, body = AgentState, description = "Where it is in its life"),
    )
)]
pub(crate) async fn stop(State(core): State<Shared>) -> Json<AgentState> {
    core.parts.keeper.stop().await;
    state(&core)
}

/// Starts the agent inside the daemon.
///
/// The answer comes when it works. Nothing happens where it runs already.
#[utoipa::path(
    post,
    path = "/agent/start",
    operation_id = "startAgent",
    tag = "agent",
    responses(
        (status = OK, body = AgentState, description = "Where it is in its life"),
    )
)]
pub(crate) async fn start(State(core): State<Shared>) -> Result<Json<AgentState>, Problem> {
    core.parts.keeper.start().await.map_err(Problem::internal)?;
    Ok(state(&core))
}
