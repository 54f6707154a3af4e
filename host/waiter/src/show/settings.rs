//! Settings.

use serde::Deserialize;
use serde_json::Value;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
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

impl Setting {
    fn value(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let texts = items.iter().map(|item| match item {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                texts.collect::<Vec<_>>().join(", ")
            }
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    fn with_unit(&self) -> String {
        let value = self.value();
        if self.unit.is_empty() { value } else { format!("{value} {}", self.unit) }
    }
}

/// All settings.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let settings: Vec<Setting> = read(answer)?;
    let mut table = Table::new(&["KEY", "VALUE", "", "DESCRIPTION"]);
    for setting in &settings {
        let mark = if setting.is_default { "" } else { "changed" };
        table.row(&[&setting.key, &setting.with_unit(), mark, &setting.description]);
    }
    let mut text = table.or("no settings");
    for setting in &settings {
        if let Some(problem) = &setting.problem {
            let line = plain_line(&format!("{}: {problem}", setting.key));
            text.push_str(&format!("{line}\n"));
        }
    }
    Ok(text)
}

/// The value alone, as a script wants it.
pub(crate) fn value(answer: &str) -> Result<String, Failure> {
    let setting: Setting = read(answer)?;
    Ok(format!("{}\n", plain_line(&setting.value())))
}

/// A setting after it was changed; `null` is one that is gone.
pub(crate) fn changed(answer: &str) -> Result<String, Failure> {
    let setting: Option<Setting> = read(answer)?;
    let Some(setting) = setting else {
        return Ok("it is gone\n".to_owned());
    };
    let default = if setting.is_default { ", its default" } else { "" };
    let restarts = setting.applies.get("restart").and_then(Value::as_str);
    let later = restarts.map_or_else(String::new, |part| format!("; it takes effect when the {part} restarts"));
    let line = format!("{} is {}{default}{later}", setting.key, setting.with_unit());
    Ok(format!("{}\n", plain_line(&line)))
}
