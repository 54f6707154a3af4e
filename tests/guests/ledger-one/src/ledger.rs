//! What both versions of the ledger do: they count calls, events and frames, hand the counts on, and fail on request.

use std::hint::black_box;

use homeagent_sdk::sockets::{ConnectionId, Frame};
use homeagent_sdk::{
    Arguments, Cause, Connection, Descriptor, Effect, Error, Event, Events, NoArguments, Plugin, Snapshot, Sockets,
    State, Tool, ToolOutput, Tools, settings, sockets, tools,
};
use serde::{Deserialize, Serialize};

/// Larger than any state may be, in bytes.
const HUGE: usize = 1_000_000_000;

static KNOWN: State<Counts> = State::new(Counts::default);

/// What is handed on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Counts {
    calls: u64,
    events: u64,
    frames: u64,
    /// Connections that were told of as new.
    opened: u64,
    /// Times the state was taken over.
    loads: u64,
}

/// What the plugin has been asked to do wrong, by its setting.
fn fault() -> String {
    settings::get("fault").unwrap_or_default()
}

async fn for_ever() -> ! {
    std::future::pending::<()>().await;
    unreachable!("nothing ends the wait")
}

fn describe(version: &str) -> Descriptor {
    let tool = |name, description| Tool::new::<NoArguments>(name, description).effect(Effect::Own);
    Descriptor::new("ledger", version)
        .summary("Counts what reaches it.")
        .event("tick")
        .listener("ledger")
        .tool(tool("count", "Counts one on and says the number."))
        .tool(tool("count_after", "Counts one on when the tool `gate` has answered."))
        .tool(tool("compute", "Computes for ever."))
        .tool(tool("counts", "Says all counts."))
        .tool(tool("version", "Says which version serves."))
}

async fn start() -> Result<(), Error> {
    match fault().as_str() {
        "start-traps" => panic!("a trap in start, on request"),
        "start-hangs" => for_ever().await,
        "start-fails" => Err(Error::other("it does not want to")),
        "start-publishes" => homeagent_sdk::bus::publish("tick", &1),
        _ => Ok(()),
    }
}

async fn self_check() -> Result<(), Error> {
    match fault().as_str() {
        "self-check-fails" => Err(Error::other("two and two are five")),
        _ => Ok(()),
    }
}

async fn activated() {
    assert_ne!(fault(), "activated-traps", "a trap in activated, on request");
}

async fn call(name: &str, version: &str, cause: Cause) -> Result<ToolOutput, Error> {
    assert!(version == "1.0.0" || fault() != "calls-trap", "a trap in a call, on request");
    match name {
        "count" => count(),
        "count_after" => {
            tools::call("gate", &serde_json::json!({}), cause).await?;
            count()
        }
        "compute" => loop {
            black_box(());
        },
        "counts" => KNOWN.with(|known| ToolOutput::json(known)),
        "version" => Ok(ToolOutput::text(version)),
        _ => Err(Error::no_tool(name)),
    }
}

fn count() -> Result<ToolOutput, Error> {
    KNOWN.with(|known| {
        known.calls += 1;
        ToolOutput::json(&known.calls)
    })
}

fn on_event(_event: &Event) {
    KNOWN.with(|known| known.events += 1);
}

fn on_open(connection: &Connection) {
    if !connection.resumed {
        KNOWN.with(|known| known.opened += 1);
    }
}

/// Answers each frame with the number of frames so far.
async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
    for _ in frames {
        let number = KNOWN.with(|known| {
            known.frames += 1;
            known.frames
        });
        // The other side may be gone; then nobody misses the answer.
        let _ = sockets::send(connection, Frame::Text(number.to_string())).await;
    }
}

async fn save() -> Vec<u8> {
    match fault().as_str() {
        "save-traps" => panic!("a trap in save, on request"),
        "save-hangs" => for_ever().await,
        "state-huge" => vec![0; HUGE],
        _ => serde_json::to_vec(&KNOWN.with(|known| known.clone())).unwrap_or_default(),
    }
}

async fn load(state: &[u8]) -> Result<(), Error> {
    match fault().as_str() {
        "load-refuses" => return Err(Error::invalid("this state is of another house")),
        "load-traps" => panic!("a trap in load, on request"),
        "load-hangs" => for_ever().await,
        _ => {}
    }
    let saved: Counts = serde_json::from_slice(state)?;
    KNOWN.with(|known| *known = Counts { loads: saved.loads + 1, ..saved });
    Ok(())
}

/// The plugin; which version it is says the crate it is in.
pub(crate) struct Ledger;

impl Plugin for Ledger {
    fn describe() -> Descriptor {
        describe(crate::VERSION)
    }

    async fn start(_resumed: bool) -> Result<(), Error> {
        start().await
    }

    async fn self_check() -> Result<(), Error> {
        self_check().await
    }

    async fn activated() {
        activated().await;
    }
}

impl Tools for Ledger {
    async fn call(name: &str, _arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        call(name, crate::VERSION, cause).await
    }
}

impl Events for Ledger {
    async fn on_event(event: Event) {
        on_event(&event);
    }
}

impl Sockets for Ledger {
    async fn on_open(connection: Connection) {
        on_open(&connection);
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        on_frames(connection, frames).await;
    }
}

impl Snapshot for Ledger {
    async fn save() -> Vec<u8> {
        save().await
    }

    async fn load(state: Vec<u8>) -> Result<(), Error> {
        load(&state).await
    }
}
