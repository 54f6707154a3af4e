//! Whether and how the daemon is.

use axum::Json;
use axum::extract::State;
use homeagent_agent::{ActiveRun, AgentStatus};
use homeagent_providers::SourceState;
use homeagent_types::ports::PluginStatus;
use serde::Serialize;
use serde_json::{Value, json};

use crate::core::Shared;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `GET ping`: the only operation without a token, so it says nothing about the home.
pub(crate) async fn ping() -> Json<Value> {
    Json(json!({ "name": "homed", "version": VERSION }))
}

#[derive(Serialize)]
pub(crate) struct Status {
    name: &'static str,
    version: &'static str,
    pid: u32,
    uptime_ms: u64,
    home: String,
    url: String,
    agent: AgentStatus,
    active: Vec<ActiveRun>,
    plugins: PluginCounts,
    /// Those that are tried when no other is configured, too.
    sources: Vec<SourceState>,
}

#[derive(Serialize)]
struct PluginCounts {
    live: usize,
    not_live: Vec<NotLive>,
}

#[derive(Serialize)]
struct NotLive {
    name: String,
    state: String,
    reason: Option<String>,
}

/// `GET status`.
pub(crate) async fn status(State(core): State<Shared>) -> Json<Status> {
    let present = core.parts.keeper.live();
    let plugins = present.as_ref().map(|live| live.plugins.list()).unwrap_or_default();
    let (live, others): (Vec<PluginStatus>, Vec<PluginStatus>) =
        plugins.into_iter().partition(|plugin| plugin.state == "live");
    let not_live =
        others.into_iter().map(|plugin| NotLive { name: plugin.name, state: plugin.state, reason: plugin.reason });
    Json(Status {
        name: "homed",
        version: VERSION,
        pid: std::process::id(),
        uptime_ms: u64::try_from(core.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        home: core.parts.home.display().to_string(),
        url: format!("http://{}", core.addr),
        agent: match &present {
            Some(live) => live.turns.status(),
            None => AgentStatus::absent(core.parts.keeper.phase()),
        },
        active: present.as_ref().map(|live| live.turns.active()).unwrap_or_default(),
        plugins: PluginCounts { live: live.len(), not_live: not_live.collect() },
        sources: present.map(|live| live.providers.states()).unwrap_or_default(),
    })
}
