//! HTTP requests that plugins answer.

use crate::ports::Connection;

/// A request at a plugin's route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    /// The route's name.
    pub route: String,
    /// In capitals.
    pub method: String,
    /// As it came, without the query.
    pub path: String,
    /// What stands behind the `?`.
    pub query: Option<String>,
    /// By their lower-case names.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
    /// Additions by name.
    pub meta: crate::Meta,
}

/// A plugin's answer, which has been checked.
pub struct RouteResponse {
    /// 200 to 599.
    pub status: u16,
    /// Those that are a plugin's to set, each of which can be sent.
    pub headers: Vec<(String, String)>,
    /// What follows them.
    pub content: RouteContent,
}

/// The content of an answer.
pub enum RouteContent {
    /// A whole body.
    Bytes(Vec<u8>),
    /// A stream of server-sent events, each a frame of this connection.
    Events(Box<dyn Connection>),
}
