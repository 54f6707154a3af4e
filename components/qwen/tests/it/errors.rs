use homeagent_adapters::testing::response;
use homeagent_sdk::adapter::{Adapter, FailureClass as Class};
use qwen::Qwen;
use serde_json::json;

#[test]
fn each_error_is_told_apart() {
    let cases = [
        (401, "InvalidApiKey", "Invalid API-key provided.", Class::Auth),
        (400, "Arrearage", "Access denied, please make sure your account is in good standing.", Class::Unfunded),
        (403, "Model.AccessDenied", "Model access denied.", Class::Permission),
        (404, "ModelNotFound", "Model not exist.", Class::BadRequest),
        (400, "InvalidParameter", "url error, please check url!", Class::BadRequest),
        (400, "InvalidParameter", "Range of input length should be [1, 129024]", Class::ContextOverflow),
        (400, "DataInspectionFailed", "Input data may contain inappropriate content.", Class::ContentFilter),
        (429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later.", Class::RateLimited),
        (
            429,
            "Throttling.AllocationQuota",
            "Allocated quota exceeded, please increase your quota limit.",
            Class::RateLimited,
        ),
        (500, "InternalError", "An internal error has occurred.", Class::Overloaded),
        (503, "ModelUnavailable", "Model is unavailable, please try again later.", Class::Overloaded),
        (504, "", "", Class::Timeout),
    ];
    for (status, code, message, class) in cases {
        let body = json!({"code": code, "message": message, "request_id": "r"});
        let failure = Qwen::classify_error(response(status, &body.to_string()));
        assert_eq!(failure.class, class, "{status} {code} {message}");
    }
}
