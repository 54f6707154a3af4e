//! The two listeners and their connections.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse as _;
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Problem;
use crate::connections::{AllConnections, Connections, Place};
use crate::guard::{Door, HEADERS_READ, Peer};
use crate::meters;

/// How long the head of a request may take to arrive, and how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(30);

/// How long a connection that has to make room may take to hand over what it has written.
const PARTING: Duration = Duration::from_secs(1);

/// How long to wait when the system is out of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// What the tasks of both listeners share.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) stopping: CancellationToken,
    /// Connections that have not ended by themselves are dropped.
    pub(crate) cut: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) connections: AllConnections,
}

/// Where connections come from, each with the entrance it comes in by.
trait Arrivals: Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<Peer>, &Entrance)>> + Send;
}

/// What one kind of client finds.
struct Entrance {
    router: Router,
    connections: Arc<Connections>,
    /// Whoever finds all places taken by requests under way waits for one, and so does everybody behind them at the same
    /// listener; otherwise they are turned away.
    waits: bool,
}

impl Entrance {
    fn new(router: &Router, connections: &Arc<Connections>, door: Door) -> Self {
        let connections = Arc::clone(connections);
        let router = router.clone().layer(Extension(door)).layer(Extension(Arc::clone(&connections)));
        Self { router, connections, waits: door != Door::Socket { owner: false } }
    }

    async fn place(&self) -> Option<Place> {
        if self.waits { Some(self.connections.place().await) } else { self.connections.try_place() }
    }
}

/// Connections over TCP.
struct Network {
    listener: TcpListener,
    entrance: Entrance,
}

impl Arrivals for Network {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, Option<Peer>, &Entrance)> {
        let (stream, peer) = self.listener.accept().await?;
        // Small answers and pieces of streams go out at once.
        let _ = stream.set_nodelay(true);
        Ok((stream, Some(Peer(peer.ip())), &self.entrance))
    }
}

/// Connections over the unix socket.
struct Local {
    listener: UnixListener,
    owners: Entrance,
    strangers: Entrance,
}

impl Arrivals for Local {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Option<Peer>, &Entrance)> {
        let (stream, _) = self.listener.accept().await?;
        let entrance = if is_owner(&stream) { &self.owners } else { &self.strangers };
        Ok((stream, None, entrance))
    }
}

impl House {
    pub(crate) fn serve_network(&self, listener: TcpListener, router: &Router) {
        let entrance = Entrance::new(router, &self.connections.network, Door::Network);
        self.serve(Network { listener, entrance });
    }

    /// The same, until the token is cancelled. Connections that have become another protocol's stay.
    pub(crate) fn serve_network_until(&self, listener: TcpListener, router: &Router) -> CancellationToken {
        let stopping = self.stopping.child_token();
        let house = Self { stopping: stopping.clone(), ..self.clone() };
        house.serve_network(listener, router);
        stopping
    }

    pub(crate) fn serve_local(&self, listener: UnixListener, router: &Router) {
        let owners = Entrance::new(router, &self.connections.owner, Door::Socket { owner: true });
        let strangers = Entrance::new(router, &self.connections.others, Door::Socket { owner: false });
        self.serve(Local { listener, owners, strangers });
    }

    fn serve(&self, arrivals: impl Arrivals) {
        let house = self.clone();
        self.tasks.spawn(async move { house.accept_all(arrivals).await });
    }

    async fn accept_all(&self, arrivals: impl Arrivals) {
        // A shortage is said once, not for as long as it lasts.
        let mut short = false;
        loop {
            let next = async {
                let (stream, peer, entrance) = arrivals.next().await?;
                Ok::<_, io::Error>(entrance.place().await.map(|place| (stream, peer, entrance, place)))
            };
            let arrived = tokio::select! {
                () = self.stopping.cancelled() => return,
                next = next => next,
            };
            match arrived {
                Ok(Some((stream, peer, entrance, place))) => {
                    short = false;
                    let (house, router) = (self.clone(), entrance.router.clone());
                    self.tasks.spawn(async move { house.connection(stream, peer, router, place).await });
                }
                Ok(None) => {
                    meters::refused(meters::NO_PLACE);
                    tracing::debug!("a connection is turned away: there is no place for it");
                }
                Err(error) if !is_shortage(&error) => tracing::debug!(%error, "a connection went before it was taken"),
                Err(error) => {
                    if !short {
                        tracing::warn!(%error, "no connection can be taken; it is tried again and again");
                    }
                    short = true;
                    tokio::select! {
                        () = self.stopping.cancelled() => return,
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
            }
        }
    }

    async fn connection<S>(&self, stream: S, peer: Option<Peer>, router: Router, place: Place)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let place = Arc::new(place);
        let router = TowerToHyperService::new(router);
        let service = service_fn(|mut request: hyper::Request<Incoming>| {
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            let begun = place.begin().map(|work| (work, router.call(request)));
            async {
                let Some((work, answer)) = begun else {
                    meters::refused(meters::CLOSING);
                    return Ok(Problem::closing().into_response());
                };
                answer.await.map(|response| work.until_written(response))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_headers(HEADERS_READ)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stopping.cancelled() => {
                // The request at work is answered, then the connection ends.
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = self.cut.cancelled() => return,
                }
            }
            () = place.has_to_go() => {
                if !place.has_served() {
                    return;
                }
                // What is still being written of the last answer has a moment.
                connection.as_mut().graceful_shutdown();
                tokio::time::timeout(PARTING, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke");
        }
    }
}

/// Whether the system has run out of something that every further connection needs.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error)
        .is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

fn is_owner(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|credentials| credentials.uid() == ours)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_client_that_went_away_is_no_shortage() {
        for (errno, short) in
            [(Errno::MFILE, true), (Errno::NFILE, true), (Errno::NOMEM, true), (Errno::CONNABORTED, false)]
        {
            assert_eq!(is_shortage(&io::Error::from(errno)), short, "{errno}");
        }
    }
}
