//! `knowledge.db`: what the files hold, cut up, with the words and the vectors under which it is found. It is an index and
//! nothing more: where it is damaged it is set aside and made anew.

mod chunks;
mod lookup;
mod vectors;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use homeagent_language::text::LEXICON;
use homeagent_settings::{Database, DatabaseError};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::folder::{Digest, Stamp};
use crate::front::Front;
use crate::{Circle, Name};

pub(crate) use self::chunks::NewChunk;
pub(crate) use self::lookup::Stored;
pub(crate) use self::vectors::StoredVector;

const MIGRATIONS: &[&str] = &["
-- What holds for the whole index, such as the version of the terms it was fed with.
CREATE TABLE traits (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE bases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    circle TEXT NOT NULL,
    title TEXT,
    description TEXT,
    source TEXT,
    bytes INTEGER NOT NULL,          -- of the file
    modified INTEGER NOT NULL,       -- the file's own time, in nanoseconds
    digest BLOB NOT NULL,            -- the SHA-256 of the file
    problem TEXT                     -- why it is not, or not wholly, in the index
) STRICT;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    base INTEGER NOT NULL REFERENCES bases (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,       -- in the file, from 0
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    start INTEGER NOT NULL,          -- its first byte in the file's text
    headings TEXT NOT NULL,          -- a JSON list, the outermost first
    lead TEXT,                       -- the head of the table it was cut from
    text TEXT NOT NULL,
    digest BLOB NOT NULL             -- of headings, lead and text: what stays the same keeps its vector
) STRICT;
CREATE INDEX chunks_by_place ON chunks (base, position);
-- Terms, not text: they are put together by the language's own rules, and nothing but them is kept.
CREATE VIRTUAL TABLE chunk_terms USING fts5(
    headings, body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);
CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    model INTEGER NOT NULL REFERENCES models (id),
    scale REAL NOT NULL,
    steps BLOB NOT NULL              -- a signed byte for each dimension
) STRICT;
CREATE INDEX vectors_by_model ON vectors (model);
"];

/// A base as it stands in the index.
#[derive(Clone, Debug)]
pub(crate) struct BaseRow {
    pub(crate) id: i64,
    pub(crate) name: Name,
    pub(crate) circle: Circle,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) stamp: Stamp,
    pub(crate) digest: Option<Digest>,
    pub(crate) problem: Option<String>,
}

impl BaseRow {
    /// What tells its text from others.
    pub(crate) fn version(&self) -> String {
        self.digest.as_ref().map(version).unwrap_or_default()
    }
}

