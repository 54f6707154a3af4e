//! Unix sockets: a client of a plugin's own, and the way to somebody else's.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_home::{ShortPath, socket_path};
use homeagent_types::ports::Connection as _;
use homeagent_types::{CallError, Denial};
use tokio::net::UnixStream;

use super::relay::{Ending, Peer, relay};
use super::{Line, connection};
use crate::host::Outbound;
use crate::services::Services;
use crate::wants::unix::Framing;
use crate::wants::{ConnectWant, Want as _};

/// Carries frames between a client and the slot until one side has enough.
pub(crate) async fn serve(
    slot: Line,
    services: Arc<Services>,
    listener: &str,
    file: &str,
    framing: Framing,
    client: UnixStream,
) {
    let held = connection::open(slot, listener, None, vec![("file".to_owned(), file.to_owned())]);
    let ending: Ending = relay(Peer::Plain(Box::new(client)), &held, &services, framing == Framing::Lines).await;
    Box::new(held).closed(ending.reason()).await;
}

/// Connects to a socket that the package lists. An error is final when trying again would change nothing.
pub(super) async fn dial(outbound: &Outbound, path: &str) -> Result<UnixStream, (CallError, bool)> {
    outbound.socket_reach(path).map_err(|error| (error, true))?;
    let (home, asked) = (outbound.services.local.home.clone(), PathBuf::from(path));
    let looked = tokio::task::spawn_blocking(move || look(&home, &asked)).await;
    let failed = |error: io::Error| (CallError::Other(format!("no connection to {path}: {error}")), false);
    let short = match looked.map_err(io::Error::other).and_then(|looked| looked).map_err(failed)? {
        Found::Socket(short) => short,
        Found::OfTheDaemon => {
            let denial = Denial {
                capability: ConnectWant::CAPABILITY.to_owned(),
                attempt: format!("connecting to unix:{path}"),
                remedy: "the daemon's own folder and its socket are no plugin's to connect to".to_owned(),
            };
            return Err((CallError::Denied(denial), true));
        }
    };
    // Never waits for a place in the other side's queue: where there is none, the attempt fails.
    UnixStream::connect(short.path()).await.map_err(failed)
}

enum Found {
    Socket(ShortPath),
    OfTheDaemon,
}

/// Looks where a path leads by all its links, and what is there.
fn look(home: &Path, asked: &Path) -> io::Result<Found> {
    let path = asked.canonicalize()?;
    let found = path.metadata()?;
    // By another name it is the daemon's socket all the same.
    let is_its_socket =
        socket_path(home).metadata().is_ok_and(|socket| (socket.dev(), socket.ino()) == (found.dev(), found.ino()));
    if is_its_socket || path.starts_with(home.canonicalize()?) {
        return Ok(Found::OfTheDaemon);
    }
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a socket"));
    }
    ShortPath::new(&path).map(Found::Socket)
}
