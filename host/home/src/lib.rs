//! The data folder of `homed`: where it is, and the unix socket in it.
//!
//! The daemon binds the socket and its clients connect to it; both find it here, and both get past the limit that the
//! system puts on the length of a socket's path.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The variable that names the data folder.
pub const HOME_VARIABLE: &str = "HOMEAGENT_HOME";

/// The longest path that an address of a unix socket can hold, in bytes; one more is needed for the closing zero.
const LONGEST_ADDRESS: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The data folder: `$HOMEAGENT_HOME`, else `homeagent` in the user's XDG data folder. `None` where neither that nor a
/// home folder of the user is known.
#[must_use]
pub fn default_home() -> Option<PathBuf> {
    resolve(|name| std::env::var_os(name))
}

/// Where the user keeps what is theirs and no daemon's, such as keys to sign with: `homeagent` in the XDG folder of
/// configurations. `None` where neither that nor a home folder of the user is known.
#[must_use]
pub fn config_folder() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .map(|config| config.join("homeagent"))
        .or_else(|| folder("HOME").map(|user| user.join(".config/homeagent")))
}

fn resolve(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder(HOME_VARIABLE)
        .or_else(|| {
            // The XDG specification has relative paths ignored.
            let data = folder("XDG_DATA_HOME").filter(|path| path.is_absolute());
            data.map(|data| data.join("homeagent"))
        })
        .or_else(|| folder("HOME").map(|user| user.join(".local/share/homeagent")))
}

/// The unix socket of the daemon whose data folder is `home`.
#[must_use]
pub fn socket_path(home: &Path) -> PathBuf {
    home.join("homed.sock")
}

/// Connects to the socket at `path`, however long that is.
///
/// # Errors
///
/// What the operating system says; [`io::ErrorKind::InvalidInput`] with a sentence where the path is too long and the
/// system has no way around it.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    with_short_path(path, |path| UnixStream::connect(path))
}

/// Binds a new socket at `path`, however long that is. The file must not exist.
///
/// # Errors
///
/// As for [`connect`].
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    with_short_path(path, |path| UnixListener::bind(path))
}

fn with_short_path<T>(path: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    work(ShortPath::new(path)?.path())
}

/// A path of a unix socket that an address can hold, for whoever binds and connects by other means than [`bind`] and
/// [`connect`].
#[derive(Debug)]
pub struct ShortPath {
    path: PathBuf,
    /// The open folder has a short name, which is valid until it is dropped.
    _folder: Option<File>,
}

impl ShortPath {
    /// A short one that leads where `path` does.
    ///
    /// # Errors
    ///
    /// As for [`connect`].
    pub fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_bytes().len() <= LONGEST_ADDRESS {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(too_long(path));
        };
        if !cfg!(target_os = "linux") || name.as_bytes().len() > 64 {
            return Err(too_long(path));
        }
        let folder = File::open(folder)?;
        let short = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder));
        Ok(Self { path: Path::new(&short).join(name), _folder: Some(folder) })
    }

    /// The path, as long as this lives.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn too_long(path: &Path) -> io::Error {
    let length = path.as_os_str().as_bytes().len();
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "the path {} has {length} bytes, and the path of a unix socket may have {LONGEST_ADDRESS}; choose a data \
             folder with a shorter path ({HOME_VARIABLE}, or --home)",
            path.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn the_variable_goes_before_xdg_and_xdg_before_the_users_home() {
        let with = |set: &[(&str, &str)]| {
            resolve(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let all = [("HOMEAGENT_HOME", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(with(&all), Some("/a".into()));
        assert_eq!(with(&all[1..]), Some("/x/homeagent".into()));
        assert_eq!(
            with(&[("XDG_DATA_HOME", "not/absolute"), ("HOME", "/h")]),
            Some("/h/.local/share/homeagent".into())
        );
        assert_eq!(with(&[("HOMEAGENT_HOME", ""), ("HOME", "/h")]), Some("/h/.local/share/homeagent".into()));
        assert_eq!(with(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_works_behind_a_path_that_no_address_can_hold() {
        let base = tempfile::tempdir().expect("a folder");
        let folder = base.path().join("长".repeat(50));
        std::fs::create_dir(&folder).expect("a folder with a long name");
        let path = socket_path(&folder);
        let listener = bind(&path).expect("bind");
        let mut client = connect(&path).expect("connect");
        client.write_all(b"x").expect("write");
        let (mut server, _) = listener.accept().expect("accept");
        let mut byte = [0];
        server.read_exact(&mut byte).expect("read");
        assert_eq!(&byte, b"x");
        assert!(path.exists());
    }
}