/// The first digits of a digest.
pub(crate) fn version(digest: &Digest) -> String {
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The index. Reading does not wait for writing.
pub(crate) struct Index {
    path: PathBuf,
    /// Another one after it was set aside.
    database: RwLock<Database>,
    /// Connections that only read and are not at work.
    readers: Mutex<Vec<Connection>>,
    /// How often an index was set aside: a connection to one that was is of no more use.
    changed: AtomicU64,
}

impl Index {
    /// Opens the index in the home folder. One that can't be read is set aside, and an empty one takes its place.
    pub(crate) fn open(home: &Path) -> Result<Self, DatabaseError> {
        let path = home.join("knowledge.db");
        let database = match open(&path) {
            Err(error) if is_spoilt(&error) => {
                set_aside(&path, &error);
                open(&path)
            }
            database => database,
        }?;
        Ok(Self { path, database: RwLock::new(database), readers: Mutex::default(), changed: AtomicU64::new(0) })
    }

    /// Sets a damaged index aside and begins an empty one. Whether that was done: any other error is no damage.
    pub(crate) fn begin_anew(&self, error: &DatabaseError) -> Result<bool, DatabaseError> {
        if !is_spoilt(error) {
            return Ok(false);
        }
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        self.changed.fetch_add(1, Ordering::SeqCst);
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        set_aside(&self.path, error);
        *database = open(&self.path)?;
        Ok(true)
    }

    /// What is damaged in the file: the first finding, as a sentence.
    pub(crate) fn damage(&self) -> Result<Option<String>, DatabaseError> {
        Ok(self.database().damage()?.into_iter().next())
    }

    /// An error as a damaged file gives it.
    pub(crate) fn damaged(&self, words: String) -> DatabaseError {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        self.database().error("looking for damage", rusqlite::Error::SqliteFailure(code, Some(words)))
    }

    fn database(&self) -> Database {
        self.database.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let before = self.changed.load(Ordering::SeqCst);
        let database = self.database();
        let free = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match free {
            Some(connection) => connection,
            None => database.reader()?,
        };
        let answer = work(&connection).map_err(|error| database.error(doing, error))?;
        if self.changed.load(Ordering::SeqCst) == before {
            self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        Ok(answer)
    }

    /// All bases, sorted by name.
    pub(crate) fn bases(&self) -> Result<Vec<BaseRow>, DatabaseError> {
        self.read("reading the list of knowledge bases", |connection| {
            let sql = "SELECT id, name, circle, title, description, source, bytes, modified, digest, problem FROM bases \
                       ORDER BY name";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([], base)?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(rows.into_iter().flatten().collect())
        })
    }

    /// Notes how the file of a base looks from outside, that holds what is indexed.
    pub(crate) fn touch(&self, name: &Name, stamp: Stamp) -> Result<(), DatabaseError> {
        self.database().write("noting that a text is unchanged", |transaction| {
            let sql = "UPDATE bases SET bytes = ?2, modified = ?3 WHERE name = ?1";
            transaction.execute(sql, params![name.as_str(), signed(stamp.bytes), stamp.modified]).map(drop)
        })
    }

    /// Notes why the text of a base can't be read. What is in the index of it stays, but nobody finds what is in a file
    /// that became too large: that is taken out.
    pub(crate) fn fail(&self, name: &Name, problem: &str, stamp: Option<Stamp>) -> Result<Vec<i64>, DatabaseError> {
        self.database().write("noting why a text is not indexed", |transaction| {
            let stamp_or_none = stamp.unwrap_or(Stamp { bytes: 0, modified: 0 });
            let sql = "INSERT INTO bases (name, circle, bytes, modified, digest, problem) VALUES (?1, 'owner', ?2, ?3, x'', ?4)
                       ON CONFLICT (name) DO UPDATE SET problem = excluded.problem";
            let row = params![name.as_str(), signed(stamp_or_none.bytes), stamp_or_none.modified, problem];
            transaction.execute(sql, row)?;
            let Some(stamp) = stamp else { return Ok(Vec::new()) };
            let sql = "UPDATE bases SET bytes = ?2, modified = ?3, digest = x'' WHERE name = ?1";
            transaction.execute(sql, params![name.as_str(), signed(stamp.bytes), stamp.modified])?;
            chunks::remove_all(transaction, name)
        })
    }

    /// Forgets a base. The chunks it had. What was deleted is overwritten, also where the index keeps its terms.
    pub(crate) fn forget(&self, name: &Name) -> Result<Vec<i64>, DatabaseError> {
        let gone = self.database().write("forgetting a knowledge base", |transaction| {
            let gone = chunks::remove_all(transaction, name)?;
            transaction.execute("DELETE FROM bases WHERE name = ?1", [name.as_str()])?;
            Ok(gone)
        })?;
        if !gone.is_empty() {
            self.sweep()?;
        }
        Ok(gone)
    }

    /// Forgets what the texts of one base, or of all, were like, so that they are read anew.
    pub(crate) fn doubt(&self, name: Option<&Name>) -> Result<(), DatabaseError> {
        self.database().write("forgetting what was indexed", |transaction| {
            let name = name.map(Name::as_str);
            let gone = "SELECT c.id FROM chunks c JOIN bases b ON b.id = c.base WHERE ?1 IS NULL OR b.name = ?1";
            transaction.execute(&format!("DELETE FROM chunk_terms WHERE rowid IN ({gone})"), [name])?;
            transaction.execute(&format!("DELETE FROM chunks WHERE id IN ({gone})"), [name])?;
            transaction.execute("UPDATE bases SET digest = x'', modified = 0 WHERE ?1 IS NULL OR name = ?1", [name])?;
            Ok(())
        })
    }

    /// Overwrites the terms of what was deleted, which stay in their table until it is put in order, and what the log of
    /// the database has of it.
    pub(crate) fn sweep(&self) -> Result<(), DatabaseError> {
        self.database().write("putting the terms in order", |transaction| {
            transaction.execute("INSERT INTO chunk_terms (chunk_terms) VALUES ('optimize')", []).map(drop)
        })?;
        self.settle()
    }

    /// Puts what is in the log of the database into the database, and empties the log.
    pub(crate) fn settle(&self) -> Result<(), DatabaseError> {
        self.database().read("emptying the log of the knowledge index", |connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }
}

fn open(path: &Path) -> Result<Database, DatabaseError> {
    let database = Database::open(path)?;
    database.migrate("knowledge", MIGRATIONS)?;
    let lexicon = LEXICON.to_string();
    database.write("looking with which terms the knowledge index was fed", |transaction| {
        let sql = "SELECT value FROM traits WHERE key = 'lexicon'";
        let fed: Option<String> = transaction.query_row(sql, [], |row| row.get(0)).optional()?;
        if fed.as_ref() == Some(&lexicon) {
            return Ok(());
        }
        for table in ["chunk_terms", "chunks", "bases"] {
            transaction.execute(&format!("DELETE FROM {table}"), [])?;
        }
        let sql = "INSERT INTO traits (key, value) VALUES ('lexicon', ?1)
                   ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        transaction.execute(sql, [&lexicon]).map(drop)
    })?;
    Ok(database)
}

/// Whether an index is no more of use: the files have all that is in it.
fn is_spoilt(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::Damaged { .. } | DatabaseError::Newer { .. } | DatabaseError::Migration { .. })
}

fn set_aside(path: &Path, error: &DatabaseError) {
    tracing::warn!(%error, "the index of the knowledge base is set aside and made anew; nothing of the texts is lost");
    for end in ["", "-wal", "-shm"] {
        let named = |more: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(more);
            PathBuf::from(name)
        };
        // One of them at a time: the next damage takes the place of this one.
        let _ = std::fs::rename(named(end), named(&format!(".damaged{end}")));
    }
}

fn base(row: &Row<'_>) -> rusqlite::Result<Option<BaseRow>> {
    let (name, circle): (String, String) = (row.get(1)?, row.get(2)?);
    let digest: Vec<u8> = row.get(8)?;
    let Ok(name) = Name::parse(&name) else { return Ok(None) };
    Ok(Some(BaseRow {
        id: row.get(0)?,
        name,
        circle: Circle::parse(&circle).unwrap_or(Circle::Owner),
        title: row.get(3)?,
        description: row.get(4)?,
        source: row.get(5)?,
        stamp: Stamp { bytes: row.get::<_, i64>(6)?.unsigned_abs(), modified: row.get(7)? },
        digest: digest.try_into().ok(),
        problem: row.get(9)?,
    }))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A base as it is to stand in the index.
pub(crate) struct NewBase<'a> {
    pub(crate) name: &'a Name,
    pub(crate) front: &'a Front,
    pub(crate) stamp: Stamp,
    pub(crate) digest: &'a Digest,
    pub(crate) problem: Option<&'a str>,
}
