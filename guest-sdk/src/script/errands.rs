//! What scripts have done later, and for whom.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::host_functions::lent;
use super::incoming::{RawPeer, read};
use super::network::names;
use crate::inputs::Submission;
use crate::{Again, Conversation, Error, Peer, Timestamp, errands, timers};

/// A timer: `at` or `every` or `calendar`, in milliseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Timer {
    name: String,
    at: Option<u64>,
    every: Option<u64>,
    calendar: Option<u64>,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    cause: Value,
}

impl Timer {
    fn schedule(&self) -> Result<timers::Schedule, Error> {
        match (self.at, self.every, self.calendar) {
            (Some(at), None, None) => Ok(timers::Schedule::At(at)),
            (None, Some(every), None) => Ok(timers::Schedule::Every(every)),
            (None, None, Some(at)) => Ok(timers::calendar(at)),
            _ => Err(Error::invalid("a timer has one of `at`, `every` and `calendar`")),
        }
    }
}

/// Sets, cancels and lists the script's own timers.
pub(super) async fn own_timers(function: &str, argument: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    match function {
        "timers-list" => timers::list().await?.iter().map(told).collect(),
        "timers-cancel" => timers::cancel(&read::<Named>(function, argument)?.name).await.map(Value::from),
        _ => {
            let timer: Timer = read(function, argument)?;
            told(&timers::set(&timer.name, timer.schedule()?, &timer.payload).await?)
        }
    }
}

/// Sets and changes timers for those who ask for them, and queues inputs for them.
pub(super) async fn wait(function: &str, argument: Value) -> Option<Result<Value, Error>> {
    Some(match function {
        "errands-set" => set(argument).await,
        "errands-change" => change(argument).await,
        "errands-submit" => submit(argument).await,
        _ => return None,
    })
}

async fn set(argument: Value) -> Result<Value, Error> {
    let timer: Timer = read("the errand", argument)?;
    told(&errands::set_timer(&timer.name, timer.schedule()?, &timer.payload, &lent(&timer.cause)?).await?)
}

async fn change(argument: Value) -> Result<Value, Error> {
    let timer: Timer = read("the errand", argument)?;
    let changed = errands::change_timer(&timer.name, timer.schedule()?, &timer.payload).await?;
    changed.as_ref().map_or(Ok(Value::Null), told)
}

async fn submit(argument: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct To {
        channel: String,
        peer: RawPeer,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        text: String,
        platform_id: String,
        #[serde(default, deserialize_with = "names")]
        meta: BTreeMap<String, String>,
        to: Option<To>,
        #[serde(default)]
        interrupts: bool,
        #[serde(default)]
        cause: Value,
    }
    let Raw { text, platform_id, meta, to, interrupts, cause } = read("the errand", argument)?;
    let submission = Submission::text(Peer::Other(String::new()), "", text).platform_id(platform_id);
    let submission = Submission { kind: "timer".to_owned(), meta: meta.into_iter().collect(), ..submission };
    let to = to.map(|to| Conversation { channel: to.channel, peer: to.peer.into() });
    let accepted = errands::submit(submission, to, interrupts, &lent(&cause)?).await?;
    Ok(json!({ "input": accepted.input, "duplicate": accepted.duplicate }))
}

/// When a timer is due again: nothing, a time, or `{ due, payload }`.
pub(super) fn again(value: Value) -> Result<Option<Again>, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        due: Timestamp,
        payload: Option<Value>,
    }
    match value {
        Value::Null => Ok(None),
        Value::Number(_) => read("the time", value).map(|due| Some(Again::at(due))),
        _ => {
            let Raw { due, payload } = read("what the handler of timers returned", value)?;
            payload.map_or_else(|| Ok(Again::at(due)), |payload| Again::with(due, &payload)).map(Some)
        }
    }
}

fn told(timer: &timers::Timer) -> Result<Value, Error> {
    let payload: Value = serde_json::from_str(&timer.payload)?;
    Ok(json!({ "name": timer.name, "due": timer.due, "every": timer.every, "payload": payload }))
}
