//! What vendors' errors mean. Each has its own shape, its own codes and its own words.

use crate::lenient::{items, label, some_text};
use homeagent_sdk::adapter::{Failure, FailureClass, HttpResponse};
use serde_json::Value;

/// An error as a vendor tells it.
#[derive(Debug, Default)]
pub struct VendorError {
    message: String,
    /// Code, type and status, in lower case, one after another.
    labels: String,
    /// The HTTP status that stands in the error itself.
    status: Option<u16>,
}

/// What an error comes to.
pub enum Verdict {
    /// The call failed.
    Failed(Failure),
    /// A content filter cut the answer.
    Filtered,
}

/// The error in an answer or a chunk, if there is one.
pub fn find(value: &Value) -> Option<VendorError> {
    let error = value.get("error").filter(|error| !is_nothing(error));
    if let Some(error) = error {
        return Some(read(error, value));
    }
    if let Some(first) = value.get("errors").and_then(|errors| items(errors).first()).filter(|error| !is_nothing(error))
    {
        return Some(read(first, value));
    }
    if let Some(error) = value.get("Response").and_then(|response| response.get("Error")) {
        return Some(read(error, value));
    }
    if let Some(state) = value.get("base_resp") {
        let code = state.get("status_code").and_then(label);
        if code.is_some_and(|code| code != "0") {
            return Some(read(state, value));
        }
    }
    let says_error = |field: &str| some_text(value, field).is_some_and(|text| text.to_lowercase().contains("error"));
    let has_answer = ["choices", "usage"].iter().any(|field| value.get(field).is_some_and(|part| !part.is_null()));
    let bare = says_error("object")
        || says_error("type")
        || ["error_msg", "detail"].iter().any(|field| value.get(field).is_some_and(|part| !is_nothing(part)))
        || (value.get("code").is_some_and(|code| !is_nothing(code))
            && ["message", "msg"].iter().any(|field| some_text(value, field).is_some()));
    (bare && !has_answer).then(|| read(value, &Value::Null))
}

/// Reads `value` as an error, whatever its shape: an event was called one.
pub fn force(value: &Value) -> VendorError {
    find(value).unwrap_or_else(|| read(value, &Value::Null))
}

/// Whether what stands where errors are told tells of none.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

fn read(error: &Value, around: &Value) -> VendorError {
    if let Value::String(message) = error {
        let labels = ["code", "type", "status"].iter().filter_map(|field| around.get(field).and_then(label));
        return VendorError { message: message.clone(), labels: joined(labels), status: status_in(around) };
    }
    const MESSAGES: [&str; 7] = ["message", "Message", "msg", "error_msg", "status_msg", "detail", "description"];
    const LABELS: [&str; 7] = ["code", "Code", "type", "status", "status_code", "error_code", "reason"];
    let message = MESSAGES.iter().find_map(|field| match error.get(field)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        other if !is_nothing(other) => Some(other.to_string()),
        _ => None,
    });
    let labels = LABELS.iter().filter_map(|field| error.get(field).and_then(label));
    VendorError {
        message: message.unwrap_or_else(|| shortened(&error.to_string())),
        labels: joined(labels),
        status: status_in(error).or_else(|| status_in(around)),
    }
}

fn joined(labels: impl Iterator<Item = String>) -> String {
    labels.map(|label| label.to_lowercase()).collect::<Vec<_>>().join(" ")
}

fn status_in(error: &Value) -> Option<u16> {
    let code = ["code", "status", "status_code"].iter().find_map(|field| error.get(field).and_then(label))?;
    code.parse().ok().filter(|status| (400..=599).contains(status))
}

/// What an answer other than 2xx means.
pub fn of_response(response: &HttpResponse) -> Failure {
    let body = String::from_utf8_lossy(&response.body);
    let body = body.trim();
    let value: Option<Value> = serde_json::from_str(body).ok();
    let value = value.as_ref().map(|value| items(value).first().unwrap_or(value));
    let error = match value {
        Some(value) => force(value),
        None => VendorError { message: of_text(body), ..VendorError::default() },
    };
    let mut failure = failure(&error, Some(response.status));
    failure.message = format!("{} (HTTP {})", failure.message, response.status);
    failure
}

/// The error as a failure, in the vendor's words, where a filter can have cut nothing. `status` is the answer's, where it
/// is not 200.
pub fn failure(error: &VendorError, status: Option<u16>) -> Failure {
    match verdict(error, status) {
        Verdict::Failed(failure) => failure,
        Verdict::Filtered => Failure::new(FailureClass::ContentFilter, shortened(&error.message)),
    }
}

