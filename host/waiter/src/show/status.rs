//! How the daemon is.

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::sources::Standing;
use super::{moment, span};
use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;

#[derive(Deserialize)]
struct Status {
    version: String,
    pid: u32,
    uptime_ms: u64,
    home: String,
    disk_free_bytes: Option<u64>,
    url: String,
    process: Process,
    agent: Agent,
    active: Vec<Active>,
    journal_waiting: usize,
    plugins: Plugins,
    sources: Vec<Source>,
    cost: Cost,
    problems: Vec<Logged>,
}

#[derive(Deserialize)]
struct Process {
    resident_bytes: Option<u64>,
    open_files: Option<u64>,
    threads: Option<u64>,
}

#[derive(Deserialize)]
struct Logged {
    at: i64,
    level: String,
    origin: String,
    text: String,
    run: Option<String>,
}

#[derive(Deserialize)]
struct Agent {
    state: String,
    queued: usize,
    turns: u64,
    usage: Usage,
}

#[derive(Deserialize)]
struct Cost {
    input: u64,
    output: u64,
    cost: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Usage {
    input: u64,
    output: u64,
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
    waiting: Vec<Waiting>,
}

#[derive(Deserialize)]
struct Waiting {
    name: String,
    calls: usize,
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
pub(crate) fn show(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let status: Status = read(answer)?;
    let up = span(status.uptime_ms);
    let mut lines = vec![
        ("homed", format!("{}, up {up}, process {}", status.version, status.pid)),
        ("url", status.url.clone()),
        ("home", home(&status)),
        ("process", process(&status.process)),
        ("agent", agent(&status.agent)),
    ];
    for turn in status.active {
        lines.push(("running", format!("{} in {}", turn.run, turn.conversation)));
    }
    if status.journal_waiting > 0 {
        lines.push(("journal", format!("pieces of work that wait for it: {}", status.journal_waiting)));
    }
    let Cost { input, output, cost } = &status.cost;
    let sums = if cost.is_empty() { String::new() } else { format!("{}; ", super::costs::money(cost)) };
    lines.push(("today", format!("{sums}{input} tokens in, {output} out, without what is free")));
    // While the agent is stopped there are no plugins, and nobody asks a source.
    if status.agent.state != "stopped" {
        let Usage { input, output } = status.agent.usage;
        lines.push(("tokens", format!("{input} in, {output} out since the agent's start")));
        lines.extend(plugins(status.plugins));
        lines.extend(sources(&status.sources));
    }
    for (index, problem) in status.problems.iter().enumerate() {
        let name = if index == 0 { "problems" } else { "" };
        let at = moment(problem.at, zone, "%Y-%m-%d %H:%M:%S");
        let run = problem.run.as_ref().map(|run| format!(" (run {run})")).unwrap_or_default();
        lines.push((name, format!("{at} {} {}: {}{run}", problem.level, problem.origin, problem.text)));
    }
    Ok(lines.iter().map(|(name, value)| format!("{name:<8} {}\n", plain_line(value))).collect())
}

type Line = (&'static str, String);

fn plugins(plugins: Plugins) -> Vec<Line> {
    let mut lines = vec![("plugins", format!("{} live", plugins.live))];
    for plugin in plugins.not_live {
        let reason = plugin.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(("", format!("{} is {}{reason}", plugin.name, plugin.state)));
    }
    lines.extend(plugins.waiting.iter().map(|slot| ("", format!("calls that wait for {}: {}", slot.name, slot.calls))));
    lines
}

fn sources(sources: &[Source]) -> Vec<Line> {
    if sources.is_empty() {
        return vec![("sources", "none; `waiter source add` adds one".to_owned())];
    }
    let names = std::iter::once("sources").chain(std::iter::repeat(""));
    let line = |source: &Source| format!("{} ({}): {}", source.name, source.model, source.standing.words());
    names.zip(sources.iter().map(line)).collect()
}

fn home(status: &Status) -> String {
    match status.disk_free_bytes {
        Some(free) => format!("{}, {} free on its disk", status.home, size(free)),
        None => status.home.clone(),
    }
}

fn process(process: &Process) -> String {
    let figures = [
        process.resident_bytes.map(|bytes| format!("{} of memory", size(bytes))),
        process.open_files.map(|files| format!("{files} open files")),
        process.threads.map(|threads| format!("{threads} threads")),
    ];
    let known: Vec<String> = figures.into_iter().flatten().collect();
    if known.is_empty() { "this system does not tell".to_owned() } else { known.join(", ") }
}

/// Bytes in the unit that leaves at most four digits before the point.
fn size(bytes: u64) -> String {
    let tenths = |shift: u32| (bytes >> (shift - 10)) * 10 / 1024;
    let (tenths, unit) = if bytes < 1 << 30 { (tenths(20), "MiB") } else { (tenths(30), "GiB") };
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
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
