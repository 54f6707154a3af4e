//! Connections of scripts, and the requests that they answer. Bytes are texts to them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::incoming::read;
use super::network::names;
use crate::connect::{self, Framing, Target};
use crate::routes::{Content, Request, Response};
use crate::sockets::{self, ConnectionId, Frame};
use crate::{Connection, Error};

/// A connection to make.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTarget {
    name: String,
    url: String,
    #[serde(default, deserialize_with = "names")]
    headers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "super::incoming::list")]
    secrets: Vec<String>,
    /// Of a plain connection: lines, or the pieces that arrive.
    framing: Option<String>,
    reconnect: Option<bool>,
    #[serde(default, deserialize_with = "names")]
    meta: BTreeMap<String, String>,
}

/// A frame to send, or a connection to close.
#[derive(Deserialize)]
struct Sent {
    connection: ConnectionId,
    #[serde(default)]
    text: String,
}

/// Does what the host's functions of this name do; nothing where there is none.
pub(super) async fn wait(function: &str, argument: Value) -> Option<Result<Value, Error>> {
    let outcome = match function {
        "connect" => open(argument).await,
        "send" => match read::<Sent>("send", argument) {
            Ok(Sent { connection, text }) => sockets::send(connection, Frame::Text(text)).await,
            Err(error) => Err(error),
        },
        _ => return None,
    };
    Some(outcome.map(|()| Value::Null))
}

async fn open(argument: Value) -> Result<(), Error> {
    let raw: RawTarget = read("connect", argument)?;
    let usual = Target::new(raw.name, raw.url);
    let framing = match raw.framing.as_deref() {
        None | Some("lines") => Framing::Lines,
        Some("pieces") => Framing::Pieces,
        Some(other) => {
            return Err(Error::invalid(format!("there is no framing `{other}`; there are lines and pieces")));
        }
    };
    let target = Target {
        headers: raw.headers.into_iter().collect(),
        secrets: raw.secrets,
        framing,
        reconnect: raw.reconnect.unwrap_or(usual.reconnect),
        meta: raw.meta.into_iter().collect(),
        ..usual
    };
    target.open().await
}

/// Ends the connection of this name, and its being made again.
pub(super) fn disconnect(argument: Value) -> Result<Value, Error> {
    connect::close(&read::<String>("disconnect", argument)?).map(|()| Value::Null)
}

/// Closes a connection; the text is told to the other side.
pub(super) fn close(argument: Value) -> Result<Value, Error> {
    let Sent { connection, text } = read("close", argument)?;
    sockets::close(connection, &text).map(|()| Value::Null)
}

pub(super) fn opened(connection: &Connection) -> Value {
    let meta: Map<String, Value> = connection.meta.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({ "connection": connection.id, "listener": connection.listener, "resumed": connection.resumed, "meta": meta })
}

pub(super) fn frames(connection: ConnectionId, frames: Vec<Frame>) -> Value {
    let text = |frame| match frame {
        Frame::Text(text) => text,
        Frame::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    json!({ "connection": connection, "frames": frames.into_iter().map(text).collect::<Vec<_>>() })
}

pub(super) fn request(request: &Request, cause: &Value) -> Value {
    let mut headers = BTreeMap::<&str, String>::new();
    for (name, value) in &request.headers {
        let told = headers.entry(name).or_default();
        if !told.is_empty() {
            told.push_str(", ");
        }
        told.push_str(value);
    }
    let meta: Map<String, Value> = request.meta.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({
        "route": request.route, "method": request.method, "path": request.path, "query": request.query,
        "headers": headers, "body": String::from_utf8_lossy(&request.body), "meta": meta, "cause": cause,
    })
}

/// Nothing, a text, or `{ status, headers, body | json | events }`.
pub(super) fn response(value: Value) -> Result<Response, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        status: Option<u16>,
        #[serde(default, deserialize_with = "names")]
        headers: BTreeMap<String, String>,
        body: Option<String>,
        json: Option<Value>,
        events: Option<Value>,
    }
    let raw: Raw = match value {
        Value::Null => return Ok(Response::empty()),
        Value::String(text) => return Ok(Response::text(text)),
        other => read("the answer to a request", other)?,
    };
    let mut response = match (raw.body, raw.json, raw.events) {
        (None, None, None) => Response { status: 200, headers: Vec::new(), content: Content::Bytes(Vec::new()) },
        (Some(body), None, None) => Response::text(body),
        (None, Some(value), None) => Response::json(&value)?,
        (None, None, Some(meta)) => Response::events(additions(meta)?),
        _ => return Err(Error::other("the answer to a request has one of body, json and events")),
    };
    response.status = raw.status.unwrap_or(response.status);
    for (name, value) in raw.headers {
        // What the script says of the content stands.
        response.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        response.headers.push((name, value));
    }
    Ok(response)
}

/// Additions by name.
fn additions(meta: Value) -> Result<crate::Meta, Error> {
    #[derive(Deserialize)]
    struct Raw(#[serde(deserialize_with = "names")] BTreeMap<String, String>);
    let Raw(meta) = read("events", meta)?;
    Ok(meta.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_nothing_a_text_or_says_what_it_is() {
        assert_eq!(response(Value::Null).expect("nothing").status, 204);
        assert_eq!(response(json!("hello")).expect("a text").content, Content::Bytes(b"hello".to_vec()));
        let answer = response(json!({ "status": 201, "json": [1], "headers": { "Content-Type": "a/b" } }));
        let answer = answer.expect("an answer");
        assert_eq!((answer.status, answer.headers), (201, vec![("Content-Type".to_owned(), "a/b".to_owned())]));
        let events = response(json!({ "events": { "city": "Bern" } })).expect("events").content;
        assert_eq!(events, Content::Events(vec![("city".to_owned(), "Bern".to_owned())]));
        // Some languages write an empty object as they write an empty list.
        assert_eq!(response(json!({ "events": [] })).expect("events").content, Content::Events(Vec::new()));
        response(json!({ "body": "a", "json": 1 })).expect_err("one of them");
        response(json!({ "boddy": "a" })).expect_err("a misspelling");
    }
}
