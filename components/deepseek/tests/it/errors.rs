use deepseek::DeepSeek;
use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use serde_json::json;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (401, "Authentication Fails, Your api key: ****1234 is invalid", "authentication_error", Class::Auth),
        (402, "Insufficient Balance", "unknown_error", Class::Unfunded),
        (403, "Your API key may not use this model", "permission_error", Class::Permission),
        (422, "Failed to deserialize the JSON body", "invalid_request_error", Class::BadRequest),
        (
            400,
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "invalid_request_error",
            Class::BadRequest,
        ),
        (400, "Content Exists Risk", "invalid_request_error", Class::ContentFilter),
        (
            400,
            "This model's maximum context length is 1048576 tokens. However, you requested 1100000 tokens",
            "invalid_request_error",
            Class::ContextOverflow,
        ),
        (429, "Rate limit reached", "rate_limit_error", Class::RateLimited),
        (500, "Internal server error", "server_error", Class::Overloaded),
        (503, "Service is too busy", "service_unavailable_error", Class::Overloaded),
        (504, "", "", Class::Timeout),
    ];
    for (status, message, kind, class) in cases {
        let body = json!({"error": {"message": message, "type": kind, "param": null, "code": "invalid_request_error"}});
        let failure = DeepSeek::classify_error(response(status, &body.to_string()));
        assert_eq!(failure.class, class, "{status} {message}");
        assert!(failure.message.contains(&format!("HTTP {status}")), "{}", failure.message);
    }
    let filtered = DeepSeek::classify_error(response(400, "{\"error\":{\"message\":\"Content Exists Risk\"}}"));
    assert_eq!(filtered.class, Class::ContentFilter, "{}", filtered.message);
}
