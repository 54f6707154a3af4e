//! How the daemon is.

use serde::Deserialize;

use super::sources::Standing;
use super::span;
use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;

#[derive(Deserialize)]
struct Status {
    version: String,
    pid: u32,
    uptime_ms: u64,
    home: String,
    url: String,
    agent: Agent,
    active: Vec<Active>,
    plugins: Plugins,
    sources: Vec<Source>,
}

#[derive(Deserialize)]
struct Agent {
    state: String,
    queued: usize,
    turns: u64,
}

#[derive(Deserialize)]
struct Active {
    run: String,
    conversation: String,
}

#[derive(Deserialize)]
struct Plugins {
    live: usize,
    not_live: Vec<NotLive>,
}

#[derive(Deserialize)]
struct NotLive {
    name: String,
    state: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Source {
    name: String,
    model: String,
    #[serde(flatten)]
    standing: Standing,
}

/// The daemon, in lines of a name and a value.
pub(crate) fn show(answer: &str) -> Result<String, Failure> {
    let status: Status = read(answer)?;
    let up = span(status.uptime_ms);
    let mut lines = vec![
        ("homed", format!("{}, up {up}, process {}", status.version, status.pid)),
        ("url", status.url),
        ("home", status.home),
        ("agent", agent(&status.agent)),
    ];
    for turn in status.active {
        lines.push(("running", format!("{} in {}", turn.run, turn.conversation)));
    }
    // While the agent is stopped there are no plugins, and nobody asks a source.
    if status.agent.state == "stopped" {
        return Ok(lines.iter().map(|(name, value)| format!("{name:<8} {}\n", plain_line(value))).collect());
    }
    lines.push(("plugins", format!("{} live", status.plugins.live)));
    for plugin in status.plugins.not_live {
        let reason = plugin.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(("", format!("{} is {}{reason}", plugin.name, plugin.state)));
    }
    if status.sources.is_empty() {
        lines.push(("sources", "none; `waiter source add` adds one".to_owned()));
    }
    for (index, source) in status.sources.iter().enumerate() {
        let name = if index == 0 { "sources" } else { "" };
        lines.push((name, format!("{} ({}): {}", source.name, source.model, source.standing.words())));
    }
    Ok(lines.iter().map(|(name, value)| format!("{name:<8} {}\n", plain_line(value))).collect())
}

/// What a start or stop of the agent came to.
pub(crate) fn agent_state(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct State {
        state: String,
    }
    let State { state } = read(answer)?;
    Ok(match state.as_str() {
        "stopped" => "the agent is stopped; `waiter agent start` starts it\n".to_owned(),
        state => format!("the agent is {}\n", plain_line(state)),
    })
}

fn agent(agent: &Agent) -> String {
    if agent.state == "stopped" {
        return "stopped; `waiter agent start` starts it".to_owned();
    }
    format!("{}; turns since its start: {}; inputs that wait: {}", agent.state, agent.turns, agent.queued)
}
