//! The configured LLM endpoints, in the order in which they are tried.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use homeagent_types::model::SourceLine;

use crate::database::{Database, DatabaseError};
use crate::source_change::SourceChange;

const MIGRATIONS: &[&str] = &["CREATE TABLE sources (
    name TEXT PRIMARY KEY,
    line TEXT NOT NULL,
    adapter TEXT NOT NULL,
    base_url TEXT NOT NULL,
    model TEXT NOT NULL,
    secret TEXT,             -- the name of a secret, never its text
    options TEXT NOT NULL,   -- JSON: text to text
    position INTEGER NOT NULL,
    enabled INTEGER NOT NULL
) STRICT, WITHOUT ROWID;"];

/// What no source can be called: its address in the API is another's.
const RESERVED: &str = "offers";

/// A configured endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceRecord {
    /// What the user calls it.
    pub name: String,
    /// What it is asked for.
    pub line: SourceLine,
    /// The name of the adapter component that speaks its protocol.
    pub adapter: String,
    /// Where its API begins.
    pub base_url: String,
    /// The model to ask for.
    pub model: String,
    /// The name of the secret that holds its key.
    #[serde(default)]
    pub secret: Option<String>,
    /// Further options, handed to the adapter.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Its place in the line; the lowest is tried first. Adding a source chooses it.
    #[serde(default)]
    pub position: i64,
    /// Whether it is tried at all.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

fn enabled() -> bool {
    true
}

impl SourceRecord {
    /// The name of the secret that holds the key of the source of this name.
    #[must_use]
    pub fn key_secret(source: &str) -> String {
        format!("source.{source}.key")
    }

    /// Whether it can be kept as it is: [`Sources::add`] looks at the same.
    ///
    /// # Errors
    ///
    /// [`SourceError::BadField`]: a field that is empty, or has blanks or control characters in it;
    /// [`SourceError::Reserved`].
    pub fn check(&self) -> Result<(), SourceError> {
        if self.name == RESERVED {
            return Err(SourceError::Reserved { name: self.name.clone() });
        }
        let fields =
            [("name", &self.name), ("adapter", &self.adapter), ("base URL", &self.base_url), ("model", &self.model)];
        for (field, text) in fields {
            if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
                return Err(SourceError::BadField { name: self.name.clone(), field });
            }
        }
        Ok(())
    }
}

/// An error of the sources.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No source has that name.
    #[error("there is no source \"{name}\"; configured are: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A field can't be used.
    #[error("the source \"{name}\" can't be added: its {field} is empty or has spaces or control characters")]
    BadField {
        /// The source's name.
        name: String,
        /// Which field.
        field: &'static str,
    },
    /// An option can't be used.
    #[error("the source \"{name}\" can't be changed: its option \"{option}\" has to be {wanted}")]
    BadOption {
        /// The source's name.
        name: String,
        /// Which option.
        option: String,
        /// What it can be.
        wanted: &'static str,
    },
    /// A source of that name is there.
    #[error("there is a source \"{name}\" already")]
    Exists {
        /// The name.
        name: String,
    },
    /// The API uses the name for something else.
    #[error("a source can't be called \"{name}\": that is the name of those that are found; choose another")]
    Reserved {
        /// The name.
        name: String,
    },
    /// The database failed; the sources are as they were.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The sources. Clones share them.
#[derive(Clone)]
pub struct Sources {
    database: Database,
    /// Sorted by line and position. Replaced as a whole under `writing`.
    known: Arc<RwLock<Arc<[SourceRecord]>>>,
    writing: Arc<Mutex<()>>,
}

