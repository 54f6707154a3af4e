//! What errors mean.

use homeagent_adapters::errors;
use homeagent_adapters::lenient::{items, some_text};
use homeagent_sdk::adapter::{Failure, HttpResponse};
use serde_json::Value;

/// What an answer other than 2xx means. When to come back stands in the body, not in a header.
pub(crate) fn of_response(response: &HttpResponse) -> Failure {
    let mut failure = errors::of_response(response);
    failure.retry_after_ms = serde_json::from_slice::<Value>(&response.body).ok().and_then(|body| delay(&body));
    failure
}

/// The delay in `{"error": {"details": [{"retryDelay": "34.5s"}]}}`, in milliseconds.
fn delay(body: &Value) -> Option<u64> {
    let details = items(body).first()?.get("error")?.get("details")?;
    let delay = items(details).iter().find_map(|detail| some_text(detail, "retryDelay"))?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0) as u64)
}
