//! Connections to others, which the host holds for the plugin. Needs the grant `connect`, and goes where
//! `[wants.connect]` of `plugin.toml` says.
//!
//! What happens on a connection comes to [`Sockets`](crate::Sockets), under its name; [`sockets`](crate::sockets) sends.

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::connect as host;

pub use host::{Framing, Target};

impl Target {
    /// A connection called `name`, which is made again when it is lost.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            headers: Vec::new(),
            secrets: Vec::new(),
            framing: Framing::Pieces,
            reconnect: true,
            meta: Vec::new(),
        }
    }

    /// With a header of a WebSocket's first request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a secret of `[wants.secrets]`, which the host puts into a WebSocket's first request.
    pub fn secret(mut self, name: impl Into<String>) -> Self {
        self.secrets.push(name.into());
        self
    }

    /// What arrives is cut into lines.
    pub fn lines(mut self) -> Self {
        self.framing = Framing::Lines;
        self
    }

    /// It is not made again when it is lost.
    pub fn once(mut self) -> Self {
        self.reconnect = false;
        self
    }

    /// Connects. Returns when the connection stands or, where it is made again, at once.
    pub async fn open(self) -> Result<(), Error> {
        if !cfg!(target_arch = "wasm32") {
            return Err(Error::NotLive);
        }
        host::open(self).await
    }
}

/// Ends the connection of this name, and its being made again.
pub fn close(name: &str) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::close(name)
}
