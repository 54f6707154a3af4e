//! The second version of a plugin that hands on what it knows when it is replaced.

#[path = "../../ledger-one/src/ledger.rs"]
mod ledger;

use homeagent_sdk::sockets::{ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Connection, Descriptor, Error, Event, Events, Plugin, Snapshot, Sockets, ToolOutput, Tools,
};

const VERSION: &str = "2.0.0";

struct Ledger;

impl Plugin for Ledger {
    fn describe() -> Descriptor {
        ledger::describe(VERSION)
    }

    async fn start(_resumed: bool) -> Result<(), Error> {
        ledger::start().await
    }

    async fn self_check() -> Result<(), Error> {
        ledger::self_check().await
    }

    async fn activated() {
        ledger::activated().await;
    }
}

impl Tools for Ledger {
    async fn call(name: &str, _arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        ledger::call(name, VERSION, cause).await
    }
}

impl Events for Ledger {
    async fn on_event(event: Event) {
        ledger::on_event(&event);
    }
}

impl Sockets for Ledger {
    async fn on_open(connection: Connection) {
        ledger::on_open(&connection);
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        ledger::on_frames(connection, frames).await;
    }
}

impl Snapshot for Ledger {
    async fn save() -> Vec<u8> {
        ledger::save().await
    }

    async fn load(state: Vec<u8>) -> Result<(), Error> {
        ledger::load(&state).await
    }
}

homeagent_sdk::export!(Ledger: Tools, Events, Sockets, Snapshot);
