//! Plugins.

use std::fmt::Write as _;

use homeagent_types::ports::PluginStatus;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::Table;

/// All plugins, and below them what keeps them from working.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let plugins: Vec<PluginStatus> = read(answer)?;
    let mut table = Table::new(&["NAME", "VERSION", "STATE", "CALLS", "RESTARTS", "TOOLS", "SUMMARY"]);
    for plugin in &plugins {
        table.row(&[
            &plugin.name,
            &plugin.version,
            &plugin.state,
            &plugin.calls.to_string(),
            &plugin.restarts.to_string(),
            &plugin.tools.len().to_string(),
            &plugin.summary,
        ]);
    }
    let mut text = table.or("no plugins");
    let remarks: String = plugins.iter().map(remarks).collect();
    if !remarks.is_empty() {
        text.push('\n');
        text.push_str(&remarks);
    }
    Ok(text)
}

/// One plugin, after something was done to it.
pub(crate) fn one(answer: &str) -> Result<String, Failure> {
    let plugin: PluginStatus = read(answer)?;
    let mut text = plain_line(&format!("{} {} is {}", plugin.name, plugin.version, plugin.state));
    if !plugin.granted.is_empty() {
        text.push_str("; granted: ");
        text.push_str(&plain_line(&plugin.granted.join(", ")));
    }
    text.push('\n');
    text.push_str(&remarks(&plugin));
    Ok(text)
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
    for capability in &plugin.missing {
        let capability = plain_line(capability);
        let _ = writeln!(text, "{name} asks for {capability}: `waiter plugin grant {name} {capability}` allows it");
    }
    text
}
