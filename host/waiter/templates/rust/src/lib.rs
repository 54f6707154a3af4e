//! A HomeAgent plugin.

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, Plugin, Tool, ToolOutput, Tools, settings};

/// What the model may say; comments become the descriptions it reads.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

struct ThisPlugin;

impl Plugin for ThisPlugin {
    fn describe() -> Descriptor {
        Descriptor::new("NAME", env!("CARGO_PKG_VERSION"))
            .summary("Greets people.")
            .tool(Tool::new::<Greet>("NAME_greet", "Greets someone by name.").effect(Effect::Read).stateless())
    }
}

impl Tools for ThisPlugin {
    async fn call(_name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        let greet: Greet = arguments.parse()?;
        let greeting: String = settings::get("greeting")?;
        Ok(ToolOutput::text(format!("{greeting}, {}!", greet.name)))
    }
}

homeagent_sdk::export!(ThisPlugin: Tools);
