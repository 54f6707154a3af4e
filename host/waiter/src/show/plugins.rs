//! Plugins.

use std::fmt::Write as _;

use homeagent_types::ports::{PluginFolders, PluginStatus, Removed};
use serde_json::{Map, Value};

use super::span;
use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::Table;

/// How much of a digest is shown.
const DIGEST: usize = 12;

/// All plugins, and below them what keeps them from working and what lies in the folder of packages.
pub(crate) fn list(answer: &str, found: Option<&str>) -> Result<String, Failure> {
    let plugins: Vec<PluginStatus> = read(answer)?;
    let mut table = Table::new(&[
        "NAME",
        "VERSION",
        "STATE",
        "UP",
        "CALLS",
        "RESTARTS",
        "TOOLS",
        "GRANTED",
        "DIGEST",
        "SIGNED BY",
        "SUMMARY",
    ]);
    for plugin in &plugins {
        let up = if plugin.uptime_ms > 0 { span(plugin.uptime_ms) } else { "-".to_owned() };
        let granted = if plugin.granted.is_empty() { "-".to_owned() } else { plugin.granted.join(",") };
        table.row(&[
            &plugin.name,
            &plugin.version,
            &plugin.state,
            &up,
            &plugin.calls.to_string(),
            &plugin.restarts.to_string(),
            &plugin.tools.len().to_string(),
            &granted,
            &plugin.digest.chars().take(DIGEST).collect::<String>(),
            signer(plugin),
            &plugin.summary,
        ]);
    }
    let mut text = table.or("no plugins");
    let remarks: String = plugins.iter().map(remarks).collect();
    if !remarks.is_empty() {
        text.push('\n');
        text.push_str(&remarks);
    }
    if let Some(found) = found {
        text.push('\n');
        text.push_str(&folders(found)?);
    }
    Ok(text)
}

/// The folder of packages, and what became of each that lies in it.
pub(crate) fn folders(answer: &str) -> Result<String, Failure> {
    let folders: PluginFolders = read(answer)?;
    let place = plain_line(&folders.folder);
    if let Some(problem) = &folders.problem {
        return Ok(format!("packages are looked for in {place}: {}\n", plain_line(problem)));
    }
    if folders.entries.is_empty() {
        return Ok(format!("packages are looked for in {place}, and there is none\n"));
    }
    let mut text = format!("packages are looked for in {place}\n");
    for entry in &folders.entries {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        let plugin = entry.plugin.as_ref().map_or_else(String::new, |plugin| format!(" ({plugin})"));
        let reason = entry.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let line = plain_line(&format!("{name}{plugin} is {}{reason}", entry.state));
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {line}");
    }
    Ok(text)
}

/// What came of removing a plugin.
pub(crate) fn removed(answer: &str) -> Result<String, Failure> {
    let removed: Removed = read(answer)?;
    let mut text = format!("{} is removed, with what it was granted\n", plain_line(&removed.removed));
    if let Some(plugin) = &removed.bundled {
        text.push_str(&plain_line(&format!("the bundled {} {} is {}", plugin.name, plugin.version, plugin.state)));
        text.push('\n');
    }
    Ok(text)
}

/// One plugin, after something was done to it.
pub(crate) fn one(answer: &str) -> Result<String, Failure> {
    let plugin: PluginStatus = read(answer)?;
    let signed = match &plugin.publisher {
        Some(publisher) => format!(", signed by {publisher}"),
        None if plugin.origin == "bundled" => String::new(),
        None => ", unsigned".to_owned(),
    };
    let mut text = plain_line(&format!("{} {} is {}{signed}", plugin.name, plugin.version, plugin.state));
    let had = plugin.capabilities.iter().filter_map(|it| Some(with_details(&it.name, it.granted.as_ref()?)));
    let had: Vec<String> = had.collect();
    if !had.is_empty() {
        text.push_str("; granted: ");
        text.push_str(&plain_line(&had.join(", ")));
    }
    text.push('\n');
    text.push_str(&remarks(&plugin));
    Ok(text)
}

/// Who vouches for a package.
fn signer(plugin: &PluginStatus) -> &str {
    match &plugin.publisher {
        Some(publisher) => publisher,
        None if plugin.origin == "bundled" => "homed",
        None => "unsigned",
    }
}

fn remarks(plugin: &PluginStatus) -> String {
    let mut text = String::new();
    let name = plain_line(&plugin.name);
    // Writing to a string does not fail.
    if let Some(reason) = &plugin.reason {
        let _ = writeln!(text, "{name} is {}: {}", plugin.state, plain_line(reason));
    }
    if let Some(error) = &plugin.last_error {
        let _ = writeln!(text, "{name}: its last failure was: {}", plain_line(error));
    }
    for address in &plugin.addresses {
        let line = match (&address.bound, &address.problem) {
            (Some(bound), _) => format!("is served at {bound}, too ({})", address.setting),
            (None, problem) => format!("{}: {}", address.setting, problem.as_deref().unwrap_or("nobody listens")),
        };
        let _ = writeln!(text, "{name} {}", plain_line(&line));
    }
    for socket in &plugin.sockets {
        let line = match &socket.problem {
            None => format!("listens at the unix socket {} ({})", socket.path, socket.listener),
            Some(problem) => format!("{}: {problem}", socket.listener),
        };
        let _ = writeln!(text, "{name} {}", plain_line(&line));
    }
    for capability in plugin.capabilities.iter().filter(|it| it.is_missing()) {
        let (asked, capability_name) =
            (with_details(&capability.name, &capability.asked), plain_line(&capability.name));
        let has = capability.granted.as_ref().map(|granted| format!(", and has {}", with_details("of it", granted)));
        let why = capability.reason.as_ref().map(|reason| format!(" - {reason}"));
        let said = plain_line(&format!("{asked}{}{}", has.unwrap_or_default(), why.unwrap_or_default()));
        let _ = writeln!(text, "{name} asks for {said}: `waiter plugin grant {name} {capability_name}` allows it");
    }
    text
}

/// A capability with its details, as they stand in a manifest.
fn with_details(capability: &str, details: &Map<String, Value>) -> String {
    if details.is_empty() {
        return capability.to_owned();
    }
    let details: Vec<String> = details.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{capability} ({})", details.join(", "))
}
