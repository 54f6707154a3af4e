//! What the tools are asked.

use homeagent_sdk::Error;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::entry::{Entry, Missed, Work};

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;
/// The longest message, and the longest arguments of a tool, in bytes.
const LONGEST_TEXT: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Set {
    /// A short name, to find the timer again; without one it is made of the message.
    pub(crate) name: Option<String>,
    /// When: ISO 8601 (2026-12-24T18:00, the user's time), a cron expression of five fields (30 18 * * 1-5), or plain words
    /// in English or Chinese: in 20 minutes; tomorrow at 9; every 2 hours; every weekday at 18:30; 明天早上九点;
    /// 每周一三五晚上八点; at sunset; every day 30 minutes before sunset.
    pub(crate) when: String,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Change {
    /// The timer's name.
    pub(crate) name: String,
    /// Whose it is, where a member's timer is meant: as `timer_list` shows it. Only the owner can say that.
    pub(crate) of: Option<String>,
    /// When, as for `timer_set`; without it the times stay.
    pub(crate) when: Option<String>,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

/// What can be said of a timer when it is set and later.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Rest {
    /// What you will be told when it is due: everything you need to know then, in the user's language.
    pub(crate) message: Option<String>,
    /// In the place of a message: a tool to call when it is due.
    pub(crate) tool: Option<String>,
    /// The tool's arguments.
    pub(crate) arguments: Option<Map<String, Value>>,
    /// False: the tool's result is sent as it is. True, as without this: you say what came of it.
    pub(crate) report: Option<bool>,
    /// It does not wait: it interrupts what you do then, also in quiet hours.
    pub(crate) urgent: Option<bool>,
    /// What happens to times missed while the daemon was off: skip; once (one run for all, the usual); all (one for each, at
    /// most 100).
    pub(crate) missed: Option<Missed>,
    /// Another conversation than this one, such as qq:12345 or qq:group/678. Only for the owner.
    pub(crate) to: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Named {
    /// The timer's name.
    pub(crate) name: String,
    /// Whose it is, where a member's timer is meant: as `timer_list` shows it. Only the owner can say that.
    pub(crate) of: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// Only those behind this name, in the order of names.
    pub(crate) after: Option<String>,
    /// At most so many; 100 without it, 1000 at most.
    pub(crate) limit: Option<usize>,
}

/// Fails on a name that can't be.
pub(crate) fn check_name(name: &str) -> Result<String, Error> {
    let name = name.trim();
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains('/') || name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("a timer's name has 1 to {LONGEST_NAME} bytes and no slash")));
    }
    Ok(name.to_owned())
}

/// A name made of what there is to do.
pub(crate) fn made_name(work: &Work) -> String {
    let text = match work {
        Work::Message(text) => text,
        Work::Tool { name, .. } => name,
    };
    let words: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = words[..words.floor_char_boundary(40)].trim_end();
    if short.is_empty() { "timer".to_owned() } else { short.to_owned() }
}

impl Rest {
    /// What there is to do; nothing where nothing is said of it.
    pub(crate) fn work(&self) -> Result<Option<Work>, Error> {
        match (&self.message, &self.tool) {
            (Some(_), Some(_)) => Err(Error::invalid("give either `message` or `tool`, not both")),
            (Some(message), None) if message.trim().is_empty() => Err(Error::invalid("`message` is empty")),
            (Some(message), None) => bounded("message", message).map(|()| Some(Work::Message(message.clone()))),
            (None, Some(tool)) => {
                let arguments = Value::Object(self.arguments.clone().unwrap_or_default()).to_string();
                bounded("tool", tool)?;
                bounded("arguments", &arguments)?;
                Ok(Some(Work::Tool { name: tool.clone(), arguments, report: self.report.unwrap_or(true) }))
            }
            (None, None) if self.arguments.is_some() || self.report.is_some() => {
                Err(Error::invalid("`arguments` and `report` go with `tool`"))
            }
            (None, None) => Ok(None),
        }
    }

    /// Puts what is said into an entry.
    pub(crate) fn apply(self, entry: &mut Entry) -> Result<(), Error> {
        if let Some(work) = self.work()? {
            entry.work = work;
        }
        entry.urgent = self.urgent.unwrap_or(entry.urgent);
        entry.missed = self.missed.unwrap_or(entry.missed);
        if let Some(to) = self.to {
            bounded("to", &to)?;
            entry.to = Some(to).filter(|to| !to.trim().is_empty());
        }
        Ok(())
    }
}

fn bounded(what: &str, text: &str) -> Result<(), Error> {
    match text.len() {
        0..=LONGEST_TEXT => Ok(()),
        length => Err(Error::invalid(format!("`{what}` has {length} bytes; {LONGEST_TEXT} are the most"))),
    }
}
