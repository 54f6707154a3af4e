//! Asks the model and says what came of it.

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, Plugin, Tool, ToolOutput, Tools, llm};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// What to ask.
    text: String,
    /// The longest answer, in tokens.
    tokens: u32,
}

struct Asker;

impl Plugin for Asker {
    fn describe() -> Descriptor {
        Descriptor::new("asker", env!("CARGO_PKG_VERSION"))
            .summary("Asks the model.")
            .tool(Tool::new::<Question>("ask_model", "Asks the model.").effect(Effect::Read))
    }
}

impl Tools for Asker {
    async fn call(name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "ask_model" => {
                let Question { text, tokens } = arguments.parse()?;
                let answer = llm::ask(llm::Request::new(text).system("Be brief.").max_tokens(tokens)).await?;
                ToolOutput::json(&json!({
                    "text": answer.text,
                    "used": answer.usage.input + answer.usage.output,
                    "estimated": answer.usage.estimated,
                    "left": answer.tokens_left,
                }))
            }
            _ => Err(Error::no_tool(name)),
        }
    }
}

homeagent_sdk::export!(Asker: Tools);
