//! Listens to the bus, says what it heard, and publishes.

use homeagent_sdk::{
    Arguments, Cause, Descriptor, Effect, Error, Event, Events, NoArguments, Plugin, State, Tool, ToolOutput, Tools,
    bus, tools,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const MOST_KEPT: usize = 1_000;

static SEEN: State<Vec<Seen>> = State::new(Vec::new);

#[derive(Serialize)]
struct Seen {
    topic: String,
    payload: Value,
    source: String,
}

#[derive(Deserialize, JsonSchema)]
struct Publication {
    /// What comes after `plugin.events.` in the topic.
    topic: String,
    /// Any JSON value.
    payload: Value,
}

struct Listener;

impl Plugin for Listener {
    fn describe() -> Descriptor {
        Descriptor::new("events", env!("CARGO_PKG_VERSION"))
            .summary("Listens to the bus and publishes.")
            .event("agent_llm_chain")
            .event("plugin.*")
            .tool(Tool::new::<NoArguments>("events_seen", "Says which events came.").effect(Effect::Read))
            .tool(Tool::new::<Publication>("publish", "Publishes an event.").effect(Effect::Own))
    }
}

impl Events for Listener {
    async fn on_event(event: Event) {
        let payload: Value = serde_json::from_str(&event.payload).unwrap_or(Value::String(event.payload));
        if let Some(tool) = payload["call"].as_str() {
            // Tries what the event's cause is good for; the host's records tell.
            let _ = tools::call(tool, &Value::Null, event.cause.clone()).await;
        }
        let seen = Seen { topic: event.topic, payload, source: event.source };
        SEEN.with(|kept| {
            if kept.len() < MOST_KEPT {
                kept.push(seen);
            }
        });
    }
}

impl Tools for Listener {
    async fn call(name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "events_seen" => SEEN.with(|seen| ToolOutput::json(seen)),
            "publish" => {
                let publication: Publication = arguments.parse()?;
                bus::publish(&publication.topic, &publication.payload)?;
                Ok(ToolOutput::text("published"))
            }
            _ => Err(Error::no_tool(name)),
        }
    }
}

homeagent_sdk::export!(Listener: Tools, Events);
