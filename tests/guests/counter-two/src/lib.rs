//! The second version of a plugin that is swapped while it counts.

#[path = "../../counter-one/src/counting.rs"]
mod counting;

use homeagent_sdk::{Arguments, Cause, Descriptor, Error, Plugin, ToolOutput, Tools};

const VERSION: &str = "2.0.0";

struct Counter;

impl Plugin for Counter {
    fn describe() -> Descriptor {
        counting::describe(VERSION)
    }
}

impl Tools for Counter {
    async fn call(name: &str, _arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        counting::call(name, VERSION)
    }
}

homeagent_sdk::export!(Counter: Tools);
