//! Tools.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::{plain, plain_line};
use crate::table::{Table, cut};

/// How much of a description a list shows, in columns.
const DESCRIPTION: usize = 72;

#[derive(Deserialize)]
struct Tool {
    name: String,
    description: String,
    owner: String,
    effect: String,
    least_role: String,
}

/// All tools.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let tools: Vec<Tool> = read(answer)?;
    let mut table = Table::new(&["NAME", "OF", "EFFECT", "FOR", "DESCRIPTION"]);
    for tool in &tools {
        let first = tool.description.lines().next().unwrap_or_default();
        table.row(&[&tool.name, &tool.owner, &tool.effect, &tool.least_role, &cut(first, DESCRIPTION)]);
    }
    Ok(table.or("no tools"))
}

#[derive(Deserialize)]
struct Output {
    value: Box<RawValue>,
    failed: bool,
    #[serde(default)]
    media: Vec<Medium>,
}

#[derive(Deserialize)]
struct Medium {
    mime: String,
    name: Option<String>,
}

/// What a tool returned, and whether it says that it did not succeed.
pub(crate) fn output(answer: &str) -> Result<(String, bool), Failure> {
    let output: Output = read(answer)?;
    // A text as the text; anything else as the JSON it is, with every digit.
    let value = serde_json::from_str::<String>(output.value.get()).unwrap_or_else(|_| output.value.get().to_owned());
    let mut text = plain(value.trim_end());
    text.push('\n');
    for medium in output.media {
        let name = medium.name.unwrap_or_else(|| "without a name".to_owned());
        let line = plain_line(&format!("[{} {name}]", medium.mime));
        text.push_str(&format!("{line}\n"));
    }
    Ok((text, output.failed))
}
