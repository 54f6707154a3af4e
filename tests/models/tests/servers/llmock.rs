//! LLMock: it plays the vendors, fails as they do, and says what a client did wrong.

use homeagent_types::model::FinishReason;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::{Server, folder};
use crate::{hasty, says, says_with_tool, with_result};

/// The adapters of the vendors that it plays, and where their APIs begin.
const VENDORS: [(&str, &str, &str); 4] = [
    ("openai", "/v1", "gpt-4.1-mini"),
    ("openai-responses", "/v1", "gpt-4.1-mini"),
    ("anthropic", "/anthropic/v1", "claude-sonnet-4-6"),
    ("gemini", "/gemini/v1beta", "gemini-2.5-flash"),
];

async fn llmock() -> Option<Server> {
    let folder = folder()?;
    Some(Server::start(Command::new(folder.join("venv/bin/llmock")).args(["serve", "--port", "0"])).await)
}

/// Forgets all, and does this next.
async fn play(server: &Server, behaviour: Value) {
    server.administer("POST", "/_llmock/reset", "").await;
    let scenario = json!({ "behaviors": [behaviour] }).to_string();
    server.administer("POST", "/_llmock/scenario", &scenario).await;
}

#[tokio::test]
async fn each_vendor_it_plays_answers_and_has_its_tools_called() {
    let Some(server) = llmock().await else { return };
    for (adapter, base, model) in VENDORS {
        let home = hasty();
        home.add("mock", adapter, &format!("{}{base}", server.url), model);
        let answer = home.ask(&says("hello")).await.unwrap_or_else(|failure| panic!("{adapter}: {failure:?}")).answer;
        assert!(!answer.text.is_empty() && answer.usage.is_some(), "{adapter}: {answer:?}");
        assert_eq!(answer.finish, Some(FinishReason::Stop), "{adapter}");
        assert_eq!(home.watcher.text(), answer.text, "{adapter} streams");

        let prompt = says_with_tool("Please look at the cup.");
        let called = home.ask(&prompt).await.unwrap_or_else(|failure| panic!("{adapter}: {failure:?}")).answer;
        assert_eq!(called.tool_calls.len(), 1, "{adapter}: {called:?}");
        assert_eq!(called.tool_calls[0].name, "look", "{adapter}");
        let answer = home.ask(&with_result(prompt, &called, "a blue one")).await;
        let answer = answer.unwrap_or_else(|failure| panic!("{adapter}: {failure:?}")).answer;
        assert!(answer.tool_calls.is_empty() && !answer.text.is_empty(), "{adapter}: {answer:?}");
    }
}

#[tokio::test]
async fn it_finds_nothing_wrong_with_what_is_done_about_its_failures() {
    let Some(server) = llmock().await else { return };
    for (adapter, base, model) in VENDORS {
        // Some of the answer is there by then: both of these begin with what is no part of it.
        let after = if matches!(adapter, "openai-responses" | "anthropic") { 6 } else { 2 };
        let stream_fault = |kind: &str| json!({"type": "stream_fault", "kind": kind, "after_chunks": after});
        for (behaviour, answered) in [
            (json!({"type": "fail", "status": 500}), true),
            (json!({"type": "fail", "status": 429, "retry_after": 1}), true),
            (json!({"type": "fail", "status": 401}), false),
            (json!({"type": "fail", "status": 400}), false),
            (stream_fault("disconnect"), true),
            (stream_fault("truncate"), true),
            (stream_fault("malformed"), false),
        ] {
            play(&server, behaviour.clone()).await;
            let home = hasty();
            home.add("mock", adapter, &format!("{}{base}", server.url), model);
            let said = home.ask(&says("Tell me of the tea house by the lake.")).await;
            assert_eq!(said.is_ok(), answered, "{adapter}, {behaviour}: {said:?}");
            if let Ok(completion) = &said {
                assert_eq!(
                    home.watcher.text(),
                    completion.answer.text,
                    "{adapter}, {behaviour}: nothing is shown twice"
                );
            }
            let verdict: Value =
                serde_json::from_str(&server.administer("GET", "/_llmock/verdict", "").await).expect("JSON");
            let findings = verdict["findings"].as_array().cloned().unwrap_or_default();
            let wrong: Vec<_> = findings.iter().filter(|finding| is_wrong(finding)).collect();
            assert!(wrong.is_empty(), "{adapter}, {behaviour}: {wrong:?}");
        }
    }
}

/// Whether a finding is of something wrong. It tells as well of requests that are given up or tried again soon, and of
/// streams that are not read to their end: whether that is right depends on what is said to people, which it does not see.
fn is_wrong(finding: &Value) -> bool {
    let wrong = ["retry_after_ignored", "retried_non_retryable", "retry_storm", "truncated_stream_accepted"];
    finding["code"].as_str().is_none_or(|code| wrong.contains(&code))
}
