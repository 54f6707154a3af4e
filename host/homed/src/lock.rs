//! One daemon a home: a lock on a file that holds the daemon's process id.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Held for as long as the daemon runs. The system lets go of it when the process ends, however that happens.
#[derive(Debug)]
pub(crate) struct HomeLock {
    _file: File,
}

/// The home can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// A daemon runs on it.
    #[error("homed runs on {home} already{whom}", home = home.display(), whom = whom(pid.as_deref()))]
    Taken {
        /// The data folder.
        home: PathBuf,
        /// The daemon's process, where it has written it down.
        pid: Option<String>,
    },
    /// The lock's file.
    #[error("{path} can't be used: {source}; see that the home folder belongs to you, is writable and has room", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

fn whom(pid: Option<&str>) -> String {
    match pid {
        Some(pid) => format!(" (process {pid}); talk to it with waiter, or stop it with: kill {pid}"),
        None => "; talk to it with waiter, whose status names its process".to_owned(),
    }
}

impl HomeLock {
    pub(crate) fn take(home: &Path) -> Result<Self, LockError> {
        let path = home.join("homed.lock");
        let failed = |source| LockError::File { path: path.clone(), source };
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(failed)?;
                let pid = pid.trim();
                // The other one has the lock and may not have written its number yet.
                let pid = (!pid.is_empty()).then(|| pid.to_owned());
                return Err(LockError::Taken { home: home.to_owned(), pid });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_second_daemon_is_told_the_first_ones_number_and_gets_the_home_after_it() {
        let home = tempfile::tempdir().expect("a folder");
        let first = HomeLock::take(home.path()).expect("nobody has it");
        let refused = HomeLock::take(home.path()).expect_err("the first has it").to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        fs::write(home.path().join("homed.lock"), "").expect("it is ours");
        let refused = HomeLock::take(home.path()).expect_err("the first has it").to_string();
        assert!(refused.contains("waiter") && !refused.contains("kill"), "{refused}");
        drop(first);
        HomeLock::take(home.path()).expect("the first is gone");
    }
}
