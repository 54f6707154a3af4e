//! AIMock: it answers what its fixtures say, in the formats of many vendors.

use homeagent_types::model::{FailureClass, FinishReason};
use tokio::process::Command;

use crate::process::{Server, folder};
use crate::{hasty, says, says_with_tool, with_result};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/servers/aimock.json");

/// The adapters of the vendors that it plays, and where their APIs begin.
const VENDORS: [(&str, &str, &str); 5] = [
    ("openai", "/v1", "gpt-4.1-mini"),
    ("openai-responses", "/v1", "gpt-4.1-mini"),
    ("anthropic", "/v1", "claude-sonnet-4-6"),
    ("gemini", "/v1beta", "gemini-2.5-flash"),
    ("ollama", "", "qwen3:8b"),
];

async fn aimock() -> Option<Server> {
    let folder = folder()?;
    let program = folder.join("node_modules/.bin/llmock");
    Some(Server::start(Command::new(program).args(["-p", "0", "-f", FIXTURES])).await)
}

#[tokio::test]
async fn each_format_it_speaks_is_read() {
    let Some(server) = aimock().await else { return };
    for (adapter, base, model) in VENDORS {
        let home = hasty();
        home.add("mock", adapter, &format!("{}{base}", server.url), model);
        let answer = home.ask(&says("hello")).await.unwrap_or_else(|failure| panic!("{adapter}: {failure:?}")).answer;
        assert_eq!(answer.text, "Hello! 你好 from the mock.", "{adapter}");
        assert_eq!(answer.finish, Some(FinishReason::Stop), "{adapter}");
        assert_eq!(home.watcher.text(), answer.text, "{adapter} streams");

        let prompt = says_with_tool("Please look.");
        let called = home.ask(&prompt).await.unwrap_or_else(|failure| panic!("{adapter}: {failure:?}")).answer;
        assert_eq!(called.tool_calls.len(), 1, "{adapter}: {called:?}");
        let arguments: serde_json::Value = serde_json::from_str(&called.tool_calls[0].arguments).expect("JSON");
        assert_eq!(arguments["n"], 7, "{adapter}");
        let answer = home.ask(&with_result(prompt, &called, "a blue one")).await;
        let answer = answer.unwrap_or_else(|failure| panic!("{adapter}: {failure:?}")).answer;
        assert_eq!(answer.text, "I saw it.", "{adapter}");
    }
}

#[tokio::test]
async fn its_rate_limit_is_told_as_one() {
    let Some(server) = aimock().await else { return };
    for (adapter, base, model) in VENDORS {
        let home = hasty();
        home.settings.set("core.model.wait_seconds", serde_json::json!(0)).expect("a setting");
        home.add("mock", adapter, &format!("{}{base}", server.url), model);
        let failure = home.ask(&says("limit")).await.expect_err("it is limited");
        assert_eq!(failure.tried[0].1.class, FailureClass::RateLimited, "{adapter}: {failure:?}");
    }
}
