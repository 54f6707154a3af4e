//! Which connection belongs to which conversation.

use std::collections::BTreeMap;

use homeagent_sdk::Connection;
use homeagent_sdk::sockets::ConnectionId;

/// Who sits at a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) conversation: String,
    pub(crate) user: String,
}

/// All connections. They are told again to each new instance, so nothing of this has to be saved.
#[derive(Debug, Default)]
pub(crate) struct Seats(BTreeMap<ConnectionId, Seat>);

impl Seat {
    /// The seat that the host's word on a connection gives it.
    pub(crate) fn of(connection: &Connection) -> Self {
        let meta = |name| connection.meta(name).filter(|value| !value.is_empty()).unwrap_or("owner").to_owned();
        Self { conversation: meta("conversation"), user: meta("user") }
    }
}

impl Seats {
    pub(crate) fn take(&mut self, connection: ConnectionId, seat: Seat) {
        self.0.insert(connection, seat);
    }

    pub(crate) fn leave(&mut self, connection: ConnectionId) {
        self.0.remove(&connection);
    }

    pub(crate) fn of(&self, connection: ConnectionId) -> Option<Seat> {
        self.0.get(&connection).cloned()
    }

    /// The connections that read a conversation.
    pub(crate) fn in_conversation(&self, conversation: &str) -> Vec<ConnectionId> {
        self.0.iter().filter(|(_, seat)| seat.conversation == conversation).map(|(connection, _)| *connection).collect()
    }
}
