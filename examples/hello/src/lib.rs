//! A complete plugin: one tool, its arguments described by a type.

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, Plugin, Tool, ToolOutput, Tools};

/// What the model may say; comments become the descriptions it reads.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

struct Hello;

impl Plugin for Hello {
    fn describe() -> Descriptor {
        Descriptor::new("hello", "0.1.0")
            .summary("Greets people.")
            .tool(Tool::new::<Greet>("greet", "Greets someone by name.").effect(Effect::Read).stateless())
    }
}

impl Tools for Hello {
    async fn call(_name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        let greet: Greet = arguments.parse()?;
        Ok(ToolOutput::text(format!("Hello, {}!", greet.name)))
    }
}

homeagent_sdk::export!(Hello: Tools);

#[cfg(test)]
mod tests {
    use homeagent_sdk::testing;

    use super::*;

    #[test]
    fn it_greets_by_name() {
        let call = Hello::call("greet", Arguments::new(r#"{"name": "Ada"}"#), testing::cause());
        assert_eq!(testing::run(call), Ok(ToolOutput::text("Hello, Ada!")));
    }
}
