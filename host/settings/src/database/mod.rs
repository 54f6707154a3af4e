//! The SQLite file: how it is opened, who may read it, and the schema version of each component in it.

mod damage;
mod error;
mod migrate;

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, Transaction, TransactionBehavior};
use rustix::fs::{Access, access};
use rustix::io::Errno;

pub use error::DatabaseError;

/// How long a statement waits for another writer before it fails with [`DatabaseError::Busy`].
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A write-ahead log above this size is cut back at the next checkpoint, so that one burst does not keep the space.
const JOURNAL_SIZE_LIMIT: i64 = 64 * 1024 * 1024;

/// The daemon's database, `homeagent.db` in the home folder. Clones share one connection.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// Serves the small stores of this crate. Whoever writes a lot (the journal) takes a connection of its own.
    connection: Mutex<Connection>,
    /// The stores are opened before there is a log, since how much is logged stands in one of them.
    remarks: Mutex<Vec<String>>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Database {
    /// Opens the database at `path`, creating it (0600) and its folder (0700) where they are missing. A file that
    /// others may read is closed to them.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Damaged`] when the file is no SQLite database, [`DatabaseError::File`] when it or its folder
    /// can't be made, [`DatabaseError::WriteAheadLog`] on a file system without shared memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DatabaseError> {
        let path = path.as_ref().to_path_buf();
        let mode = prepare_file(&path)?;
        let connection = Mutex::new(connect_writer(&path)?);
        let database = Self { shared: Arc::new(Shared { path, connection, remarks: Mutex::default() }) };
        if let Some(mode) = mode {
            let path = database.path().display();
            database
                .remark(format!("the database {path} was open to others (mode {mode:o}) and is closed to them now"));
        }
        migrate::prepare(&database)?;
        Ok(database)
    }

    /// The file this database lives in.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Brings the tables of `component` up to date: runs those of `migrations` (SQL scripts, version 1 first) that
    /// have not been run yet, all in one transaction.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Newer`] when the file was written by a program that knows more migrations; any other error
    /// leaves the old version untouched.
    pub fn migrate(&self, component: &str, migrations: &[&str]) -> Result<(), DatabaseError> {
        migrate::run(self, component, migrations)
    }

    /// Reads with the shared connection. `doing` says in a few words what for, and starts the error's sentence.
    ///
    /// # Errors
    ///
    /// What SQLite answered, sorted by what a user can do about it.
    pub fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        work(&self.lock()).map_err(|source| self.error(doing, source))
    }

    /// Reads rows one by one. One that holds what can't be is left out with a remark, and so is kept from nobody else:
    /// it stays in the file as it is. `what` names such a row in a few words, `remedy` says what to do about it.
    pub(crate) fn read_rows<T>(
        &self,
        doing: &'static str,
        sql: &str,
        (what, remedy): (&str, &str),
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, DatabaseError> {
        let (whole, damaged) = self.read(doing, |connection| {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            let (mut whole, mut damaged) = (Vec::new(), Vec::new());
            while let Some(row) = rows.next()? {
                match read(row) {
                    Ok(value) => whole.push(value),
                    Err(error) => damaged.push(error),
                }
            }
            Ok((whole, damaged))
        })?;
        for error in damaged {
            self.remark(format!("{what} in {} is damaged and not used ({error}); {remedy}", self.path().display()));
        }
        Ok(whole)
    }

    /// Notes, in a sentence, what was found while a store was opened.
    pub(crate) fn remark(&self, sentence: String) {
        self.shared.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
    }

    /// What was found while the stores were opened, such as rows that are damaged: sentences for the log, each once.
    #[must_use]
    pub fn take_remarks(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes with the shared connection in one transaction, which is on the disk when this returns. When `work`
    /// fails nothing of it stays.
    ///
    /// # Errors
    ///
    /// As for [`Database::read`].
    pub fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let mut connection = self.lock();
        let run = || {
            // Immediate: a transaction that reads first and writes later can't wait for the lock, it would just fail.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = work(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        run().map_err(|source| self.error(doing, source))
    }

    /// A further connection that may write, for a component with a writer of its own.
    ///
    /// # Errors
    ///
    /// As for [`Database::open`].
    pub fn writer(&self) -> Result<Connection, DatabaseError> {
        connect_writer(&self.shared.path)
    }

    /// A further connection that can't write. It sees what was committed when its statement began.
    ///
    /// # Errors
    ///
    /// As for [`Database::open`].
    pub fn reader(&self) -> Result<Connection, DatabaseError> {
        let path = &self.shared.path;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            keep_plans(&connection)?;
            Ok(connection)
        };
        open().map_err(|source| self.error("opening the database to read", source))
    }

    /// Turns an answer of SQLite, got on any connection to this file, into an error that names the file and what to
    /// do. `doing` says in a few words what was being done.
    #[must_use]
    pub fn error(&self, doing: &'static str, source: rusqlite::Error) -> DatabaseError {
        DatabaseError::from_sqlite(&self.shared.path, doing, source)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic in someone's closure rolled its transaction back, so the connection is still good.
        self.shared.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// SQLite gives its side files the permissions of the main one, so that one is made first, and closed to others. Returns
/// the permissions it had, where others had some.
///
/// A file that is there is not opened: closing it would take away the locks that other connections of this process hold, and
/// another program that looks at the file would then take it for one that nobody uses, and remove its write-ahead log.
fn prepare_file(path: &Path) -> Result<Option<u32>, DatabaseError> {
    let failed =
        |doing| move |source| DatabaseError::File { path: path.to_path_buf(), doing, source: Arc::new(source) };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("making the folder of"))?;
    }
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut new = OpenOptions::new();
            new.read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(path)
                .map_err(failed("opening"))?;
            return Ok(None);
        }
        Err(error) => return Err(failed("examining")(error)),
    };
    let usable = if about.is_dir() { Err(Errno::ISDIR) } else { access(path, Access::READ_OK | Access::WRITE_OK) };
    usable.map_err(io::Error::from).map_err(failed("opening"))?;
    let mode = about.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(None);
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed("closing to others"))?;
    Ok(Some(mode & 0o777))
}

/// Prepared statements stay so. Otherwise SQLite plans a statement anew for each `LIMIT ?`, and for each value that it compares
/// with the condition of a partial index, which takes far longer than most statements run; without the figures of `ANALYZE`
/// the plan comes out the same.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

fn connect_writer(path: &Path) -> Result<Connection, DatabaseError> {
    let doing = "opening the database";
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        keep_plans(&connection)?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
        // A commit is on the disk when it returns: the journal promises as much for each event.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // What is deleted is overwritten, so that it can't be read from free pages.
        connection.pragma_update_and_check(None, "secure_delete", true, |row| row.get::<_, i64>(0)).map(drop)?;
        connection
            .pragma_update_and_check(None, "journal_size_limit", JOURNAL_SIZE_LIMIT, |row| row.get::<_, i64>(0))
            .map(drop)?;
        Ok((connection, mode))
    };
    let (connection, mode) = open().map_err(|source| DatabaseError::from_sqlite(path, doing, source))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(DatabaseError::WriteAheadLog { path: path.to_path_buf(), mode });
    }
    Ok(connection)
}
