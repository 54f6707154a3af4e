//! Adapters: they turn requests to a model into a vendor's HTTP and the answers back, and do nothing else.
//!
//! A fresh instance serves each model call, so what [`Adapter::step`] keeps in a [`State`](crate::State) is that of one
//! stream. Implement [`Adapter`] and export it with [`export_adapter!`](crate::export_adapter).
//!
//! ```
//! use homeagent_sdk::adapter::{Adapter, Delta, Descriptor, ModelRequest, Rehearsed};
//!
//! struct Parrot;
//!
//! impl Adapter for Parrot {
//!     fn describe() -> Descriptor {
//!         Descriptor::new("parrot", env!("CARGO_PKG_VERSION")).summary("Says one thing.").offline()
//!     }
//!
//!     fn rehearse(_: ModelRequest) -> Vec<Rehearsed> {
//!         vec![Rehearsed { pause_ms: 0, delta: Delta::Text("Hello!".to_owned()) }]
//!     }
//! }
//!
//! homeagent_sdk::export_adapter!(Parrot);
//! # fn main() {}
//! ```

pub use crate::bindings::adapter::exports::homeagent::adapter::adapter::{
    AssistantMessage, ContentPart, Delta, Descriptor, EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure,
    FailureClass, Features, FinishReason, Framing, HttpRequest, HttpResponse, KeyPlacement, Media, Message, Meta,
    ModelInfo, ModelRequest, Opaque, Rehearsed, StreamEvent, ToolCall, ToolCallDelta, ToolChoice, ToolMessage,
    ToolSpec, Usage,
};

use crate::bindings::adapter::exports::homeagent::adapter::adapter as generated;

/// A vendor's protocol.
pub trait Adapter {
    /// What the adapter is and can do.
    fn describe() -> Descriptor;

    /// The HTTP request of a model request. The host adds the base URL and the key.
    fn build_request(request: ModelRequest) -> Result<HttpRequest, String> {
        let _ = request;
        Err("this adapter makes no requests".to_owned())
    }

    /// Reads a whole answer.
    fn parse_response(response: HttpResponse) -> Vec<Delta> {
        let _ = response;
        vec![Delta::Error(Failure::new(FailureClass::Protocol, "this adapter reads streams only"))]
    }

    /// Says what a non-2xx answer means; by its status, where the vendor's body says no more.
    fn classify_error(response: HttpResponse) -> Failure {
        Failure::from_status(&response)
    }

    /// Reads the next events of a stream; batches may be cut anywhere.
    fn step(events: Vec<StreamEvent>) -> Vec<Delta> {
        let _ = events;
        Vec::new()
    }

    /// The stream has ended: what is still to be said.
    fn end() -> Vec<Delta> {
        Vec::new()
    }

    /// The HTTP request for the vendor's models. `options` are the source's.
    fn build_models_request(options: Meta) -> Result<HttpRequest, String> {
        let _ = options;
        Err("this vendor lists no models".to_owned())
    }

    /// Reads the list of models.
    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        let _ = response;
        Err(Failure::new(FailureClass::Protocol, "this vendor lists no models"))
    }

    /// The HTTP request for vectors.
    fn build_embedding_request(request: EmbeddingRequest) -> Result<HttpRequest, String> {
        let _ = request;
        Err("this vendor makes no embeddings".to_owned())
    }

    /// Reads vectors: one for each text, in the order of the texts.
    fn parse_embeddings(response: HttpResponse) -> Result<Embeddings, Failure> {
        let _ = response;
        Err(Failure::new(FailureClass::Protocol, "this vendor makes no embeddings"))
    }

    /// The whole answer at once, for adapters that need no network.
    fn rehearse(request: ModelRequest) -> Vec<Rehearsed> {
        let _ = request;
        Vec::new()
    }
}

impl<T: Adapter> generated::Guest for T {
    fn describe() -> Descriptor {
        <T as Adapter>::describe()
    }

    fn build_request(request: ModelRequest) -> Result<HttpRequest, String> {
        <T as Adapter>::build_request(request)
    }

    fn parse_response(response: HttpResponse) -> Vec<Delta> {
        <T as Adapter>::parse_response(response)
    }

    fn classify_error(response: HttpResponse) -> Failure {
        <T as Adapter>::classify_error(response)
    }

    fn step(events: Vec<StreamEvent>) -> Vec<Delta> {
        <T as Adapter>::step(events)
    }

    fn end() -> Vec<Delta> {
        <T as Adapter>::end()
    }

    fn build_models_request(options: Meta) -> Result<HttpRequest, String> {
        <T as Adapter>::build_models_request(options)
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        <T as Adapter>::parse_models(response)
    }

    fn build_embedding_request(request: EmbeddingRequest) -> Result<HttpRequest, String> {
        <T as Adapter>::build_embedding_request(request)
    }

    fn parse_embeddings(response: HttpResponse) -> Result<Embeddings, Failure> {
        <T as Adapter>::parse_embeddings(response)
    }

    fn rehearse(request: ModelRequest) -> Vec<Rehearsed> {
        <T as Adapter>::rehearse(request)
    }
}

