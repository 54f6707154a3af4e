//! Requests over HTTP. Needs the grant `http`, and goes where `[wants.http]` of `plugin.toml` says.
//!
//! ```no_run
//! # async fn example() -> Result<(), homeagent_sdk::Error> {
//! use homeagent_sdk::http::Request;
//!
//! let answer = Request::get("https://api.example.com/weather?city=Bern").secret("api_key").send().await?;
//! let weather: serde_json::Value = answer.json()?;
//! # Ok(())
//! # }
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::http as host;

pub use host::{Request, Response};

impl Request {
    /// A request that asks for what is there.
    pub fn get(url: impl Into<String>) -> Self {
        Self::of("GET", url)
    }

    /// A request that hands something over.
    pub fn post(url: impl Into<String>) -> Self {
        Self::of("POST", url)
    }

    /// A request of any method; in capitals.
    pub fn of(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            timeout_ms: None,
            secrets: Vec::new(),
            meta: Vec::new(),
        }
    }

    /// With a header more.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With this body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// With this value as a JSON body.
    pub fn json(self, value: &impl Serialize) -> Result<Self, Error> {
        Ok(self.header("content-type", "application/json").body(serde_json::to_vec(value)?))
    }

    /// With a secret of `[wants.secrets]`, which the host puts in.
    pub fn secret(mut self, name: impl Into<String>) -> Self {
        self.secrets.push(name.into());
        self
    }

    /// Waits so long at most, with all redirects.
    pub fn timeout_ms(mut self, milliseconds: u32) -> Self {
        self.timeout_ms = Some(milliseconds);
        self
    }

    /// Takes an answer of at most so many bytes; a larger one is an error. The owner's own limit holds beside it.
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.meta.push(("response-bytes".to_owned(), bytes.to_string()));
        self
    }

    /// Sends it. An answer is an answer whatever its status. Dropping the future ends the request.
    pub async fn send(self) -> Result<Response, Error> {
        if !cfg!(target_arch = "wasm32") {
            return Err(Error::NotLive);
        }
        host::send(self).await
    }
}

impl Response {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Error::other(format!("the answer is not as it should be: {error}")))
    }
}
