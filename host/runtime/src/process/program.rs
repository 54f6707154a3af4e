//! Which files may be run.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use homeagent_types::CallError;

/// Fails for what must not be run: what is no program, what runs with other rights than the daemon's, and what lies where
/// plugins write. Waits for the disk.
pub(crate) fn check(program: &str, home: &Path, writable: &[PathBuf]) -> Result<(), CallError> {
    let refuse = |reason: &str| Err(CallError::Conflict(format!("{program} {reason}")));
    let path = match std::fs::canonicalize(program) {
        Ok(path) => path,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(CallError::NotFound(format!("there is no program {program} on this machine")));
        }
        Err(error) => return Err(CallError::Other(format!("{program}: {error}"))),
    };
    let about = std::fs::metadata(&path).map_err(|error| CallError::Other(format!("{program}: {error}")))?;
    let mode = about.permissions().mode();
    if !about.is_file() || mode & 0o111 == 0 {
        return refuse("is no program: it is not a file that may be executed");
    }
    if mode & 0o6000 != 0 {
        return refuse("runs with the rights of somebody else (setuid or setgid), which no plugin may have");
    }
    if mode & 0o002 != 0 {
        return refuse("may be written by anyone, so nobody knows what it does");
    }
    let own = std::iter::once(home).chain(writable.iter().map(PathBuf::as_path));
    let own = own.filter_map(|folder| std::fs::canonicalize(folder).ok());
    if own.into_iter().any(|folder| path.starts_with(folder)) {
        return refuse("lies where plugins write, so it could be a program of their own making");
    }
    if about.nlink() == 0 { refuse("is gone") } else { Ok(()) }
}