impl Descriptor {
    /// An adapter that wants no key and whose streams are server-sent events, until it says otherwise.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: String::new(),
            default_base_url: None,
            default_model: None,
            key: KeyPlacement::None,
            framing: Framing::Sse,
            features: Features::empty(),
            offline: false,
            meta: Vec::new(),
        }
    }

    /// One line for people.
    pub fn summary(mut self, summary: &str) -> Self {
        summary.clone_into(&mut self.summary);
        self
    }

    /// Where the vendor's service is.
    pub fn base_url(mut self, url: &str) -> Self {
        self.default_base_url = Some(url.to_owned());
        self
    }

    /// The model that is asked when the source names none.
    pub fn model(mut self, model: &str) -> Self {
        self.default_model = Some(model.to_owned());
        self
    }

    /// Where the host puts the key.
    pub fn key(mut self, placement: KeyPlacement) -> Self {
        self.key = placement;
        self
    }

    /// How a streamed answer is cut into events.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// What the vendor's protocol can do.
    pub fn features(mut self, features: Features) -> Self {
        self.features = features;
        self
    }

    /// Something more to know, by name.
    pub fn with_meta(mut self, (name, value): (String, String)) -> Self {
        self.meta.push((name, value));
        self
    }

    /// Answers from [`Adapter::rehearse`] and needs no network.
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }
}

impl HttpRequest {
    /// Gets `path`, which begins with `/` and is appended to the source's base URL.
    pub fn get(path: &str) -> Self {
        Self { method: "GET".to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// Posts JSON to `path`, which begins with `/` and is appended to the source's base URL.
    pub fn post_json(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.into(),
        }
    }
}

impl HttpResponse {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// How long the vendor asks to wait, in milliseconds, when it says so in seconds or in milliseconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        if let Some(milliseconds) = self.header("retry-after-ms").and_then(|value| value.trim().parse().ok()) {
            return Some(milliseconds);
        }
        let seconds: f64 = self.header("retry-after")?.trim().parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0) as u64)
    }
}

impl Failure {
    /// A failure of a class, in words.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after_ms: None }
    }

    /// What the status says, with the beginning of the body for people. Only a 403 needs the body: where that speaks of no
    /// key and no permission, it is this request that is refused (a country, a policy), and not the source's key.
    pub fn from_status(response: &HttpResponse) -> Self {
        const OF_THE_KEY: [&str; 11] = [
            "permission",
            "api key",
            "api_key",
            "api-key",
            "apikey",
            "invalid key",
            "access denied",
            "accessdenied",
            "not authorized",
            "权限",
            "密钥",
        ];
        let said = response.text();
        let of_the_key = || {
            let said = said.to_lowercase();
            OF_THE_KEY.iter().any(|word| said.contains(word))
        };
        let class = match response.status {
            401 => FailureClass::Auth,
            402 => FailureClass::Unfunded,
            403 if of_the_key() => FailureClass::Permission,
            408 | 504 => FailureClass::Timeout,
            413 => FailureClass::ContextOverflow,
            429 => FailureClass::RateLimited,
            500..=599 => FailureClass::Overloaded,
            400..=499 => FailureClass::BadRequest,
            _ => FailureClass::Protocol,
        };
        let body: String = said.trim().chars().take(500).collect();
        let message = format!("HTTP {}{}{body}", response.status, if body.is_empty() { "" } else { ": " });
        Self { class, message, retry_after_ms: response.retry_after_ms() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpResponse { status, headers, body: body.into() }
    }

    #[test]
    fn the_status_says_what_failed() {
        for (status, class) in [
            (401, FailureClass::Auth),
            (404, FailureClass::BadRequest),
            (429, FailureClass::RateLimited),
            (503, FailureClass::Overloaded),
        ] {
            assert_eq!(Failure::from_status(&response(status, &[], "")).class, class, "{status}");
        }
    }

    #[test]
    fn a_403_is_about_the_key_where_it_says_so() {
        for (body, class) in [
            ("{\"error\":\"You have insufficient permissions\"}", FailureClass::Permission),
            ("Your API key can't use this model", FailureClass::Permission),
            ("Country, region, or territory not supported", FailureClass::BadRequest),
            ("", FailureClass::BadRequest),
        ] {
            assert_eq!(Failure::from_status(&response(403, &[], body)).class, class, "{body}");
        }
    }

    #[test]
    fn retry_after_is_read_in_seconds_and_in_milliseconds() {
        let wait = |name, value| response(429, &[(name, value)], "").retry_after_ms();
        assert_eq!(wait("retry-after", "2"), Some(2000));
        assert_eq!(wait("retry-after", "0.5"), Some(500));
        assert_eq!(wait("retry-after-ms", "70"), Some(70));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), None);
        assert_eq!(wait("retry-after", "-1"), None);
    }

    #[test]
    fn the_message_has_the_body() {
        assert_eq!(Failure::from_status(&response(418, &[], " teapot ")).message, "HTTP 418: teapot");
    }
}
