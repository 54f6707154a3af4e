//! Writing a document.

use std::fmt::Write as _;

use serde_json::Value;

use crate::registry::{Applies, Entry, Kind, Settings};

impl Settings {
    /// The settings as a TOML document: those that were changed, or all, each with a comment that says what it is for,
    /// what it takes and what it is by default. Secrets are mentioned, and not told.
    #[must_use]
    pub fn to_toml(&self, all: bool) -> String {
        let mut text = String::from("# Settings of homed. `waiter settings import FILE` reads this back.\n");
        let mut table = String::new();
        for entry in self.list() {
            let wanted = all || !entry.is_default;
            if !wanted {
                continue;
            }
            let (place, name) = place(&entry.declaration.key);
            if place != table {
                let _ = write!(text, "\n[{place}]\n");
                table = place;
            }
            if all {
                comment(&mut text, &entry);
            }
            match value(&entry) {
                Some(value) => drop(writeln!(text, "{} = {value}", toml_key(name))),
                None => drop(writeln!(
                    text,
                    "# {} is a secret, and {}; `waiter settings set {} -` sets it.",
                    toml_key(name),
                    if entry.value.is_null() { "not set" } else { "set" },
                    entry.declaration.key,
                )),
            }
        }
        text
    }
}

/// The table of a key, and its name in it.
fn place(key: &str) -> (String, &str) {
    let mut dots = key.match_indices('.').map(|(at, _)| at);
    let Some(cut) = dots.nth(1) else { return (String::new(), key) };
    let table = key[..cut].split('.').map(toml_key).collect::<Vec<_>>().join(".");
    (table, &key[cut + 1..])
}

fn toml_key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if bare { name.to_owned() } else { toml::Value::from(name).to_string() }
}

/// The value as TOML; nothing for a secret.
fn value(entry: &Entry) -> Option<String> {
    let text = |text: &str| toml::Value::from(text).to_string();
    Some(match &entry.value {
        _ if entry.declaration.kind == Kind::Secret => return None,
        Value::String(string) => text(string),
        Value::Array(items) => {
            let items = items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), text));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        // Whole numbers, fractions and switches are written alike in JSON and TOML.
        other => other.to_string(),
    })
}

fn comment(text: &mut String, entry: &Entry) {
    let declaration = &entry.declaration;
    let unit = if declaration.unit.is_empty() { String::new() } else { format!(" ({})", declaration.unit) };
    let restart = match &declaration.applies {
        Applies::Live => String::new(),
        Applies::Restart(part) => format!(" Takes effect when the {part} restarts."),
    };
    let _ = writeln!(text, "# {}{unit}.{restart}", one_line(&declaration.description));
    if declaration.kind != Kind::Secret {
        let default = &declaration.default;
        let _ = writeln!(
            text,
            "# Allowed: {}; default: {}",
            one_line(&declaration.kind.allowed()),
            one_line(&default.to_string())
        );
    }
}

/// A comment ends with its line, so that a plugin's text can't write settings.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
