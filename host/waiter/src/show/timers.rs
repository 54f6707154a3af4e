//! Timers.

use serde::Deserialize;
use serde_json::Value;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::{Table, cut};

/// How much of what a timer does a list shows, in columns.
const WORK: usize = 60;

#[derive(Deserialize)]
struct Timers {
    timers: Vec<Timer>,
    total: u64,
    next: Option<String>,
    time_zone: String,
}

#[derive(Deserialize)]
struct Timer {
    name: String,
    when: String,
    next: Option<String>,
    by: String,
    message: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
}

impl Timer {
    fn work(&self) -> String {
        match (&self.message, &self.tool) {
            (Some(message), _) => message.lines().next().unwrap_or_default().to_owned(),
            (None, Some(tool)) => format!("calls {tool} {}", self.arguments.as_ref().unwrap_or(&Value::Null)),
            (None, None) => String::new(),
        }
    }
}

/// All timers of a page.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let Timers { timers, total, next, time_zone } = read(answer)?;
    let mut table = Table::new(&["NAME", "NEXT", "WHEN", "BY", "WHAT"]);
    for timer in &timers {
        let due = timer.next.as_deref().unwrap_or("paused");
        table.row(&[&timer.name, due, &timer.when, &timer.by, &cut(&timer.work(), WORK)]);
    }
    let mut text = table.or("no timers");
    if !timers.is_empty() {
        text.push_str(&format!("times of {}\n", plain_line(&time_zone)));
    }
    if let Some(next) = next {
        let shown = timers.len();
        text.push_str(&format!("{shown} of {total}; more: waiter timers list --after {:?}\n", plain_line(&next)));
    }
    Ok(text)
}

/// One timer that was changed.
pub(crate) fn one(answer: &str) -> Result<String, Failure> {
    let timer: Timer = read(answer)?;
    let name = plain_line(&timer.name);
    Ok(match &timer.next {
        Some(next) => format!("{name} is due at {}\n", plain_line(next)),
        None => format!("{name} is paused\n"),
    })
}

/// A timer that was taken away.
pub(crate) fn cancelled(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Cancelled {
        cancelled: String,
    }
    let Cancelled { cancelled } = read(answer)?;
    Ok(format!("cancelled {}\n", plain_line(&cancelled)))
}
