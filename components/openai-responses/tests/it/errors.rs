use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use openai_responses::Responses;
use serde_json::json;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-1***", Class::Auth),
        (
            403,
            "invalid_request_error",
            "missing_scope",
            "You have insufficient permissions for this operation.",
            Class::Permission,
        ),
        (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota", Class::Unfunded),
        (429, "tokens", "rate_limit_exceeded", "Rate limit reached for gpt-6-luna", Class::RateLimited),
        (
            400,
            "invalid_request_error",
            "unsupported_parameter",
            "Unsupported parameter: 'temperature'",
            Class::BadRequest,
        ),
        (
            400,
            "invalid_request_error",
            "invalid_encrypted_content",
            "The encrypted content could not be verified.",
            Class::BadRequest,
        ),
        (
            400,
            "invalid_request_error",
            "context_length_exceeded",
            "Your input exceeds the context window of this model.",
            Class::ContextOverflow,
        ),
        (404, "invalid_request_error", "model_not_found", "The model `x` does not exist", Class::BadRequest),
        (500, "server_error", "server_error", "The server had an error", Class::Overloaded),
        (
            503,
            "service_unavailable_error",
            "server_is_overloaded",
            "Our servers are currently overloaded.",
            Class::Overloaded,
        ),
        (504, "timeout", "timeout", "The request timed out", Class::Timeout),
    ];
    for (status, kind, code, message, class) in cases {
        let body = json!({"error": {"type": kind, "code": code, "message": message, "param": null}});
        let failure = Responses::classify_error(response(status, &body.to_string()));
        assert_eq!(failure.class, class, "{status} {code}");
        assert!(failure.message.starts_with(message), "{}", failure.message);
    }
}
