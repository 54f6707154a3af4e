//! What can go wrong with the database, sorted by what a user can do about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

/// An error of the database. Each names the file and, where there is something to do, what. Cloning is cheap: one
/// failed commit is reported to everyone who had a part in it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The file or its folder could not be made or opened.
    #[error("{doing} {path} failed: {source}; check that the folder exists and belongs to you", path = path.display())]
    File {
        /// The database file.
        path: PathBuf,
        /// What was being done to it.
        doing: &'static str,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// The file is no SQLite database, or parts of it are unreadable.
    #[error(
        "the database {path} is damaged ({source}, while {doing}); stop the daemon, move the file away together with \
         its -wal and -shm files, and put a backup in its place",
        path = path.display()
    )]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// A newer program wrote this component's tables.
    #[error(
        "the {component} tables in {path} have version {found}, and this program knows versions up to {known}; start \
         the newer program that wrote them, or restore a backup from before the upgrade",
        path = path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// Whose tables.
        component: String,
        /// The version in the file.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// A migration failed; the tables are as they were before.
    #[error(
        "bringing the {component} tables in {path} from version {from} to {to} failed, nothing was changed: {source}",
        path = path.display()
    )]
    Migration {
        /// The database file.
        path: PathBuf,
        /// Whose tables.
        component: String,
        /// The version in the file.
        from: u32,
        /// The version that could not be reached.
        to: u32,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The file system can't share memory between connections.
    #[error(
        "the database {path} can't use a write-ahead log (SQLite chose \"{mode}\"); put the home folder on a local \
         file system",
        path = path.display()
    )]
    WriteAheadLog {
        /// The database file.
        path: PathBuf,
        /// The journal mode SQLite chose instead.
        mode: String,
    },
    /// There is no room left. Nothing of the failed transaction was kept.
    #[error("{doing} failed: the disk that holds {path} is full; free some space, nothing was lost", path = path.display())]
    DiskFull {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The disk refuses to write or read: it turned read-only or is failing, or a quota or a file-size limit is reached.
    #[error(
        "{doing} failed: the disk that holds {path} does not write or read it ({source}); see whether it turned \
         read-only, whether a quota is used up, and what the system's log says of it",
        path = path.display()
    )]
    Disk {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The file may not be written.
    #[error(
        "{doing} failed: {path} is read-only; check the permissions of the file and its folder, and that the disk is \
         mounted for writing",
        path = path.display()
    )]
    ReadOnly {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// Another program held the lock for too long.
    #[error(
        "{doing} failed: another program keeps {path} locked; is a second daemon or a database tool using it?",
        path = path.display()
    )]
    Busy {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// Anything else SQLite answers.
    #[error("{doing} failed in {path}: {source}", path = path.display())]
    Statement {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
}

impl DatabaseError {
    pub(super) fn from_sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let code = source.sqlite_error_code();
        let (path, source) = (path.to_path_buf(), Arc::new(source));
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, doing, source },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path, doing, source },
            Some(ErrorCode::SystemIoFailure) => Self::Disk { path, doing, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path, doing, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path, doing, source },
            _ => Self::Statement { path, doing, source },
        }
    }
}
