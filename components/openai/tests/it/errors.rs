use homeagent_sdk::adapter::{Adapter, Failure, FailureClass, HttpResponse};
use openai::OpenAi;

fn classify(status: u16, body: &str) -> Failure {
    OpenAi::classify_error(HttpResponse { status, headers: Vec::new(), body: body.as_bytes().to_vec() })
}

#[test]
fn each_vendors_errors_are_told_apart() {
    use FailureClass as Class;
    let cases = [
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Class::Auth,
        ),
        (401, "", Class::Auth),
        (
            400,
            r#"{"error":{"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Class::Auth,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            Class::Unfunded,
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota"}}"#,
            Class::Unfunded,
        ),
        (
            429,
            r#"{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}"#,
            Class::Unfunded,
        ),
        (429, r#"{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试"}}"#, Class::Unfunded),
        (403, r#"{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}"#, Class::Unfunded),
        (
            400,
            r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}"#,
            Class::Unfunded,
        ),
        (403, r#"{"error":{"code":"AccountOverdueError","message":"overdue"}}"#, Class::Unfunded),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}"#,
            Class::RateLimited,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 3s. Visit https://platform.openai.com/account/rate-limits to learn more. You can increase your rate limit by adding a payment method to your account at https://platform.openai.com/account/billing.","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            Class::RateLimited,
        ),
        (
            429,
            r#"{"error":{"message":"RateLimitError: You exceeded your current quota, please check your plan and billing details.","type":"throttling_error","code":"429"}}"#,
            Class::Unfunded,
        ),
        (
            429,
            r#"{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","code":"billing_not_active"}}"#,
            Class::Unfunded,
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"Resource has been exhausted; check quota exceeded","status":"RESOURCE_EXHAUSTED"}}]"#,
            Class::RateLimited,
        ),
        (429, "", Class::RateLimited),
        (
            429,
            r#"{"error":{"type":"engine_overloaded_error","message":"The engine is currently overloaded"}}"#,
            Class::Overloaded,
        ),
        (403, r#"{"error":{"message":"Your API key has no permission for this model"}}"#, Class::Permission),
        (403, "<html>blocked</html>", Class::BadRequest),
        (404, r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#, Class::BadRequest),
        (422, r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#, Class::BadRequest),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
            Class::ContextOverflow,
        ),
        (
            400,
            r#"{"object":"error","message":"The input is too long, reduce the length of the messages","code":400}"#,
            Class::ContextOverflow,
        ),
        (
            400,
            r#"{"error":{"message":"Range of input length should be [1, 30720]","code":"invalid_parameter_error"}}"#,
            Class::ContextOverflow,
        ),
        (413, "", Class::ContextOverflow),
        (400, r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#, Class::ContentFilter),
        (408, "", Class::Timeout),
        (500, r#"{"error":"internal"}"#, Class::Overloaded),
        (503, "upstream connect error", Class::Overloaded),
        (529, "", Class::Overloaded),
    ];
    for (status, body, class) in cases {
        let failure = classify(status, body);
        assert_eq!(failure.class, class, "{status} {body}");
        assert!(failure.message.contains(&format!("HTTP {status}")), "{}", failure.message);
    }
}

#[test]
fn an_outage_is_the_vendors_trouble_whatever_its_words() {
    use FailureClass as Class;
    let cases = [
        (503, r#"{"error":{"message":"authentication service unavailable"}}"#, Class::Overloaded),
        (503, r#"{"error":{"message":"try later","code":"authentication_service_unavailable"}}"#, Class::Overloaded),
        (502, "upstream unauthorized", Class::Overloaded),
        (500, r#"{"error":{"message":"invalid token from the upstream","type":"server_error"}}"#, Class::Overloaded),
        (500, r#"{"error":{"message":"billing backend failed: quota exceeded","code":500}}"#, Class::Overloaded),
        (503, "could not read the credit balance", Class::Overloaded),
        (503, "Too many requests are waiting", Class::Overloaded),
        (500, r#"{"error":{"message":"no","code":"invalid_api_key"}}"#, Class::Auth),
        (500, r#"{"error":{"message":"no","type":"insufficient_quota"}}"#, Class::Unfunded),
        (503, r#"{"error":{"message":"no","code":"rate_limit_exceeded"}}"#, Class::RateLimited),
        // Servers run at home say so with a 500.
        (500, r#"{"error":{"message":"the request exceeds the available context size"}}"#, Class::ContextOverflow),
    ];
    for (status, body, class) in cases {
        assert_eq!(classify(status, body).class, class, "{status} {body}");
    }
}

#[test]
fn the_reason_is_short_and_readable() {
    assert!(classify(404, "<!DOCTYPE html><html></html>").message.contains("is the base URL right?"));
    for (status, words, class) in [
        (400, "Content Exists Risk", FailureClass::ContentFilter),
        (400, "输入包含敏感内容", FailureClass::ContentFilter),
        (404, "no model Gpt-5: names are case-sensitive", FailureClass::BadRequest),
    ] {
        let failure = classify(status, &format!("{{\"error\":{{\"message\":\"{words}\"}}}}"));
        assert_eq!((failure.class, failure.message), (class, format!("{words} (HTTP {status})")));
    }
    assert!(classify(500, &"茶".repeat(10_000)).message.chars().count() < 400);
    assert!(classify(400, r#"{"error":{"message":"the tea is cold"}}"#).message.starts_with("the tea is cold"));
}
