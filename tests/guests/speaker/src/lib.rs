//! Speaks through the terminal channel by calling the channel's own tool.

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, Plugin, Tool, ToolOutput, Tools, tools};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Speech {
    /// What to say.
    text: String,
}

struct Speaker;

impl Plugin for Speaker {
    fn describe() -> Descriptor {
        Descriptor::new("speaker", env!("CARGO_PKG_VERSION"))
            .summary("Speaks through the terminal.")
            .tool(Tool::new::<Speech>("speak", "Says something on the terminal.").effect(Effect::World))
    }
}

impl Tools for Speaker {
    async fn call(name: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "speak" => {
                let speech: Speech = arguments.parse()?;
                tools::call("output_send__cli", &json!({ "payload": speech.text }), cause).await
            }
            _ => Err(Error::no_tool(name)),
        }
    }
}

homeagent_sdk::export!(Speaker: Tools);
