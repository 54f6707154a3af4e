//! One HTTP call to a source.
//!
//! No redirect is followed (a key would go to another host), no proxy is taken from the environment, and no key and no
//! address with a key in it ever stands in a failure.

mod body;
mod endpoint;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use homeagent_types::model::{Failure, FailureClass, HttpRequest};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use tokio::time::{Instant, timeout_at};

pub use self::body::Body;
pub use self::endpoint::Endpoint;

/// How long the parts of a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From the beginning of the call until the first byte of the answer's body.
    pub first_byte: Duration,
    /// Between two pieces of the answer; a keep-alive is one.
    pub silence: Duration,
    /// Between two events that say something of the answer; a keep-alive says nothing.
    pub waiting: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            silence: Duration::from_secs(30),
            waiting: Duration::from_secs(300),
        }
    }
}

/// The client can't be set up.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client can't be set up")]
pub struct TransportError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// The client that all sources share. It keeps connections open between calls.
#[derive(Debug)]
pub struct Transport {
    /// A client knows its connect time-out, so another setting needs another client.
    client: Mutex<(Duration, reqwest::Client)>,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// What it says its body is.
    pub content: Content,
    /// The body.
    pub body: Body,
}

/// What an answer says its body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A JSON document: a whole answer.
    Json,
    /// Anything else that may be a stream; vendors are careless with the names.
    Stream,
}

impl Transport {
    /// Sets the client up.
    ///
    /// # Errors
    ///
    /// When the system's certificates can't be read.
    pub fn new(timeouts: Timeouts) -> Result<Self, TransportError> {
        Ok(Transport { client: Mutex::new((timeouts.connect, client(timeouts.connect)?)) })
    }

    /// Sends a request and waits for the head of the answer. A redirect and a web page are failures here.
    ///
    /// # Errors
    ///
    /// Why there is no answer, with the host's name and without the key.
    pub async fn send(
        &self,
        endpoint: &Endpoint<'_>,
        request: HttpRequest,
        timeouts: Timeouts,
    ) -> Result<Reply, Failure> {
        let deadline = Instant::now() + timeouts.first_byte;
        let (request, host) = endpoint.request(request)?;
        let client =
            self.client(timeouts.connect).map_err(|error| failure(FailureClass::Network, error.to_string()))?;
        let sent = timeout_at(deadline, client.execute(request)).await;
        let response = match sent {
            Err(_) => return Err(no_first_byte(&host, timeouts)),
            Ok(Err(error)) => return Err(not_reached(&host, error)),
            Ok(Ok(response)) => response,
        };
        let status = response.status().as_u16();
        let content = content(&response, &host)?;
        let headers = texts(response.headers());
        let body = Body::new(response, host, deadline, timeouts);
        Ok(Reply { status, headers, content, body })
    }

    fn client(&self, connect: Duration) -> Result<reqwest::Client, TransportError> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != connect {
            *kept = (connect, client(connect)?);
        }
        Ok(kept.1.clone())
    }
}

fn client(connect: Duration) -> Result<reqwest::Client, TransportError> {
    let tls = homeagent_network::tls::client().map_err(|error| TransportError(error.into()))?;
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .connect_timeout(connect)
        .pool_idle_timeout(Duration::from_secs(30))
        .user_agent(concat!("homeagent/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| TransportError(error.into()))
}

fn content(response: &reqwest::Response, host: &str) -> Result<Content, Failure> {
    let status = response.status();
    if status.is_redirection() {
        let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        // Only the place: the query may repeat a key.
        let to = to.and_then(|to| response.url().join(to).ok()).and_then(|url| url.host_str().map(str::to_owned));
        let to = to.map_or_else(String::new, |to| format!(" to {to}"));
        let message = format!(
            "{host} answered with a redirect{to} ({}), which is not followed; check the base URL of the source",
            status.as_u16()
        );
        return Err(failure(FailureClass::Protocol, message));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if status.is_success() && (kind == "text/html" || kind == "application/xhtml+xml") {
        let message = format!(
            "{host} answered with a web page ({kind}) instead of a model's answer; check the base URL of the source"
        );
        return Err(failure(FailureClass::Protocol, message));
    }
    Ok(if kind == "application/json" { Content::Json } else { Content::Stream })
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    headers.iter().map(text).collect()
}

fn no_first_byte(host: &str, timeouts: Timeouts) -> Failure {
    let seconds = timeouts.first_byte.as_secs_f64();
    failure(FailureClass::Timeout, format!("{host} did not begin to answer within {seconds} seconds"))
}

fn not_reached(host: &str, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let reason = root_cause(&error);
    if error.is_timeout() {
        // Before the connection stands, nothing was sent.
        let class = if error.is_connect() { FailureClass::Network } else { FailureClass::Timeout };
        return failure(class, format!("connecting to {host} took too long"));
    }
    let what = if error.is_connect() { "can't be reached" } else { "broke the connection" };
    failure(FailureClass::Network, format!("{host} {what}: {reason}"))
}

/// The innermost error: the outer ones only say that there is an inner one.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn failure(class: FailureClass, message: String) -> Failure {
    Failure { class, message, retry_after_ms: None }
}
