//! Why what stood before the model in a run was there, and what was not: kept for each run, without any text.

use homeagent_settings::{Database, DatabaseError};
use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::choose::Verdict;

const MIGRATIONS: &[&str] = &["
CREATE TABLE context_choices (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    conversation TEXT NOT NULL,
    audience TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    dropped INTEGER NOT NULL,            -- how many exchanges left the window
    choice TEXT NOT NULL                 -- JSON
) STRICT;
CREATE INDEX context_choices_run ON context_choices (run);
CREATE INDEX context_choices_conversation ON context_choices (conversation, number) WHERE dropped > 0;
"];

/// How many choices are remembered.
const REMEMBERED: i64 = 20_000;

/// What became of an exchange. Texts are found in the journal, by the ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The ids of its first and its last message: `<run>/<number in it>`.
    pub first: String,
    /// See `first`.
    pub last: String,
    /// When it was said, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its events.
    pub events: usize,
    /// Its messages.
    pub messages: usize,
    /// What became of it.
    pub verdict: Verdict,
    /// How relevant its words are to what was said: 1 is the most of all.
    pub words: f64,
    /// How near its vector is: 1 is the nearest of all. None: words alone were compared.
    pub vector: Option<f64>,
    /// The document that it had come back from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// Why there was something to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Occasion {
    /// There was not: everything stayed.
    Fits,
    /// The window had grown above the limit.
    Full,
    /// It had grown to twice the limit in the middle of a turn.
    Forced,
    /// A model had found it too long.
    TooLong,
}

/// A choice of what stays before the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The run in which it was made.
    pub run: String,
    /// Where.
    pub conversation: String,
    /// Who may see what was said, in the text form of [`homeagent_types::Audience`].
    pub audience: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Why.
    pub occasion: Occasion,
    /// The most events that there may be, as the settings said.
    pub most_events: usize,
    /// The most messages.
    pub most_messages: usize,
    /// The events before the choice.
    pub events: usize,
    /// The messages before the choice.
    pub messages: usize,
    /// The model by whose vectors was compared, too. None: words alone were compared.
    pub model: Option<String>,
    /// The exchanges, oldest first; left out where everything stayed.
    pub exchanges: Vec<Chosen>,
}

impl Choice {
    /// How many exchanges left.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.exchanges.iter().filter(|chosen| !chosen.verdict.stays()).count()
    }
}

/// Why a run's window was as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The choices made in the run, in order.
    pub choices: Vec<Choice>,
    /// The choice by which exchanges had left the conversation's window before, where there was one.
    pub before: Option<Choice>,
}

/// The choices that are remembered.
#[derive(Clone)]
pub(crate) struct Choices {
    database: Database,
}

impl Choices {
    pub(crate) fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("context", MIGRATIONS)?;
        Ok(Self { database: database.clone() })
    }

    pub(crate) fn remember(&self, choices: &[Choice]) -> Result<(), DatabaseError> {
        self.database.write("noting what stood before the model", |transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT INTO context_choices (run, conversation, audience, at_ms, dropped, choice)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for choice in choices {
                let text = serde_json::to_string(choice).unwrap_or_default();
                let dropped = i64::try_from(choice.dropped()).unwrap_or(i64::MAX);
                let Choice { run, conversation, audience, at_ms, .. } = choice;
                statement.execute(params![run, conversation, audience, at_ms, dropped, text])?;
            }
            let newest = transaction.last_insert_rowid();
            transaction.execute("DELETE FROM context_choices WHERE number <= ?1", [newest - REMEMBERED]).map(drop)
        })
    }

    /// Forgets the choices of conversations.
    pub(crate) fn forget(&self, is_to_go: &dyn Fn(&str) -> bool) -> Result<(), DatabaseError> {
        self.database.write("forgetting what stood before the model", |transaction| {
            let mut statement = transaction.prepare("SELECT DISTINCT conversation FROM context_choices")?;
            let all = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            for conversation in all.into_iter().filter(|conversation| is_to_go(conversation)) {
                transaction.execute("DELETE FROM context_choices WHERE conversation = ?1", [conversation])?;
            }
            Ok(())
        })
    }

    pub(crate) fn explain(&self, run: &str) -> Result<Option<Explanation>, DatabaseError> {
        self.database.read("looking up what stood before the model", |connection| {
            let read = |text: String| serde_json::from_str::<Choice>(&text).ok();
            let mut statement = connection
                .prepare_cached("SELECT number, choice FROM context_choices WHERE run = ?1 ORDER BY number")?;
            let rows: Vec<(i64, String)> =
                statement.query_map([run], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
            let Some(first) = rows.first().map(|(number, _)| *number) else { return Ok(None) };
            let choices: Vec<Choice> = rows.into_iter().filter_map(|(_, text)| read(text)).collect();
            let Some(conversation) = choices.first().map(|choice| choice.conversation.clone()) else { return Ok(None) };
            let mut before = connection.prepare_cached(
                "SELECT choice FROM context_choices WHERE conversation = ?1 AND number < ?2 AND dropped > 0
                 ORDER BY number DESC LIMIT 1",
            )?;
            let before = before.query_map(params![conversation, first], |row| row.get(0))?.next().transpose()?;
            Ok(Some(Explanation { choices, before: before.and_then(read) }))
        })
    }
}
