//! Connections that the host holds for the plugin. Needs the grant `listen`, for those that it made `connect`.

use crate::bindings::plugin::homeagent::plugin::sockets as host;
use crate::{Connection, Error};

pub use host::{ConnectionId, Frame};

impl Connection {
    /// What the host says of the connection under `name`.
    pub fn meta(&self, name: &str) -> Option<&str> {
        self.meta.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Sends a frame. Returns when the host has queued it.
pub async fn send(connection: ConnectionId, frame: Frame) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::send(connection, frame).await
}

/// Sends a frame and waits for the text frame whose JSON has `value` at the JSON pointer `pointer`, for protocols that
/// answer by an echo. That frame is not handed to `on_frames`.
pub async fn request(
    connection: ConnectionId,
    frame: Frame,
    pointer: &str,
    value: &str,
    timeout: std::time::Duration,
) -> Result<Frame, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    let answer = host::AnswerMark { pointer: pointer.to_owned(), value: value.to_owned() };
    host::request(connection, frame, answer, u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX)).await
}

/// Closes a connection; the reason is told to the other side.
pub fn close(connection: ConnectionId, reason: &str) -> Result<(), Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::close(connection, reason)
}

/// The connections that are open.
pub fn open() -> Vec<ConnectionId> {
    if cfg!(target_arch = "wasm32") { host::open() } else { Vec::new() }
}
