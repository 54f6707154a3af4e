//! Returns what it is given, without a look at it: what is left is what a call costs.

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, NoArguments, Plugin, Tool, ToolOutput, Tools};

struct Echo;

impl Plugin for Echo {
    fn describe() -> Descriptor {
        Descriptor::new("echo", env!("CARGO_PKG_VERSION"))
            .summary("Returns what it is given.")
            .tool(Tool::new::<NoArguments>("echo", "Returns its arguments as they are.").effect(Effect::Read))
    }
}

impl Tools for Echo {
    async fn call(_name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        Ok(ToolOutput::text(arguments.as_str()))
    }
}

homeagent_sdk::export!(Echo: Tools);
