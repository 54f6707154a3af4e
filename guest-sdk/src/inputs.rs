//! Bringing people's words to the agent. Needs the grant `input`.

use crate::bindings::plugin::homeagent::plugin::inputs as host;
use crate::sockets::ConnectionId;
use crate::{Error, Payload, Peer};

pub use host::{Accepted, Submission};

impl Submission {
    /// What `user` said in the conversation with `peer`, as text.
    pub fn text(peer: Peer, user: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            platform_id: None,
            peer,
            user: user.into(),
            display_name: None,
            connection: None,
            kind: "message".to_owned(),
            payload: Payload::Text(text.into()),
            media: Vec::new(),
            reply_route: None,
            received_at: None,
            meta: Vec::new(),
        }
    }

    /// The connection it came over, where that is what vouches for the user.
    pub fn over(mut self, connection: ConnectionId) -> Self {
        self.connection = Some(connection);
        self
    }

    /// The platform's id of it. The host takes the same id once.
    pub fn platform_id(mut self, id: impl Into<String>) -> Self {
        self.platform_id = Some(id.into());
        self
    }
}

/// Queues an input. Returns when it is in the journal.
pub async fn submit(submission: Submission) -> Result<Accepted, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::submit(submission).await
}

/// Hands over an input that does not wait: it joins the turn that runs, or starts one.
pub async fn interrupt(submission: Submission) -> Result<Accepted, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::interrupt(submission).await
}

/// Ends the turn that runs in the submission's conversation. False: none was running.
pub async fn stop(submission: Submission) -> Result<bool, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::stop(submission).await
}
