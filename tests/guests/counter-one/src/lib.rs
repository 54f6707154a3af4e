//! The first version of a plugin that is swapped while it counts.

mod counting;

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, NoArguments, Plugin, Tool, ToolOutput, Tools};

const VERSION: &str = "1.0.0";

struct Counter;

impl Plugin for Counter {
    fn describe() -> Descriptor {
        counting::describe(VERSION)
            .tool(Tool::new::<NoArguments>("only_in_one", "Is in this version only.").effect(Effect::Read))
    }
}

impl Tools for Counter {
    async fn call(name: &str, _arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "only_in_one" => Ok(ToolOutput::text("one")),
            _ => counting::call(name, VERSION),
        }
    }
}

homeagent_sdk::export!(Counter: Tools);
