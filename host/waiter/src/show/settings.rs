//! Settings.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::{plain, plain_json, plain_line};
use crate::table::Table;

#[derive(Deserialize)]
struct Setting {
    key: String,
    #[serde(default)]
    unit: String,
    description: String,
    value: Value,
    is_default: bool,
    #[serde(default)]
    applies: Value,
    #[serde(default)]
    problem: Option<String>,
}

/// What has to restart before a change takes effect.
fn restarts(applies: &Value) -> Option<&str> {
    applies.get("restart").and_then(Value::as_str)
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Setting {
    /// The key up to its part, such as `core.agent`, and the rest.
    fn place(&self) -> (&str, &str) {
        let cut = self.key.match_indices('.').nth(1);
        cut.map_or(("", &self.key), |(at, _)| (&self.key[..at], &self.key[at + 1..]))
    }

    fn with_unit(&self) -> String {
        let value = words(&self.value);
        if self.unit.is_empty() { value } else { format!("{value} {}", self.unit) }
    }
}

/// Those settings of the daemon's answer whose keys begin like this, as the daemon wrote them.
pub(crate) fn beginning(answer: &str, prefix: &str) -> Result<String, Failure> {
    let settings: Vec<Box<RawValue>> = read(answer)?;
    let mut kept = Vec::new();
    for setting in &settings {
        if read::<Keyed>(setting.get())?.key.starts_with(prefix) {
            kept.push(setting.get());
        }
    }
    Ok(format!("[{}]", kept.join(",")))
}

#[derive(Deserialize)]
struct Keyed {
    key: String,
}

/// Settings, in groups by the part they belong to. `prefix` is how their keys begin.
pub(crate) fn list(answer: &str, prefix: &str) -> Result<String, Failure> {
    let settings: Vec<Setting> = read(answer)?;
    let mut text = String::new();
    for group in settings.chunk_by(|one, next| one.place().0 == next.place().0) {
        let Some(first) = group.first() else { continue };
        let mut table = Table::new(&[first.place().0, "VALUE", "", "DESCRIPTION"]);
        for setting in group {
            let mark = if setting.is_default { "" } else { "changed" };
            let restart = restarts(&setting.applies).map_or_else(String::new, |part| format!(" (restarts the {part})"));
            let description = format!("{}{restart}", setting.description);
            table.row(&[setting.place().1, &setting.with_unit(), mark, &description]);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table.or(""));
    }
    if text.is_empty() {
        text = format!("no setting begins with \"{}\"\n", plain_line(prefix));
    }
    for setting in &settings {
        if let Some(problem) = &setting.problem {
            let line = plain_line(&format!("{}: {problem}", setting.key));
            text.push_str(&format!("{line}\n"));
        }
    }
    Ok(text)
}

/// The value alone, as a script wants it: what is set to it is the same.
pub(crate) fn value(answer: &str) -> Result<String, Failure> {
    let setting: Setting = read(answer)?;
    Ok(match &setting.value {
        Value::String(text) => plain(text) + "\n",
        Value::Array(_) => plain_json(&setting.value.to_string()) + "\n",
        value => format!("{}\n", plain_line(&words(value))),
    })
}

/// A setting after it was changed; `null` is one that is gone.
pub(crate) fn changed(answer: &str) -> Result<String, Failure> {
    let setting: Option<Setting> = read(answer)?;
    let Some(setting) = setting else {
        return Ok("it is gone\n".to_owned());
    };
    let default = if setting.is_default { ", its default" } else { "" };
    let later = restarts(&setting.applies)
        .map_or_else(String::new, |part| format!("; it takes effect when the {part} restarts"));
    let line = format!("{} is {}{default}{later}", setting.key, setting.with_unit());
    Ok(format!("{}\n", plain_line(&line)))
}

#[derive(Deserialize)]
struct Import {
    changed: Vec<Changed>,
    unchanged: Vec<String>,
}

#[derive(Deserialize)]
struct Changed {
    key: String,
    before: Value,
    value: Value,
    applies: Value,
}

/// What a document changed, or would change.
pub(crate) fn imported(answer: &str, dry_run: bool) -> Result<String, Failure> {
    let import: Import = read(answer)?;
    let mut text = String::new();
    for Changed { key, before, value, applies } in &import.changed {
        let later =
            restarts(applies).map_or_else(String::new, |part| format!("; it takes effect when the {part} restarts"));
        let (is, was) = if dry_run { ("would be", "is") } else { ("is", "was") };
        let line = format!("{key} {is} {}, and {was} {}{later}", words(value), words(before));
        text.push_str(&format!("{}\n", plain_line(&line)));
    }
    match (import.changed.len(), import.unchanged.len()) {
        (0, 0) => text.push_str("the document sets nothing\n"),
        (_, 0) => {}
        (_, same) => text.push_str(&format!("{same} already as the document says\n")),
    }
    Ok(text)
}
