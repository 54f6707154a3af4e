use gemini::Gemini;
use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use serde_json::json;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", Class::Auth),
        (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", Class::Auth),
        (403, "PERMISSION_DENIED", "Your API key doesn't have the required permissions.", Class::Permission),
        (400, "INVALID_ARGUMENT", "Unknown name \"x\": Cannot find field.", Class::BadRequest),
        (
            400,
            "INVALID_ARGUMENT",
            "Function call is missing a thought_signature in functionCall parts.",
            Class::BadRequest,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Class::ContextOverflow,
        ),
        (404, "NOT_FOUND", "models/gemini-0 is not found for API version v1beta", Class::BadRequest),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan.", Class::RateLimited),
        (500, "INTERNAL", "An internal error has occurred.", Class::Overloaded),
        (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", Class::Overloaded),
        (504, "DEADLINE_EXCEEDED", "The request timed out.", Class::Timeout),
    ];
    for (status, kind, message, class) in cases {
        let body = json!({"error": {"code": status, "message": message, "status": kind}});
        let failure = Gemini::classify_error(response(status, &body.to_string()));
        assert_eq!(failure.class, class, "{status} {kind} {message}");
        assert!(failure.message.contains(&format!("HTTP {status}")), "{}", failure.message);
        let listed = Gemini::classify_error(response(status, &json!([body]).to_string()));
        assert_eq!(listed.class, class, "in a list: {status} {kind} {message}");
    }
}

#[test]
fn the_body_says_when_to_come_back() {
    let wait = |delay: &str| {
        let details = json!([{"@type": "type.googleapis.com/google.rpc.Help"}, {"retryDelay": delay}]);
        let body =
            json!({"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": details}});
        Gemini::classify_error(response(429, &body.to_string())).retry_after_ms
    };
    assert_eq!(wait("34.5s"), Some(34_500));
    assert_eq!(wait("-1s"), None);
    assert_eq!(wait("soon"), None);
}
