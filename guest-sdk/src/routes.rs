//! HTTP requests that the plugin answers, at the routes that `[wants.listen]` of `plugin.toml` lists as `http.<name>`.
//! Needs the grant `listen`, and the trait [`Routes`](crate::Routes).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Meta};

pub use crate::bindings::route::exports::homeagent::plugin::route_handler::{Content, Request, Response};

impl Request {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Reads the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::invalid(format!("the body: {error}")))
    }
}

impl Response {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::bytes("text/plain; charset=utf-8", text.into())
    }

    /// A value as JSON.
    pub fn json(value: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::bytes("application/json", serde_json::to_vec(value)?))
    }

    /// A body of any kind.
    pub fn bytes(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status: 200, headers, content: Content::Bytes(body.into()) }
    }

    /// Nothing, with 204.
    pub fn empty() -> Self {
        Self { status: 204, headers: Vec::new(), content: Content::Bytes(Vec::new()) }
    }

    /// A stream of server-sent events: [`Sockets::on_open`](crate::Sockets::on_open) tells its connection, under the
    /// route's name and with these additions, and each text frame that is sent on it is an event.
    pub fn events(meta: Meta) -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Events(meta) }
    }

    /// With another status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With a further header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}
