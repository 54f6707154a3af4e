//! What the daemon counted and how it is, for a Prometheus server.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use homeagent_agent::{AgentStatus, Phase};
use homeagent_providers::SourceStanding;
use homeagent_types::ProcessFigures;
use homeagent_types::money::Nano;

use super::status::{VERSION, free_bytes};
use crate::Problem;
use crate::connections::{AllConnections, StreamKind};
use crate::core::{Core, Shared, on_disk};
use crate::exposition::{Exposition, MEDIA_TYPE};
use crate::ports::Live;

/// The states a plugin can be in; all are shown, so that a figure falls to zero rather than away.
const PLUGIN_STATES: [&str; 5] = ["live", "backing-off", "failed", "unloaded", "refused"];

/// What the daemon has counted and how it is, as Prometheus reads it.
///
/// Counters begin with the daemon's process, whatever becomes of the agent. While the agent is stopped there are no
/// figures of plugins and sources.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "getMetrics",
    tag = "daemon",
    responses(
        (status = OK, body = String, content_type = "text/plain; version=0.0.4; charset=utf-8", description = "The metrics, in the text format 0.0.4"),
    )
)]
pub(crate) async fn metrics(State(core): State<Shared>) -> Result<impl IntoResponse, Problem> {
    let home = core.parts.home.clone();
    let free = on_disk(move || Ok::<_, Problem>(free_bytes(&home))).await?;
    let mut page = Exposition::after(core.parts.monitor.counted());
    let version = [(VERSION, 1)];
    page.gauges("homeagent_build_info", "The version that runs", "version", version);
    let uptime = core.started.elapsed().as_secs_f64();
    page.gauge("homeagent_uptime_seconds", "Time since the daemon began to serve", Some(uptime));
    process(&mut page);
    page.gauge("homeagent_disk_free_bytes", "What is left on the disk that holds the data folder", free);
    let jobs = core.parts.journal.waiting();
    page.gauge("homeagent_journal_jobs_waiting", "Pieces of work that wait for the journal", Some(jobs));
    connections(&mut page, &core.connections);
    costs(&mut page, &core);
    let present = core.parts.keeper.live();
    agent(
        &mut page,
        &match &present {
            Some(live) => live.turns.status(),
            None => AgentStatus::absent(core.parts.keeper.phase()),
        },
    );
    if let Some(live) = present {
        plugins(&mut page, &live);
        sources(&mut page, &live);
    }
    Ok(([(CONTENT_TYPE, MEDIA_TYPE)], page.finish()))
}

fn process(page: &mut Exposition) {
    let ProcessFigures { resident_bytes, open_files, threads } = ProcessFigures::read();
    page.gauge("homeagent_process_resident_bytes", "Memory of the process that is resident", resident_bytes);
    page.gauge("homeagent_process_open_files", "Open file descriptors of the process", open_files);
    page.gauge("homeagent_process_threads", "Threads of the process", threads);
}

fn connections(page: &mut Exposition, all: &AllConnections) {
    let named = all.named();
    let open = named.iter().map(|(client, connections)| (client, connections.open()));
    page.gauges("homeagent_http_connections", "Open connections, by who has them", "client", open);
    let streams = StreamKind::ALL.map(|kind| {
        let open: usize = named.iter().map(|(_, connections)| connections.open_streams(kind)).sum();
        (kind.as_str(), open)
    });
    page.gauges("homeagent_http_streams", "Open streams, chats and connections to plugins, by kind", "kind", streams);
}

fn costs(page: &mut Exposition, core: &Core) {
    let today = core.parts.costs.of_today();
    let help = "What models cost since the user's midnight, by currency";
    // Currencies of the limits stand there from the beginning, so that a graph begins at nothing.
    let limits = core.parts.costs.limits();
    let limited = limits.iter().filter_map(|limit| limit.most.split_once(' ').map(|(_, unit)| unit.to_owned()));
    let mut cost: BTreeMap<String, Nano> =
        limited.filter(|unit| unit != "tokens").map(|currency| (currency, Nano::default())).collect();
    cost.extend(today.cost);
    page.gauges("homeagent_cost_today", help, "currency", cost);
    let tokens = [("input", today.input), ("output", today.output)];
    let help = "Tokens since the user's midnight of models that are not free, by direction";
    page.gauges("homeagent_cost_tokens_today", help, "direction", tokens);
}

fn agent(page: &mut Exposition, agent: &AgentStatus) {
    let states = Phase::ALL.map(|phase| (phase.as_str(), u8::from(phase == agent.state)));
    page.gauges("homeagent_agent_state", "1 for the state the agent is in", "state", states);
    page.gauge("homeagent_agent_inputs_waiting", "Inputs that wait for a turn", Some(agent.queued));
    page.gauge("homeagent_agent_turns_running", "Turns that run", Some(agent.running));
}

fn plugins(page: &mut Exposition, live: &Live) {
    let plugins = live.plugins.list();
    let mut states: BTreeMap<&str, usize> = PLUGIN_STATES.into_iter().map(|state| (state, 0)).collect();
    for plugin in &plugins {
        *states.entry(&plugin.state).or_default() += 1;
    }
    page.gauges("homeagent_plugins", "Plugins and adapters, by state", "state", states);
    let waiting = plugins.iter().map(|plugin| (&plugin.name, plugin.waiting));
    page.gauges("homeagent_plugin_calls_waiting", "Calls that wait for a plugin", "plugin", waiting);
}

fn sources(page: &mut Exposition, live: &Live) {
    let states = live.providers.states();
    let standings = SourceStanding::ALL.map(|standing| {
        let count = states.iter().filter(|state| state.standing == standing).count();
        (standing.as_str(), count)
    });
    page.gauges("homeagent_sources", "Sources of models, by standing", "standing", standings);
}