fn of_text(body: &str) -> String {
    if body.is_empty() {
        "no reason given".to_owned()
    } else if body.starts_with('<') {
        "a web page instead of an answer; is the base URL right?".to_owned()
    } else {
        shortened(body)
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 300;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const FILTERED: &[&str] = &[
    "content_filter",
    "content filter",
    "contentfilter",
    "content_policy",
    "content management policy",
    "data_inspection_failed",
    "datainspectionfailed",
    "content exists risk",
    "responsibleai",
    "sensitive content",
    "sensitive information",
    "sensitive word",
    "敏感",
];
const OVERFLOW: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "contextwindow",
    "maximum context",
    "max_prompt_tokens",
    "string_above_max_length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "input length",
    "reduce the length",
    "exceeds the maximum number of tokens",
    "exceed max message tokens",
    "token limit exceeded",
    "exceeds the available context",
    "上下文长度",
    "超过最大长度",
    "输入长度",
];
const UNFUNDED: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "insufficient_balance",
    "balance is insufficient",
    "insufficient credit",
    "insufficient_credit",
    "insufficient fund",
    "not enough balance",
    "not enough credit",
    "credit balance",
    "api usage limits",
    "payment required",
    "arrear",
    "overdue",
    "exceeded_current_quota",
    "exceeded your current quota",
    "余额不足",
    "欠费",
];
/// Words of money that are meant as such also where the label says that some resource is exhausted, which is how Gemini
/// tells of rate limits as well.
const PREPAID: &[&str] = &["credits are depleted"];
/// Words of money that also stand in the advice a rate limit gives ("add a payment method at …/account/billing").
const MONEY: &[&str] = &["billing", "more credits", "quota exceeded", "quota_exceeded", "额度"];
const UNFUNDED_CODES: &[&str] = &[
    "402",
    "1113",
    "1008",
    "insufficient_quota",
    "insufficient_balance",
    "exceeded_current_quota_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "arrearage",
    "accountoverdueerror",
];
const RATE: &[&str] = &[
    "rate_limit",
    "rate limit",
    "ratelimit",
    "rate-limit",
    "too many requests",
    "too_many_requests",
    "throttl",
    "resource_exhausted",
    "requests per min",
    "tokens per min",
    "concurren",
    "频繁",
    "并发",
    "限流",
];
const RATE_CODES: &[&str] =
    &["1302", "1002", "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "resource_exhausted"];
const OVERLOADED: &[&str] = &[
    "overload",
    "server_error",
    "internal_error",
    "internal error",
    "internal server",
    "unavailable",
    "capacity",
    "busy",
    "server had an error",
    "insufficient_system_resource",
    "繁忙",
    "过载",
];
const AUTH: &[&str] = &[
    "invalid_api_key",
    "invalid api key",
    "invalid api-key",
    "invalidapikey",
    "incorrect api key",
    "api key not valid",
    "api_key_invalid",
    "authentication",
    "unauthorized",
    "unauthenticated",
    "invalid key",
    "invalid token",
    "no api key",
    "missing api key",
    "api key is invalid",
    "令牌",
    "密钥",
];
const AUTH_CODES: &[&str] = &["invalid_api_key", "invalidapikey", "api_key_invalid", "authentication_error"];
const PERMISSION: &[&str] = &[
    "permission",
    "api key",
    "api_key",
    "apikey",
    "api-key",
    "accessdenied",
    "access denied",
    "not authorized",
    "权限",
];
const BAD_REQUEST: &[&str] = &[
    "invalid_request",
    "invalid request",
    "bad_request",
    "bad request",
    "invalid_argument",
    "not_found",
    "unsupported",
    "invalidparameter",
    "invalid_parameter",
];

/// What the error comes to. `status` is the answer's, where it is not 200.
pub fn verdict(error: &VendorError, status: Option<u16>) -> Verdict {
    let status = status.or(error.status);
    let words = format!("{} {}", error.labels, error.message.to_lowercase());
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let has_code = |codes: &[&str]| error.labels.split(' ').any(|label| codes.contains(&label));
    // The words of an outage tell what is broken at the vendor's ("authentication service unavailable"), not what is
    // wrong with the caller; of such an answer only the codes are believed.
    let outage = matches!(status, Some(500..=599));
    let hints = |list: &[&str]| !outage && says(list);
    let rejected = !matches!(status, Some(401 | 402 | 429 | 500..=599));
    if rejected && (says(FILTERED) || has_code(&["1301", "1026", "1027"])) {
        return Verdict::Filtered;
    }
    let class = if status == Some(413)
        || (!matches!(status, Some(401 | 402 | 429)) && (says(OVERFLOW) || has_code(&["1261", "1039"])))
    {
        FailureClass::ContextOverflow
    } else if status == Some(402)
        || has_code(UNFUNDED_CODES)
        || hints(PREPAID)
        || (hints(UNFUNDED) && !says(&["resource_exhausted"]))
        || (hints(MONEY) && !says(RATE))
    {
        FailureClass::Unfunded
    } else if status == Some(401)
        || (status != Some(403) && (hints(AUTH) || has_code(AUTH_CODES)))
        || has_code(&["1004", "2049"])
    {
        FailureClass::Auth
    } else if status == Some(403) {
        if says(AUTH) || says(PERMISSION) { FailureClass::Permission } else { FailureClass::BadRequest }
    } else if says(&["overload"]) {
        FailureClass::Overloaded
    } else if status == Some(429) || hints(RATE) || has_code(RATE_CODES) {
        FailureClass::RateLimited
    } else {
        by_status(status, says(OVERLOADED), says(BAD_REQUEST), says(&["permission"]))
    };
    Verdict::Failed(Failure { class, message: shortened(&error.message), retry_after_ms: None })
}

fn by_status(status: Option<u16>, overloaded: bool, bad: bool, permission: bool) -> FailureClass {
    match status {
        Some(408 | 504) => FailureClass::Timeout,
        Some(500..=599) => FailureClass::Overloaded,
        Some(400..=499) => FailureClass::BadRequest,
        _ if overloaded => FailureClass::Overloaded,
        _ if permission => FailureClass::Permission,
        _ if bad => FailureClass::BadRequest,
        // An answer that began well and then speaks of an error no one has heard of: the vendor has trouble.
        _ => FailureClass::Overloaded,
    }
}
