use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use ollama::Ollama;
use serde_json::json;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (401, "unauthorized", Class::Auth),
        (402, "payment required", Class::Unfunded),
        (403, "this model requires a subscription; you have no permission", Class::Permission),
        (404, "model 'nemo' not found", Class::BadRequest),
        (400, "registry.ollama.ai/library/gemma3:1b does not support tools", Class::BadRequest),
        (400, "\"gemma3\" does not support thinking", Class::BadRequest),
        (400, "the prompt exceeds the available context size", Class::ContextOverflow),
        (429, "you have reached your hourly usage limit", Class::RateLimited),
        (500, "llama runner process has terminated: exit status 2", Class::Overloaded),
        (503, "server busy, please try again. maximum pending requests exceeded", Class::Overloaded),
        (504, "timed out waiting for llama runner to start", Class::Timeout),
    ];
    for (status, message, class) in cases {
        let failure = Ollama::classify_error(response(status, &json!({"error": message}).to_string()));
        assert_eq!(failure.class, class, "{status} {message}");
        assert!(failure.message.starts_with(message), "{}", failure.message);
    }
}
