//! Connects where it is told to, and tells what came of it and what happened on its connections.

use std::time::Duration;

use homeagent_sdk::connect::{self, Framing, Target};
use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Connection, Descriptor, Effect, Error, NoArguments, Plugin, Sockets, State, Tool, ToolOutput,
    Tools, script,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

static SEEN: State<Seen> = State::new(Seen::default);

#[derive(Default, Serialize)]
struct Seen {
    /// Connections that were opened, by name, with whether they were there before.
    opened: Vec<(String, bool)>,
    frames: Vec<String>,
    closed: Vec<String>,
    last: Option<ConnectionId>,
}

#[derive(Deserialize, JsonSchema)]
struct Open {
    name: String,
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    secrets: Vec<String>,
    #[serde(default)]
    lines: bool,
    #[serde(default)]
    reconnect: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

struct Dialler;

impl Plugin for Dialler {
    fn describe() -> Descriptor {
        Descriptor::new("dialler", env!("CARGO_PKG_VERSION"))
            .summary("Connects where it is told to.")
            .tool(Tool::new::<Open>("open", "Opens a connection.").effect(Effect::Read))
            .tool(Tool::new::<Text>("close", "Ends the connection of a name.").effect(Effect::Read))
            .tool(Tool::new::<Text>("send", "Sends a text on the last connection.").effect(Effect::Read))
            .tool(Tool::new::<NoArguments>("seen", "Tells what happened.").effect(Effect::Read))
    }
}

impl Sockets for Dialler {
    async fn on_open(connection: Connection) {
        SEEN.with(|seen| {
            seen.opened.push((connection.listener, connection.resumed));
            seen.last = Some(connection.id);
        });
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        if matches!(frames.first(), Some(Frame::Text(text)) if text == "ask back") {
            // It returns when it has its answer, or the connection is over.
            let question = Frame::Text("asked".to_owned());
            let _ = sockets::request(connection, question, "/echo", "1", Duration::from_secs(60)).await;
        }
        let text = |frame| match frame {
            Frame::Text(text) => text,
            Frame::Binary(bytes) => format!("{} bytes", bytes.len()),
        };
        SEEN.with(|seen| seen.frames.extend(frames.into_iter().map(text)));
    }

    async fn on_close(_: ConnectionId, reason: String) {
        SEEN.with(|seen| seen.closed.push(reason));
    }
}

impl Tools for Dialler {
    async fn call(name: &str, arguments: Arguments, _: Cause) -> Result<ToolOutput, Error> {
        let outcome = match name {
            "open" => open(arguments.parse()?).await,
            "close" => connect::close(&arguments.parse::<Text>()?.text).map(|()| Value::Null),
            "send" => {
                let last = SEEN.with(|seen| seen.last).ok_or_else(|| Error::other("there is no connection"))?;
                sockets::send(last, Frame::Text(arguments.parse::<Text>()?.text)).await.map(|()| Value::Null)
            }
            "seen" => Ok(SEEN.with(|seen| json!(seen))),
            _ => return Err(Error::no_tool(name)),
        };
        ToolOutput::json(&outcome.unwrap_or_else(|error| script::error_as_json(&error)))
    }
}

async fn open(open: Open) -> Result<Value, Error> {
    let mut target = Target::new(open.name, open.url);
    target.headers = open.headers;
    target.secrets = open.secrets;
    target.framing = if open.lines { Framing::Lines } else { Framing::Pieces };
    target.reconnect = open.reconnect;
    target.open().await.map(|()| Value::Null)
}

homeagent_sdk::export!(Dialler: Tools, Sockets);
