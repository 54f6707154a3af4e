//! The agent's life inside the daemon.

use axum::Json;
use axum::extract::State;
use homeagent_agent::Phase;
use serde::Serialize;

use crate::Problem;
use crate::core::Shared;

/// Where the agent is in its life.
#[derive(Serialize)]
pub(crate) struct AgentState {
    state: Phase,
}

fn state(core: &Shared) -> Json<AgentState> {
    Json(AgentState { state: core.parts.keeper.phase() })
}

/// `POST agent/stop`: answers when it has stopped.
pub(crate) async fn stop(State(core): State<Shared>) -> Json<AgentState> {
    core.parts.keeper.stop().await;
    state(&core)
}

/// `POST agent/start`: answers when it works.
pub(crate) async fn start(State(core): State<Shared>) -> Result<Json<AgentState>, Problem> {
    core.parts.keeper.start().await.map_err(Problem::internal)?;
    Ok(state(&core))
}
