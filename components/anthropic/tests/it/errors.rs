use anthropic::Anthropic;
use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use serde_json::json;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (401, "authentication_error", "invalid x-api-key", Class::Auth),
        (402, "billing_error", "There is an issue with your payment details.", Class::Unfunded),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", Class::Unfunded),
        (400, "invalid_request_error", "You have reached your specified API usage limits.", Class::Unfunded),
        (403, "permission_error", "Your API key does not have permission to use this resource", Class::Permission),
        (404, "not_found_error", "model: claude-opus-0", Class::BadRequest),
        (409, "conflict_error", "The resource was modified", Class::BadRequest),
        (413, "request_too_large", "Request exceeds the maximum size", Class::ContextOverflow),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", Class::ContextOverflow),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
            Class::ContextOverflow,
        ),
        (
            400,
            "invalid_request_error",
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            Class::BadRequest,
        ),
        (429, "rate_limit_error", "This request would exceed your organization's rate limit", Class::RateLimited),
        (500, "api_error", "Internal server error", Class::Overloaded),
        (504, "timeout_error", "The request timed out", Class::Timeout),
        (529, "overloaded_error", "Overloaded", Class::Overloaded),
    ];
    for (status, kind, message, class) in cases {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
        let failure = Anthropic::classify_error(response(status, &body.to_string()));
        assert_eq!(failure.class, class, "{status} {kind} {message}");
        assert!(failure.message.starts_with(message) && failure.message.contains(&format!("HTTP {status}")));
    }
}