impl Sources {
    /// Reads all sources. One whose row is damaged is left out: see [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, SourceError> {
        database.migrate("sources", MIGRATIONS)?;
        let (known, damaged) = database.read("reading the sources", read_all)?;
        for sentence in damaged {
            database.remark(sentence);
        }
        Ok(Self { database: database.clone(), known: Arc::new(RwLock::new(known.into())), writing: Arc::default() })
    }

    /// Adds a source at the end of its line, or replaces the one of its name, which keeps its place unless it changes
    /// lines. `record.position` is not looked at.
    ///
    /// # Errors
    ///
    /// Those of [`SourceRecord::check`], and what the database answers.
    pub fn add(&self, record: &SourceRecord) -> Result<(), SourceError> {
        self.insert(record, "REPLACE").map(drop)
    }

    /// Adds a source at the end of its line. `record.position` is not looked at.
    ///
    /// # Errors
    ///
    /// [`SourceError::Exists`], which leaves the one that is there as it is; else as for [`Sources::add`].
    pub fn add_new(&self, record: &SourceRecord) -> Result<(), SourceError> {
        match self.insert(record, "IGNORE")? {
            0 => Err(SourceError::Exists { name: record.name.clone() }),
            _ => Ok(()),
        }
    }

    fn insert(&self, record: &SourceRecord, on_conflict: &str) -> Result<usize, SourceError> {
        record.check()?;
        let place = "SELECT COALESCE(
            (SELECT position FROM sources WHERE name = ?1 AND line = ?2),
            (SELECT MAX(position) + 1 FROM sources WHERE line = ?2),
            0)";
        let write = |connection: &Connection| {
            let position: i64 = connection.query_row(place, [&record.name, record.line.as_str()], |row| row.get(0))?;
            let sql = format!(
                "INSERT OR {on_conflict} INTO sources
                 (name, line, adapter, base_url, model, secret, options, position, enabled)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
            );
            connection.execute(
                &sql,
                params![
                    record.name,
                    record.line.as_str(),
                    record.adapter,
                    record.base_url,
                    record.model,
                    record.secret,
                    options_text(record),
                    position,
                    record.enabled,
                ],
            )
        };
        self.change("adding a source", &record.name, write)
    }

    /// Removes a source; its secret stays.
    ///
    /// # Errors
    ///
    /// [`SourceError::Unknown`], and what the database answers.
    pub fn remove(&self, name: &str) -> Result<(), SourceError> {
        self.change_known("removing a source", name, "DELETE FROM sources WHERE name = ?1")
    }

    /// Moves a source to the front of its line and enables it.
    ///
    /// # Errors
    ///
    /// As for [`Sources::remove`].
    pub fn use_first(&self, name: &str) -> Result<(), SourceError> {
        let sql = "UPDATE sources SET enabled = 1, position =
            (SELECT MIN(other.position) - 1 FROM sources AS other WHERE other.line = sources.line) WHERE name = ?1";
        self.change_known("moving a source to the front", name, sql)
    }

    /// Changes a source, and returns it as it is now.
    ///
    /// # Errors
    ///
    /// [`SourceError::Unknown`]; [`SourceError::BadOption`] and those of [`SourceRecord::check`], which leave it as it is;
    /// and what the database answers.
    pub fn edit(&self, name: &str, change: &SourceChange) -> Result<SourceRecord, SourceError> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = self.get(name).ok_or_else(|| self.unknown(name))?;
        let before = record.line;
        change.apply(&mut record)?;
        if record.line != before {
            let all = self.list();
            let places = all.iter().filter(|other| other.line == record.line).map(|other| other.position);
            record.position = places.max().map_or(0, |last| last + 1);
        }
        let sql = "UPDATE sources SET line = ?2, model = ?3, options = ?4, position = ?5, enabled = ?6 WHERE name = ?1";
        let fields =
            params![name, record.line.as_str(), record.model, options_text(&record), record.position, record.enabled];
        self.write("changing a source", name, &writing, |connection| connection.execute(sql, fields))?;
        Ok(record)
    }

    /// The source of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<SourceRecord> {
        self.list().iter().find(|record| record.name == name).cloned()
    }

    /// All sources, main line first, each line in the order in which it is tried, the disabled ones too.
    #[must_use]
    pub fn list(&self) -> Arc<[SourceRecord]> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The sources of a line that are tried, in order.
    #[must_use]
    pub fn line(&self, line: SourceLine) -> Vec<SourceRecord> {
        self.list().iter().filter(|record| record.line == line && record.enabled).cloned().collect()
    }

    fn change_known(&self, doing: &'static str, name: &str, sql: &str) -> Result<(), SourceError> {
        if self.change(doing, name, |connection| connection.execute(sql, [name]))? == 0 {
            return Err(self.unknown(name));
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> SourceError {
        let known = self.list().iter().map(|record| record.name.clone()).collect();
        SourceError::Unknown { name: name.to_owned(), known }
    }

    fn change(
        &self,
        doing: &'static str,
        name: &str,
        write: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<usize, SourceError> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(doing, name, &writing, write)
    }

    /// Writes, while nobody else does.
    fn write(
        &self,
        doing: &'static str,
        name: &str,
        _writing: &MutexGuard<'_, ()>,
        write: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<usize, SourceError> {
        // What is damaged was said when the sources were opened.
        let (rows, (all, _)) =
            self.database.write(doing, |transaction| Ok((write(transaction)?, read_all(transaction)?)))?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = all.into();
        if rows > 0 {
            tracing::info!(name, "{doing}");
        }
        Ok(rows)
    }
}

/// A record's options as they are kept.
fn options_text(record: &SourceRecord) -> String {
    // A map of texts to texts is always JSON.
    record.options.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<serde_json::Value>().to_string()
}

/// The sources in order, and a sentence for each row that is damaged.
fn read_all(connection: &Connection) -> rusqlite::Result<(Vec<SourceRecord>, Vec<String>)> {
    let mut statement = connection.prepare(
        "SELECT name, line, adapter, base_url, model, secret, options, position, enabled FROM sources
         ORDER BY position, name",
    )?;
    let mut rows = statement.query([])?;
    let (mut records, mut damaged) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        match record(row) {
            Ok(record) => records.push(record),
            Err(error) => {
                let name = row.get(0).unwrap_or_else(|_| "?".to_owned());
                damaged.push(format!(
                    "the stored source \"{name}\" is damaged and left out ({error}); add it again with: waiter source add"
                ));
            }
        }
    }
    records.sort_by_key(|record| record.line);
    Ok((records, damaged))
}

fn record(row: &Row<'_>) -> rusqlite::Result<SourceRecord> {
    let text: String = row.get(1)?;
    let line = SourceLine::from_name(&text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(1, Type::Text, format!("no line \"{text}\"").into())
    })?;
    let options = serde_json::from_str(&row.get::<_, String>(6)?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(6, Type::Text, error.into()))?;
    Ok(SourceRecord {
        name: row.get(0)?,
        line,
        adapter: row.get(2)?,
        base_url: row.get(3)?,
        model: row.get(4)?,
        secret: row.get(5)?,
        options,
        position: row.get(7)?,
        enabled: row.get(8)?,
    })
}
