//! What both versions of the counter have.

use homeagent_sdk::{Descriptor, Effect, Error, NoArguments, State, Tool, ToolOutput};

static COUNT: State<u64> = State::new(|| 0);

/// The plugin with the tools of both versions.
pub(crate) fn describe(version: &str) -> Descriptor {
    Descriptor::new("counter", version)
        .summary("Counts its calls.")
        .tool(Tool::new::<NoArguments>("count", "Counts one on and says the number.").effect(Effect::Own))
        .tool(Tool::new::<NoArguments>("version", "Says which version serves.").effect(Effect::Read))
}

/// Calls one of them.
pub(crate) fn call(name: &str, version: &str) -> Result<ToolOutput, Error> {
    match name {
        "count" => ToolOutput::json(&COUNT.with(|count| {
            *count += 1;
            *count
        })),
        "version" => Ok(ToolOutput::text(version)),
        _ => Err(Error::no_tool(name)),
    }
}
