//! The API of `homed`: one set of operations, served over TCP to whoever has the token and over the unix socket to the
//! daemon's own user; and, on the unix socket alone, chat connections to the plugin that holds them.
//!
//! [`Gateway::start`] listens; the router and everything behind it is private. Every error is a [`Problem`].
//!
//! The gateway decides nothing about plugins, turns or models: it checks who asks, reads what is asked, hands it to the
//! part that knows, and writes the answer as JSON.

mod connections;
mod core;
mod document;
mod exposition;
mod extract;
mod guard;
mod meters;
mod own_addresses;
mod ports;
mod problem;
mod routes;
mod serve;
mod socket;
mod token;
mod trial;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::core::Parts;
pub use crate::meters::describe as describe_metrics;
pub use crate::ports::{Change, Keeper, Live, LoggedProblem, Monitor, Turns};
pub use crate::problem::Problem;
pub use crate::socket::SocketError;
pub use crate::token::TokenError;

use crate::connections::AllConnections;
use crate::serve::House;
use crate::socket::Seat;
use crate::token::Token;

/// How long answers that are being given may take when the gateway stops.
const GRACE: Duration = Duration::from_secs(5);

/// How long connections that are cut may take to be gone.
const CUT: Duration = Duration::from_secs(1);

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

/// The gateway's listeners, before anything is served there: clients that come meanwhile wait.
///
/// Whatever may keep the gateway from serving shows when they are opened, so a daemon opens them before it begins work
/// that it could not end.
pub struct Doors {
    unix: UnixListener,
    seat: Seat,
    token: Token,
    tcp: TcpListener,
    addr: SocketAddr,
}

impl Doors {
    /// Opens the unix socket in the data folder, and `listen`, `HOST:PORT`; port 0 takes any that is free.
    ///
    /// # Errors
    ///
    /// Sentences that say what to do: a daemon that serves this home already, an address in use, files that can't be
    /// made.
    pub async fn open(home: &Path, listen: &str) -> Result<Self, StartError> {
        // The socket first: it says whether a daemon is there already.
        let (unix, seat) = socket::take(home)?;
        let token = Token::open(home)?;
        let address = listen.to_owned();
        let tcp = TcpListener::bind(listen).await;
        let bound = tcp.and_then(|tcp| Ok((tcp.local_addr()?, tcp)));
        let (addr, tcp) = bound.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::InUse { address },
            _ => StartError::Listen { address, source },
        })?;
        Ok(Self { unix, seat, token, tcp, addr })
    }
}

impl Gateway {
    /// Listens on both transports and serves. When this returns, clients can connect.
    ///
    /// # Errors
    ///
    /// As for [`Doors::open`].
    pub async fn start(parts: Parts) -> Result<Self, StartError> {
        let doors = Doors::open(&parts.home, &parts.listen).await?;
        Ok(Self::serve(doors, parts))
    }

    /// Serves at doors that are open already.
    #[must_use]
    pub fn serve(doors: Doors, parts: Parts) -> Self {
        let Doors { unix, seat, token, tcp, addr } = doors;
        let connections = AllConnections::new(&parts.settings);
        parts.media.serve_at(addr);
        let house = House {
            stopping: CancellationToken::new(),
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
            connections: connections.clone(),
        };
        let core = Arc::new(core::Core {
            parts,
            token,
            addr,
            started: Instant::now(),
            connections,
            stopping: house.stopping.clone(),
            tasks: house.tasks.clone(),
        });
        house.serve_network(tcp, &routes::api(&core));
        house.serve_local(unix, &routes::api_and_channels(&core));
        house.tasks.spawn(own_addresses::keep(Arc::clone(&core), house.clone()));
        tracing::info!(%addr, "gateway serves");
        Self { addr, house, _seat: seat }
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
            self.house.cut.cancel();
            // What is left are answers whose connection is gone.
            let _ = tokio::time::timeout(CUT, self.house.tasks.wait()).await;
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.house.stopping.cancel();
        self.house.cut.cancel();
    }
}
