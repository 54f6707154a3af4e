//! What a script can ask of the host.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::incoming::{self, read};
use super::{connections, network, outgoing};
use crate::{Cause, Error, bus, inputs, log, registry, settings, tools};

thread_local! {
    /// The causes of the calls that run, by the number the script knows each by.
    static CAUSES: RefCell<(u64, BTreeMap<u64, Cause>)> = const { RefCell::new((0, BTreeMap::new())) };
}

/// A cause that a script holds as long as its call runs. It gets a number to hand back, so that nothing of the cause is
/// lost on its way through the script.
pub(super) struct Lent {
    number: u64,
    json: Value,
}

pub(super) fn lend(cause: Cause) -> Lent {
    let mut json = outgoing::cause(&cause);
    let number = CAUSES.with_borrow_mut(|(last, causes)| {
        *last += 1;
        causes.insert(*last, cause);
        *last
    });
    json["call"] = json!(number);
    Lent { number, json }
}

impl Lent {
    pub(super) fn json(&self) -> &Value {
        &self.json
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        CAUSES.with_borrow_mut(|(_, causes)| drop(causes.remove(&self.number)));
    }
}

pub(super) fn lent(cause: &Value) -> Result<Cause, Error> {
    let found = cause.get("call").and_then(Value::as_u64);
    let found = found.and_then(|number| CAUSES.with_borrow(|(_, causes)| causes.get(&number).cloned()));
    found.ok_or_else(|| Error::invalid("the cause has to be the one that came with a call that still runs"))
}

/// Asks what is answered at once: `log` with `{ level, message }`, `setting` with its key, `set-setting` with
/// `{ key, value }`, `publish` with `{ topic, payload }`, `sign` with `{ name, algorithm, data }`, `disconnect` with a name, `close` with
/// `{ connection, text }`. Without the host: `json-read` with a text, and `json-write` with any value.
///
/// # Errors
/// What the host says, or that there is no such function.
pub fn now(function: &str, argument: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Line {
        level: String,
        message: String,
    }
    #[derive(Deserialize)]
    struct Setting {
        key: String,
        #[serde(default)]
        value: Value,
    }
    #[derive(Deserialize)]
    struct Publication {
        topic: String,
        #[serde(default)]
        payload: Value,
    }
    match function {
        "log" => {
            let Line { level, message } = read("log", argument)?;
            log::write(level_of(&level)?, message);
            Ok(Value::Null)
        }
        "setting" => settings::get(&read::<String>("setting", argument)?),
        "set-setting" => {
            let Setting { key, value } = read("set-setting", argument)?;
            settings::set(&key, &value).map(|()| Value::Null)
        }
        "publish" => {
            let Publication { topic, payload } = read("publish", argument)?;
            bus::publish(&topic, &payload).map(|()| Value::Null)
        }
        "sign" => network::sign(argument),
        "disconnect" => connections::disconnect(argument),
        "close" => connections::close(argument),
        "json-read" => {
            let value = serde_json::from_str(&read::<String>(function, argument)?);
            value.map_err(|error| Error::invalid(format!("it is not JSON: {error}")))
        }
        "json-write" => Ok(argument.to_string().into()),
        _ => Err(unknown(function)),
    }
}

/// Asks what takes its time: `call-tool` with `{ name, arguments, cause }`, `submit`, `interrupt` and `stop-turn` with a
/// submission, `replace-tools` with a list of tools, `http` with a request, `connect` with a target, `send` with `{ connection, text }`, and `kv-*`, `files-*`, `timers-*`, `errands-*`, `run`, `memory-*`, `knowledge-*` and `people`,
/// which `docs/languages.md` describes.
///
/// # Errors
/// What the host says, or that there is no such function.
pub async fn wait(function: &str, argument: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Call {
        name: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        cause: Value,
    }
    let accepted = |it: inputs::Accepted| json!({ "input": it.input, "duplicate": it.duplicate });
    match function {
        "call-tool" => {
            let Call { name, arguments, cause } = read("call-tool", argument)?;
            let output = tools::call(&name, &arguments, lent(&cause)?).await?;
            Ok(outgoing::tool_output(&output))
        }
        "submit" => inputs::submit(incoming::submission(argument)?).await.map(accepted),
        "interrupt" => inputs::interrupt(incoming::submission(argument)?).await.map(accepted),
        "stop-turn" => inputs::stop(incoming::submission(argument)?).await.map(Value::from),
        "http" => network::send(argument).await,
        "replace-tools" => registry::replace_tools(incoming::tools(argument)?).await.map(|()| Value::Null),
        "connect" | "send" => connections::wait(function, argument).await.unwrap_or_else(|| Err(unknown(function))),
        _ if function.starts_with("errands-") => {
            super::errands::wait(function, argument).await.unwrap_or_else(|| Err(unknown(function)))
        }
        _ if super::recollection::FUNCTIONS.contains(&function) => super::recollection::ask(function, argument).await,
        _ => super::machine::wait(function, argument).await.unwrap_or_else(|| Err(unknown(function))),
    }
}

fn unknown(function: &str) -> Error {
    Error::not_found(format!("the host has no function `{function}`"))
}

fn level_of(name: &str) -> Result<log::Level, Error> {
    Ok(match name {
        "trace" => log::Level::Trace,
        "debug" => log::Level::Debug,
        "info" => log::Level::Info,
        "warn" => log::Level::Warn,
        "error" => log::Level::Error,
        _ => return Err(Error::invalid(format!("there is no level `{name}` of the log"))),
    })
}
