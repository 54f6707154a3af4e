//! The chain of sources against servers of models that others wrote: llama.cpp with a tiny random model, LLMock, AIMock.
//!
//! `HOMEAGENT_MODEL_SERVERS` names the folder that `.ci/models` makes and prints; without it these tests say that they do
//! nothing.

mod aimock;
mod llamacpp;
mod llmock;
mod process;

use homeagent_model_tests::Home;
use homeagent_providers::Policy;
use homeagent_types::ToolCall;
use homeagent_types::model::{AssistantAnswer, ContentPart, Message, Prompt, ToolSpec};
use serde_json::json;

/// A home whose sources are tried again at once.
fn hasty() -> Home {
    Home::new(Policy { back_off: std::time::Duration::from_millis(1), ..Policy::default() })
}

/// A prompt of one message.
fn says(text: &str) -> Prompt {
    Prompt { messages: vec![Message::user(text)], max_tokens: Some(40), ..Prompt::default() }
}

/// The same, with the tool `look`.
fn says_with_tool(text: &str) -> Prompt {
    let look = ToolSpec {
        name: "look".to_owned(),
        description: "Looks at a cup.".to_owned(),
        parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    };
    Prompt { tools: vec![look], ..says(text) }
}

/// The prompt with the model's calls and the result of the first of them.
fn with_result(mut prompt: Prompt, answer: &AssistantAnswer, result: &str) -> Prompt {
    let AssistantAnswer { text, reasoning, tool_calls, opaque, .. } = answer.clone();
    let ToolCall { id, name, .. } = tool_calls.first().cloned().expect("it calls a tool");
    prompt.messages.push(Message::Assistant { text, reasoning, tool_calls, opaque });
    prompt.messages.push(Message::Tool {
        call: id,
        name,
        content: vec![ContentPart::Text(result.to_owned())],
        failed: false,
    });
    prompt
}
