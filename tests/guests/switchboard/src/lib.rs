//! Serves a WebSocket path and unix sockets. What it is told goes back, with what it knows of the connection when that is asked for; and it
//! asks over its connections, from a tool as well as from within the handler of a frame.

use std::time::Duration;

use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Connection, Descriptor, Effect, Error, NoArguments, Plugin, Sockets, State, Tool, ToolOutput,
    Tools,
};
use serde_json::{Value, json};

static OPEN: State<Vec<Connection>> = State::new(Vec::new);

struct Switchboard;

impl Plugin for Switchboard {
    fn describe() -> Descriptor {
        let ask = Tool::new::<NoArguments>("ask", "Asks over the connection that was opened last.");
        Descriptor::new("switchboard", env!("CARGO_PKG_VERSION"))
            .summary("Serves a WebSocket path and unix sockets.")
            .listener("line")
            .listener("wire")
            .listener("raw")
            .tool(ask.effect(Effect::Read))
    }
}

impl Tools for Switchboard {
    async fn call(_name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        let asked: Value =
            serde_json::from_str(arguments.as_str()).map_err(|error| Error::Invalid(error.to_string()))?;
        let timeout = asked["timeout_ms"].as_u64().unwrap_or(60_000);
        let last = OPEN.with(|open| open.last().map(|connection| connection.id));
        let last = last.ok_or_else(|| Error::NotFound("nobody is connected".to_owned()))?;
        ask(last, asked["echo"].as_str().unwrap_or("1"), Duration::from_millis(timeout)).await.map(ToolOutput::text)
    }
}

/// Asks for a number, and returns the whole answer.
async fn ask(connection: ConnectionId, echo: &str, timeout: Duration) -> Result<String, Error> {
    let question = Frame::Text(json!({ "action": "number", "echo": echo }).to_string());
    match sockets::request(connection, question, "/echo", echo, timeout).await? {
        Frame::Text(text) => Ok(text),
        Frame::Binary(_) => Err(Error::Other("an answer is text".to_owned())),
    }
}

impl Sockets for Switchboard {
    async fn on_open(connection: Connection) {
        OPEN.with(|open| open.push(connection));
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        for frame in frames {
            let text = match frame {
                Frame::Text(text) => text,
                pieces @ Frame::Binary(_) => {
                    // As below.
                    let _ = sockets::send(connection, pieces).await;
                    continue;
                }
            };
            let answer = match text.as_str() {
                "who" => OPEN.with(|open| {
                    let known = open.iter().find(|known| known.id == connection);
                    known.map_or_else(String::new, |known| format!("resumed {} {:?}", known.resumed, known.meta))
                }),
                "ask back" => match ask(connection, "from-the-handler", Duration::from_secs(60)).await {
                    Ok(answer) => format!("it said {answer}"),
                    Err(error) => format!("it did not say: {error}"),
                },
                // It does not return before whoever connected last has answered.
                "ask the last" => {
                    let last = OPEN.with(|open| open.last().map_or(connection, |last| last.id));
                    match ask(last, "from-the-handler", Duration::from_secs(60)).await {
                        Ok(answer) => format!("it said {answer}"),
                        Err(error) => format!("it did not say: {error}"),
                    }
                }
                other => other.to_owned(),
            };
            // Whoever has gone does not miss it.
            let _ = sockets::send(connection, Frame::Text(answer)).await;
        }
    }

    async fn on_close(connection: ConnectionId, _reason: String) {
        OPEN.with(|open| open.retain(|known| known.id != connection));
    }
}

homeagent_sdk::export!(Switchboard: Tools, Sockets);
