//! The API of `homed`: one set of operations, served over TCP to whoever has the token and over the unix socket to the
//! daemon's own user; and, on the unix socket alone, chat connections to the plugin that holds them.
//!
//! [`Gateway::start`] listens; the router and everything behind it is private. Every error is a [`Problem`].
//!
//! The gateway decides nothing about plugins, turns or models: it checks who asks, reads what is asked, hands it to the
//! part that knows, and writes the answer as JSON.

mod core;
mod extract;
mod guard;
mod ports;
mod problem;
mod routes;
mod serve;
mod socket;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::core::Parts;
pub use crate::ports::Turns;
pub use crate::problem::Problem;
pub use crate::socket::SocketError;
pub use crate::token::TokenError;

use crate::serve::House;
use crate::socket::Seat;
use crate::token::Token;

/// How long answers that are being given may take when the gateway stops.
const GRACE: Duration = Duration::from_secs(5);

/// The gateway at work. Dropping it stops it without waiting for anybody.
pub struct Gateway {
    addr: SocketAddr,
    house: House,
    _seat: Seat,
}

/// Why the gateway can't serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The API token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The unix socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Another program has the address.
    #[error(
        "another program listens on {address}; stop it, or choose another address with --listen or the setting \
         core.gateway.listen"
    )]
    InUse {
        /// The address.
        address: String,
    },
    /// The address can't be listened on.
    #[error(
        "listening on {address} failed: {source}; choose an address of this machine with --listen or the setting \
         core.gateway.listen"
    )]
    Listen {
        /// The address.
        address: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Gateway {
    /// Listens on both transports. When this returns, clients can connect.
    ///
    /// # Errors
    ///
    /// Sentences that say what to do: a daemon that serves this home already, an address in use, files that can't be
    /// made.
    pub async fn start(parts: Parts) -> Result<Self, StartError> {
        // The socket first: it says whether a daemon is there already.
        let (unix, seat) = socket::take(&parts.home)?;
        let token = Token::open(&parts.home)?;
        let address = parts.listen.clone();
        let tcp = TcpListener::bind(&address).await;
        let bound = tcp.and_then(|tcp| Ok((tcp.local_addr()?, tcp)));
        let (addr, tcp) = bound.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::InUse { address },
            _ => StartError::Listen { address, source },
        })?;
        let house = House { stopping: CancellationToken::new(), tasks: TaskTracker::new() };
        let core = Arc::new(core::Core {
            parts,
            token,
            addr,
            started: Instant::now(),
            stopping: house.stopping.clone(),
            tasks: house.tasks.clone(),
        });
        house.serve_network(tcp, &routes::api(&core));
        house.serve_local(unix, &routes::api_and_channels(&core));
        tracing::info!(%addr, "gateway serves");
        Ok(Self { addr, house, _seat: seat })
    }

    /// Where the TCP side listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops: takes no further requests, tells chats that the daemon goes, and gives requests at work a few seconds.
    /// Stop the agent first, so that turns that wait here get their results.
    pub async fn shutdown(self) {
        self.house.stopping.cancel();
        self.house.tasks.close();
        if tokio::time::timeout(GRACE, self.house.tasks.wait()).await.is_err() {
            let left = self.house.tasks.len();
            tracing::warn!(left, "connections did not end in time and are cut");
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.house.stopping.cancel();
    }
}
