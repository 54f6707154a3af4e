//! Plugins' own unix sockets, each in a folder of the plugin's below the data folder.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use homeagent_home::{ShortPath, bind};
use homeagent_types::ports::OwnSocket;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Inner;
use crate::slot::{Line, lock, unix};
use crate::wants::unix::UnixSocket;

/// How many clients one socket has at a time.
const MOST_CLIENTS: usize = 32;
/// How long after a failure a socket is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// How long nobody is let in where the system can't.
const BREATH: Duration = Duration::from_millis(100);

/// A plugin, and its listener.
type Key = (String, String);

/// The sockets of all plugins.
#[derive(Default)]
pub(super) struct UnixDoors {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    doors: BTreeMap<Key, Door>,
    /// Nothing more is to be opened.
    ended: bool,
}

struct Door {
    socket: UnixSocket,
    path: PathBuf,
    outcome: Result<Seat, String>,
}

/// A socket while it is listened on. Dropping it removes the file.
struct Seat {
    path: PathBuf,
    /// What file it is, by device and number: another that has its name by now stays.
    identity: (u64, u64),
    _serving: DropGuard,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|there| there == self.identity) {
            // If it is gone already, so much the better.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl UnixDoors {
    /// Closes all, for good.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        state.ended = true;
        state.doors.clear();
    }

    /// Closes what is wanted no more, and tells what is wanted and not open.
    fn missing(&self, wanted: BTreeMap<Key, UnixSocket>) -> Vec<(Key, UnixSocket)> {
        let mut state = lock(&self.state);
        state.doors.retain(|key, door| wanted.get(key) == Some(&door.socket));
        let is_open = |key: &Key| state.doors.get(key).is_some_and(|door| door.outcome.is_ok());
        wanted.into_iter().filter(|(key, _)| !is_open(key)).collect()
    }

    fn put(&self, (plugin, listener): Key, door: Door) {
        let mut state = lock(&self.state);
        if state.ended {
            return;
        }
        let before = state.doors.get(&(plugin.clone(), listener.clone()));
        let was = before.and_then(|door| door.outcome.as_ref().err());
        let path = door.path.display();
        match &door.outcome {
            Ok(_) => tracing::info!(plugin, listener, %path, "a plugin listens at a unix socket"),
            Err(error) if was != Some(error) => {
                tracing::warn!(plugin, listener, %path, error, "no unix socket for the plugin; it is tried again and again");
            }
            Err(_) => {}
        }
        state.doors.insert((plugin, listener), door);
    }

    /// For the plugins' status.
    fn told(&self) -> BTreeMap<String, Vec<OwnSocket>> {
        let mut told: BTreeMap<String, Vec<OwnSocket>> = BTreeMap::new();
        for ((plugin, listener), door) in &lock(&self.state).doors {
            told.entry(plugin.clone()).or_default().push(OwnSocket {
                listener: listener.clone(),
                path: door.path.display().to_string(),
                problem: door.outcome.as_ref().err().cloned(),
            });
        }
        told
    }

    fn has_failed(&self) -> bool {
        lock(&self.state).doors.values().any(|door| door.outcome.is_err())
    }
}

/// Keeps the sockets that plugins may have open, as that changes, until the runtime ends.
pub(super) async fn keep(inner: Weak<Inner>, mut changes: watch::Receiver<u64>) {
    loop {
        changes.mark_unchanged();
        // Not kept while nothing happens.
        let Some(now) = inner.upgrade() else { return };
        let registrations = &now.services.registrations;
        for (key, socket) in now.unix.missing(registrations.unix_sockets()) {
            let folder = now.services.local.home.join("sockets").join(&key.0);
            let path = folder.join(&socket.file);
            let outcome = match take(&folder, &path).await {
                Ok(listener) => seat(&inner, &key, &socket, &path, listener),
                Err(problem) => Err(problem),
            };
            now.unix.put(key, Door { socket, path, outcome });
        }
        registrations.note_sockets(now.unix.told());
        let failed = now.unix.has_failed();
        drop(now);
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(AGAIN), if failed => {}
        }
    }
}

/// Binds the socket, closed to others from its first moment, in the place of one that nobody listens on any more.
async fn take(folder: &Path, path: &Path) -> Result<UnixListener, String> {
    let why = |error: io::Error| format!("{} can't be listened on: {error}", path.display());
    for folder in folder.parent().into_iter().chain([folder]) {
        own(folder).map_err(why)?;
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(format!("{} is in the way: it is not a socket; move it elsewhere", path.display()));
        }
        Ok(_) => {
            let short = ShortPath::new(path).map_err(why)?;
            let answers = UnixStream::connect(short.path()).await;
            if !answers.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                return Err(format!("{} is taken: another program listens there", path.display()));
            }
        }
        Err(_) => {}
    }
    // Under a name that no socket can have until it is closed to others; renaming replaces a dead one in one step.
    let fresh = folder.join(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(why(error)),
        _ => {}
    }
    let bound = bind(&fresh).and_then(|listener| {
        fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        fs::rename(&fresh, path)?;
        UnixListener::from_std(listener)
    });
    bound.map_err(why)
}

/// Makes a folder that is the daemon's user's alone.
fn own(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is no folder", folder.display())));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

fn seat(
    inner: &Weak<Inner>,
    (plugin, listener): &Key,
    socket: &UnixSocket,
    path: &Path,
    bound: UnixListener,
) -> Result<Seat, String> {
    let identity = identity(path).map_err(|error| format!("{} is not there: {error}", path.display()))?;
    let end = CancellationToken::new();
    let door = Arc::new(Clients {
        inner: Weak::clone(inner),
        plugin: plugin.clone(),
        listener: listener.clone(),
        socket: socket.clone(),
        places: Arc::new(Semaphore::new(MOST_CLIENTS)),
    });
    tokio::spawn(accept(door, bound, end.clone()));
    Ok(Seat { path: path.to_owned(), identity, _serving: end.drop_guard() })
}

/// Who comes in at a socket.
struct Clients {
    inner: Weak<Inner>,
    plugin: String,
    listener: String,
    socket: UnixSocket,
    places: Arc<Semaphore>,
}

async fn accept(clients: Arc<Clients>, bound: UnixListener, end: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = end.cancelled() => return,
            accepted = bound.accept() => accepted,
        };
        match accepted {
            Ok((client, _)) => clients.take_in(client),
            Err(error) => {
                tracing::warn!(plugin = clients.plugin, listener = clients.listener, %error, "a client was not let in");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

impl Clients {
    /// Makes a connection of the slot's of a client; one for whom there is no place is let go.
    fn take_in(self: &Arc<Self>, client: UnixStream) {
        let Some(inner) = self.inner.upgrade() else { return };
        let Some(slot) = inner.slot(&self.plugin) else { return };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let (file, most) = (&self.socket.file, MOST_CLIENTS);
            slot.core.tell_owner(&format!("a client at the socket {file} was not let in: it has {most} already"));
            return;
        };
        let (line, services, clients) = (Line::clone(&slot), Arc::clone(&inner.services), Arc::clone(self));
        tokio::spawn(async move {
            let Clients { listener, socket, .. } = &*clients;
            unix::serve(line, services, listener, &socket.file, socket.framing, client).await;
            drop(place);
        });
    }
}
