//! Asks the memory, the knowledge base and who somebody is, and says what came of it.

use homeagent_sdk::{
    Arguments, Cause, Descriptor, Effect, Error, Plugin, Tool, ToolOutput, Tools, knowledge, memory, social,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Wish {
    /// `recall`, `note`, `search`, `list`, `append` or `people`.
    what: String,
    /// A question, a text or a name.
    #[serde(default)]
    text: String,
    /// A base.
    base: Option<String>,
    /// Of the plugin's own accord: no cause is handed over.
    #[serde(default)]
    alone: bool,
}

struct Rememberer;

impl Plugin for Rememberer {
    fn describe() -> Descriptor {
        Descriptor::new("rememberer", env!("CARGO_PKG_VERSION"))
            .summary("Asks the memory.")
            .tool(Tool::new::<Wish>("remember", "Asks the memory.").effect(Effect::Read))
    }
}

impl Tools for Rememberer {
    async fn call(_: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        let Wish { what, text, base, alone } = arguments.parse()?;
        let cause = (!alone).then_some(&cause);
        let said: Value = match what.as_str() {
            "recall" => {
                let hits = memory::recall(&text, 5, cause).await?;
                hits.iter().map(|hit| json!({ "id": hit.id, "text": hit.text, "speaker": hit.speaker })).collect()
            }
            "note" => memory::note(&text, cause).await?.into(),
            "search" => {
                let found = knowledge::search(&text, base.as_deref(), 5, cause).await?;
                found.iter().map(|it| json!({ "base": it.base, "text": it.text, "line": it.line })).collect()
            }
            "list" => knowledge::list(cause).await?.iter().map(|base| json!(base.name)).collect(),
            "append" => {
                knowledge::append(base.as_deref().unwrap_or_default(), &text).await?;
                Value::Null
            }
            _ => {
                let people = social::people(&text, cause).await?;
                let one = |person: &social::Person| {
                    let traits: Value = person.traits.iter().map(|it| json!([it.name, it.value])).collect();
                    json!({ "name": person.name, "accounts": person.accounts, "traits": traits })
                };
                people.iter().map(one).collect()
            }
        };
        ToolOutput::json(&said)
    }
}

homeagent_sdk::export!(Rememberer: Tools);
