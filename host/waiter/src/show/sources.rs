//! Sources.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::{moment, span};
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
    #[serde(default)]
    since: Option<i64>,
    #[serde(default)]
    again_at: Option<i64>,
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

    /// What it failed with, since when it stands so, and until when; nothing where it did not fail.
    fn story(&self, zone: &TimeZone) -> Option<String> {
        let reason = self.reason.as_ref()?;
        let clock = |at: Option<i64>| at.map(|at| moment(at, zone, "%Y-%m-%d %H:%M:%S"));
        let since = clock(self.since);
        if self.standing == "ready" {
            let when = since.map(|since| format!(" at {since}")).unwrap_or_default();
            return Some(format!("the last request failed{when}: {reason}"));
        }
        let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
        let again = clock(self.again_at).zip(self.again_in_ms);
        let again = again.map(|(at, again)| format!(", asked again at {at} (in {})", span(again))).unwrap_or_default();
        Some(format!("{}{since}{again}: {reason}", self.word()))
    }
}

/// All sources, in the order in which they are tried.
pub(crate) fn list(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
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
        if let Some(story) = source.state.as_ref().and_then(|state| state.story(zone)) {
            text.push_str(&plain_line(&format!("{}: {story}", source.name)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_failed_says_why_since_when_and_until_when() {
        let source = |name: &str, state: serde_json::Value| {
            serde_json::json!({"name": name, "line": "main", "adapter": "openai", "base_url": "http://x", "model": "m",
                "enabled": true, "key": "set", "state": state})
        };
        let answer = serde_json::json!([
            source(
                "a",
                serde_json::json!({"standing": "unfunded", "reason": "Insufficient Balance",
                "since": 1_796_000_000_000_i64, "again_at": 1_796_003_600_000_i64, "again_in_ms": 3_540_000})
            ),
            source(
                "b",
                serde_json::json!({"standing": "ready", "reason": "no such model", "since": 1_796_000_000_000_i64,
                "again_at": null, "again_in_ms": null})
            ),
            source(
                "c",
                serde_json::json!({"standing": "ready", "reason": null, "since": null, "again_at": null,
                "again_in_ms": null})
            ),
        ]);
        let shown = list(&answer.to_string(), &TimeZone::UTC).expect("a list");
        let stories: Vec<&str> = shown.lines().skip(4).collect();
        assert_eq!(
            stories,
            [
                "a: unfunded since 2026-11-30 00:53:20, asked again at 2026-11-30 01:53:20 (in 59 min 0 s): Insufficient \
                 Balance",
                "b: the last request failed at 2026-11-30 00:53:20: no such model",
            ]
        );
    }
}
