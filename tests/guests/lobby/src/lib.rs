//! A channel as a platform of many people is one: whoever is connected says who speaks, alone or in a group, and nobody
//! vouches for it. Its one tool rings a bell, which everybody hears.

use homeagent_sdk::inputs::{self, Submission};
use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Channel, ChannelDefinition, Connection, Delta, Descriptor, Effect, Error, NoArguments, Output,
    OutputCapabilities, Peer, Plugin, Receipt, Sockets, State, Tool, ToolOutput, Tools,
};
use serde::Deserialize;
use serde_json::json;

static OPEN: State<Vec<ConnectionId>> = State::new(Vec::new);

/// What somebody says.
#[derive(Deserialize)]
struct Said {
    user: String,
    text: String,
    /// The group it is said in.
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    forwarded: bool,
}

struct Lobby;

impl Plugin for Lobby {
    fn describe() -> Descriptor {
        Descriptor::new("lobby", env!("CARGO_PKG_VERSION"))
            .summary("A channel of many people.")
            .listener("line")
            .channel(
                ChannelDefinition::new("lobby", "Everybody who is connected.").capabilities(OutputCapabilities::TEXT),
            )
            .tool(Tool::new::<NoArguments>("ring", "Rings the bell.").effect(Effect::World))
    }
}

impl Tools for Lobby {
    async fn call(_name: &str, _arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        tell(json!({ "rings": true }).to_string()).await;
        Ok(ToolOutput::text("it rang"))
    }
}

impl Channel for Lobby {
    async fn deliver(output: Output, _cause: Cause) -> Result<Receipt, Error> {
        let to = match &output.conversation.peer {
            Peer::Person(person) => person.clone(),
            Peer::Group(group) => format!("group/{group}"),
            Peer::Other(_) => return Err(Error::not_found("there are people and groups")),
        };
        tell(json!({ "to": to, "text": output.text }).to_string()).await;
        Ok(Receipt::sent())
    }

    async fn show(_deltas: Vec<Delta>) {}
}

impl Sockets for Lobby {
    async fn on_open(connection: Connection) {
        OPEN.with(|open| open.push(connection.id));
    }

    async fn on_frames(_connection: ConnectionId, frames: Vec<Frame>) {
        for frame in frames {
            let Frame::Text(text) = frame else { continue };
            let Ok(said) = serde_json::from_str::<Said>(&text) else { continue };
            let peer = said.group.map_or_else(|| Peer::Person(said.user.clone()), Peer::Group);
            let mut submission = Submission::text(peer, said.user, said.text);
            submission.meta.extend(said.forwarded.then(|| ("forwarded".to_owned(), "true".to_owned())));
            if let Err(error) = inputs::submit(submission).await {
                tell(json!({ "error": error.message() }).to_string()).await;
            }
        }
    }

    async fn on_close(connection: ConnectionId, _reason: String) {
        OPEN.with(|open| open.retain(|known| *known != connection));
    }
}

async fn tell(frame: String) {
    for connection in OPEN.with(|open| open.clone()) {
        // Whoever has gone does not miss it.
        let _ = sockets::send(connection, Frame::Text(frame.clone())).await;
    }
}

homeagent_sdk::export!(Lobby: Tools, Channel, Sockets);
