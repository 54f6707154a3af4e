//! Sources.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::span;
use crate::client::read;
use crate::failure::Failure;
use crate::plain::{plain, plain_line};
use crate::table::Table;

#[derive(Deserialize)]
struct Source {
    name: String,
    line: String,
    adapter: String,
    base_url: String,
    model: String,
    #[serde(default)]
    options: BTreeMap<String, String>,
    enabled: bool,
    key: String,
    /// How it stands, where it is at work.
    #[serde(default)]
    state: Option<Standing>,
}

/// How a source stands.
#[derive(Deserialize)]
pub(super) struct Standing {
    standing: String,
    reason: Option<String>,
    again_in_ms: Option<u64>,
}

impl Standing {
    /// In a word or two.
    fn word(&self) -> String {
        self.standing.replace('-', " ")
    }

    /// With all that is known of it.
    pub(super) fn words(&self) -> String {
        let again = self.again_in_ms.map(|again| format!(", again in {}", span(again)));
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        format!("{}{}{}", self.word(), again.unwrap_or_default(), reason.unwrap_or_default())
    }
}

/// All sources, in the order in which they are tried.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let sources: Vec<Source> = read(answer)?;
    let mut table = Table::new(&["LINE", "NAME", "ADAPTER", "MODEL", "KEY", "STATE", "BASE URL"]);
    for source in &sources {
        let state = match &source.state {
            _ if !source.enabled => "switched off".to_owned(),
            Some(standing) => standing.word(),
            None => "-".to_owned(),
        };
        table.row(&[&source.line, &source.name, &source.adapter, &source.model, &source.key, &state, &source.base_url]);
    }
    let mut text = table.or("no sources; `waiter source add NAME --adapter A --model M --key-env VAR` adds one");
    for source in &sources {
        if let Some(Standing { reason: Some(reason), .. }) = &source.state {
            text.push_str(&plain_line(&format!("{}: {reason}", source.name)));
            text.push('\n');
        }
    }
    Ok(text)
}

/// Whether there are no sources at all.
pub(crate) fn is_empty(answer: &str) -> Result<bool, Failure> {
    read::<Vec<Source>>(answer).map(|sources| sources.is_empty())
}

/// One source, after something was done to it.
pub(crate) fn one(answer: &str, done: &str) -> Result<String, Failure> {
    let source: Source = read(answer)?;
    let options: String = source.options.iter().map(|(key, value)| format!(", {key}={value}")).collect();
    let line = format!(
        "{} {done}: {} with {} at {}{options}; its key is {}",
        source.name, source.adapter, source.model, source.base_url, source.key
    );
    Ok(format!("{}\n", plain_line(&line)))
}

/// A source that was removed.
pub(crate) fn removed(answer: &str) -> Result<String, Failure> {
    let source: Source = read(answer)?;
    let key = if source.key == "set" { ", and its key with it" } else { "" };
    Ok(format!("{}\n", plain_line(&format!("{} is removed{key}", source.name))))
}

#[derive(Deserialize)]
struct Report {
    ok: bool,
    took_ms: u64,
    model: Option<String>,
    reply: Option<String>,
    detail: Option<String>,
}

/// How the test of a source went, and whether it went well.
pub(crate) fn tested(answer: &str) -> Result<(String, bool), Failure> {
    let report: Report = read(answer)?;
    let took = span(report.took_ms);
    let line = if report.ok {
        let model = report.model.unwrap_or_default();
        format!("{model} answered after {took}: {}", report.reply.unwrap_or_default())
    } else {
        let detail = report.detail.unwrap_or_else(|| "no reason was given".to_owned());
        format!("no answer after {took}: {detail}")
    };
    Ok((format!("{}\n", plain(line.trim_end())), report.ok))
}
