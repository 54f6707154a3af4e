//! Runs: what happened.

use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

use super::{moment, span};
use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::{Table, cut};

/// How much of an event's details is shown, in columns.
const DETAILS: usize = 160;

#[derive(Deserialize)]
struct Run {
    id: String,
    conversation: String,
    principal: String,
    started_at: i64,
    ended_at: Option<i64>,
    status: String,
    finish_reason: Option<String>,
    error: Option<String>,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    at_ms: i64,
    kind: String,
    #[serde(default)]
    hidden: bool,
    payload: Value,
}

impl Run {
    fn took(&self) -> String {
        let took = self.ended_at.map(|ended| ended - self.started_at);
        let took = took.and_then(|took| u64::try_from(took).ok());
        took.map_or_else(|| "-".to_owned(), span)
    }

    /// How it stands and why, without saying the same twice.
    fn outcome(&self) -> String {
        match (&self.error, &self.finish_reason) {
            (Some(error), _) => format!("{}: {error}", self.status),
            (None, Some(reason)) if *reason != self.status => {
                format!("{}: {reason}", self.status)
            }
            _ => self.status.clone(),
        }
    }
}

/// The last runs, newest first.
pub(crate) fn list(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let runs: Vec<Run> = read(answer)?;
    let mut table = Table::new(&["RUN", "STARTED", "TOOK", "CONVERSATION", "OUTCOME"]);
    for run in &runs {
        table.row(&[
            &run.id,
            &moment(run.started_at, zone, "%Y-%m-%d %H:%M:%S"),
            &run.took(),
            &run.conversation,
            &cut(&run.outcome(), DETAILS),
        ]);
    }
    Ok(table.or("no runs"))
}

/// A run and its events.
pub(crate) fn show(answer: &str, zone: &TimeZone) -> Result<String, Failure> {
    let run: Run = read(answer)?;
    let head = [
        ("run", run.id.clone()),
        ("conversation", run.conversation.clone()),
        ("for", run.principal.clone()),
        ("started", moment(run.started_at, zone, "%Y-%m-%d %H:%M:%S %:z")),
        ("took", run.took()),
        ("outcome", run.outcome()),
    ];
    let mut text = String::new();
    for (name, value) in head {
        text.push_str(&format!("{name:<13} {}\n", plain_line(&value)));
    }
    text.push('\n');
    let mut table = Table::new(&["AT", "EVENT", "DETAILS"]);
    for event in &run.events {
        let details = match &event.payload {
            // The system prompt would fill the screen.
            _ if event.hidden && event.kind.ends_with("_snapshotted") => String::new(),
            payload => cut(&payload.to_string(), DETAILS),
        };
        let at = moment(event.at_ms, zone, "%H:%M:%S%.3f");
        table.row(&[&at, &event.kind, &details]);
    }
    text.push_str(&table.or("nothing was recorded"));
    Ok(text)
}
