//! The two listeners and their connections.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::guard::Door;

/// How many connections each listener holds at once; further ones wait.
const CONNECTIONS: usize = 256;

/// How long the head of a request may take to arrive, and how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(30);

/// How long to wait when the system is out of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// What the tasks of both listeners share.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) stopping: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// Where connections come from, each with the router that its door has.
trait Arrivals: Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Router)>> + Send;
}

/// Connections over TCP.
struct Network {
    listener: TcpListener,
    router: Router,
}

impl Arrivals for Network {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, Router)> {
        let (stream, _) = self.listener.accept().await?;
        // Small answers and pieces of streams go out at once.
        let _ = stream.set_nodelay(true);
        Ok((stream, self.router.clone()))
    }
}

/// Connections over the unix socket.
struct Local {
    listener: UnixListener,
    owners: Router,
    strangers: Router,
}

impl Arrivals for Local {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Router)> {
        let (stream, _) = self.listener.accept().await?;
        let router = if is_owner(&stream) { &self.owners } else { &self.strangers };
        let router = router.clone();
        Ok((stream, router))
    }
}

impl House {
    pub(crate) fn serve_network(&self, listener: TcpListener, router: &Router) {
        let router = router.clone().layer(Extension(Door::Network));
        self.serve(Network { listener, router });
    }

    pub(crate) fn serve_local(&self, listener: UnixListener, router: &Router) {
        let door = |owner| router.clone().layer(Extension(Door::Socket { owner }));
        self.serve(Local { listener, owners: door(true), strangers: door(false) });
    }

    fn serve(&self, arrivals: impl Arrivals) {
        let house = self.clone();
        self.tasks.spawn(async move { house.accept_all(arrivals).await });
    }

    async fn accept_all(&self, arrivals: impl Arrivals) {
        let seats = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let next = async {
                // The semaphore is never closed.
                let seat = Arc::clone(&seats).acquire_owned().await.ok();
                (seat, arrivals.next().await)
            };
            let (seat, arrived) = tokio::select! {
                () = self.stopping.cancelled() => return,
                next = next => next,
            };
            match arrived {
                Ok((stream, router)) => {
                    let house = self.clone();
                    self.tasks.spawn(async move { house.connection(stream, router, seat).await });
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::select! {
                        () = self.stopping.cancelled() => return,
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
            }
        }
    }

    async fn connection<S>(&self, stream: S, router: Router, _seat: Option<OwnedSemaphorePermit>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stopping.cancelled() => {
                // The request at work is answered, then the connection ends.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke");
        }
    }
}

fn is_owner(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|credentials| credentials.uid() == ours)
}
