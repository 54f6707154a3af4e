//! The unix socket in the data folder.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use homeagent_home::{bind, connect, socket_path};
use tokio::net::UnixListener;

/// The socket while this daemon serves on it. Dropping it removes the file.
pub(crate) struct Seat {
    path: PathBuf,
}

/// Why there is no unix socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// A daemon serves this data folder.
    #[error(
        "another homed serves {home} already; stop it first, or give this one a data folder of its own with --home",
        home = home.display()
    )]
    Taken {
        /// The data folder.
        home: PathBuf,
    },
    /// Something that is no socket has the name.
    #[error("{path} is in the way: it is not a socket; move it elsewhere", path = path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refuses.
    #[error("{doing} {path} failed: {source}; check that the data folder belongs to you and is on a local file system", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Makes the socket, closed to others from its first moment, in the place of one that a dead daemon left behind.
pub(crate) fn take(home: &Path) -> Result<(UnixListener, Seat), SocketError> {
    let path = socket_path(home);
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.file_type().is_socket() => return Err(SocketError::InTheWay { path }),
        // The daemon locks its data folder before it comes here, so somebody who answers is no daemon that knows of the
        // lock; whoever it is, its socket is not ours to take.
        Ok(_) if connect(&path).is_ok() => {
            return Err(SocketError::Taken { home: home.to_path_buf() });
        }
        Ok(_) => {
            tracing::info!(path = %path.display(), "removing the socket of a daemon that is gone");
        }
        Err(_) => {}
    }
    // Under a name of its own until it is closed to others; renaming replaces the stale one in one step.
    let fresh = path.with_extension("new");
    let listener = bind_closed(&fresh)
        .and_then(|listener| fs::rename(&fresh, &path).map_err(refused("renaming", &fresh)).map(|()| listener))?;
    let seat = Seat { path };
    Ok((listener, seat))
}

fn bind_closed(path: &Path) -> Result<UnixListener, SocketError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(refused("removing", path)(error));
        }
        _ => {}
    }
    let listener = bind(path).map_err(refused("binding", path))?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused("closing to others", path))?;
    listener
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(listener))
        .map_err(refused("listening on", path))
}

fn refused(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SocketError + use<> {
    let path = path.to_path_buf();
    move |source| SocketError::Refused { path, doing, source }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        let _ = fs::remove_file(&self.path);
    }
}
