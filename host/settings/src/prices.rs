//! What the user says that models cost.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use homeagent_types::money::{Nano, is_currency};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::{Connection, params};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::database::{Database, DatabaseError};

const MIGRATIONS: &[&str] = &["CREATE TABLE prices (
    model TEXT NOT NULL,
    source TEXT NOT NULL,     -- '' for all
    valid_from TEXT NOT NULL,
    record TEXT NOT NULL,     -- JSON
    PRIMARY KEY (model, source, valid_from)
) STRICT, WITHOUT ROWID;"];

/// Bands of one price.
const MOST_BANDS: usize = 32;
const MINUTES: u16 = 24 * 60;

/// Money for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Of the prompt.
    pub input: Nano,
    /// Of the prompt, where the vendor had it cached; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Nano>,
    /// Of the prompt, where the vendor puts it into its cache; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Nano>,
    /// Of the answer.
    pub output: Nano,
}

/// A time of day, to the minute: `00:30`, and `24:00` for the day's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, example = "00:30")]
pub struct ClockTime(u16);

impl ClockTime {
    /// Minutes since midnight.
    #[must_use]
    pub fn minutes(self) -> u16 {
        self.0
    }
}

impl FromStr for ClockTime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let part = |text: &str| (text.len() == 2).then(|| text.parse::<u16>().ok()).flatten();
        let minutes = text.split_once(':').and_then(|(hour, minute)| Some((part(hour)?, part(minute)?)));
        match minutes {
            Some((hour, minute)) if minute < 60 && hour * 60 + minute <= MINUTES => Ok(Self(hour * 60 + minute)),
            _ => Err("a time of day is written as 08:30, and the day's end as 24:00"),
        }
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl Serialize for ClockTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClockTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Other rates at some hours, or for long prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// From this time of day on, by the price's time zone; from the day's beginning where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<ClockTime>,
    /// Until before this time; one that is earlier than `since` is of the next day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<ClockTime>,
    /// Only on these days of the week, 1 for Monday to 7 for Sunday, on which the hours begin; on all where none is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<u8>,
    /// Only for prompts of more tokens than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<u64>,
    /// What holds then.
    pub rates: Rates,
}

/// What a model costs from a day on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceRecord {
    /// The model's name; a `*` at its end stands for any rest.
    pub model: String,
    /// Only at this source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The first day, by the price's time zone, as in `2026-12-01`.
    #[schema(value_type = String, format = Date)]
    pub valid_from: Date,
    /// The time zone of its days and hours; the user's where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The currency, such as `USD`.
    pub currency: String,
    /// What holds where no band says otherwise.
    pub rates: Rates,
    /// Of those that apply, the last one holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
}

impl PriceRecord {
    /// Whether it can be used as it is.
    ///
    /// # Errors
    ///
    /// [`PriceError::Bad`], which says what is wrong.
    pub fn check(&self) -> Result<(), PriceError> {
        let bad = |reason: String| Err(PriceError::Bad { model: self.model.clone(), reason });
        let blank = |text: &str| text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control());
        if blank(&self.model) || self.source.as_deref().is_some_and(blank) {
            return bad("a name is empty, or has spaces or control characters".to_owned());
        }
        if !is_currency(&self.currency) {
            return bad(format!("\"{}\" is no currency; write it as USD, EUR or CNY", self.currency));
        }
        if let Some(zone) = &self.time_zone
            && TimeZone::get(zone).is_err()
        {
            return bad(format!("there is no time zone \"{zone}\"; write it as UTC or Asia/Shanghai"));
        }
        if self.bands.len() > MOST_BANDS {
            return bad(format!("it has more than {MOST_BANDS} bands"));
        }
        for band in &self.bands {
            if band.weekdays.iter().any(|day| !(1..=7).contains(day)) {
                return bad("days of the week are numbered from 1 for Monday to 7 for Sunday".to_owned());
            }
            if band.since.is_some() && band.since == band.until {
                return bad("a band begins when it ends; leave both times out for the whole day".to_owned());
            }
        }
        Ok(())
    }

    fn key(&self) -> (&str, &str, Date) {
        (&self.model, self.source.as_deref().unwrap_or_default(), self.valid_from)
    }
}

/// An error of the prices.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// It can't be used.
    #[error("the price of \"{model}\" can't be used: {reason}")]
    Bad {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
    /// There is none of these names.
    #[error("no price is set for \"{model}\"{} {}", where_it_holds(.at.as_deref()), since(*.valid_from))]
    Unknown {
        /// The model.
        model: String,
        /// The source.
        at: Option<String>,
        /// The day.
        valid_from: Option<Date>,
    },
    /// The database failed; the prices are as they were.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

fn where_it_holds(source: Option<&str>) -> String {
    source.map(|source| format!(" at the source \"{source}\"")).unwrap_or_default()
}

fn since(day: Option<Date>) -> String {
    day.map_or_else(|| "for any day".to_owned(), |day| format!("from {day} on"))
}

/// The prices that the user set. Clones share them.
#[derive(Clone)]
pub struct Prices {
    database: Database,
    known: Arc<RwLock<Arc<[PriceRecord]>>>,
    writing: Arc<Mutex<()>>,
}

impl Prices {
    /// Reads them. One whose row is damaged is left out: see [`Database::take_remarks`].
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("prices", MIGRATIONS)?;
        let (known, damaged) = database.read("reading the prices", read_all)?;
        for model in damaged {
            database.remark(format!(
                "the price set for \"{model}\" is damaged and not used; set it again with: waiter cost price set"
            ));
        }
        Ok(Self { database: database.clone(), known: Arc::new(RwLock::new(known.into())), writing: Arc::default() })
    }

    /// All of them, by model, source and day.
    #[must_use]
    pub fn list(&self) -> Arc<[PriceRecord]> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets a price, in the place of the one for the same model, source and day.
    ///
    /// # Errors
    ///
    /// Those of [`PriceRecord::check`], and what the database answers.
    pub fn set(&self, record: &PriceRecord) -> Result<(), PriceError> {
        record.check()?;
        let (model, source, valid_from) = record.key();
        // A struct of texts and numbers is always JSON.
        let text = serde_json::to_string(record).unwrap_or_default();
        self.change(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO prices (model, source, valid_from, record) VALUES (?1, ?2, ?3, ?4)",
                params![model, source, valid_from.to_string(), text],
            )
        })?;
        Ok(())
    }

    /// Takes prices of a model away: that of a day, or all.
    ///
    /// # Errors
    ///
    /// [`PriceError::Unknown`], and what the database answers.
    pub fn remove(&self, model: &str, source: Option<&str>, valid_from: Option<Date>) -> Result<(), PriceError> {
        let day = valid_from.map(|day| day.to_string()).unwrap_or_default();
        let gone = self.change(|connection| {
            connection.execute(
                "DELETE FROM prices WHERE model = ?1 AND source = ?2 AND (?3 = '' OR valid_from = ?3)",
                params![model, source.unwrap_or_default(), day],
            )
        })?;
        if gone == 0 {
            let at = source.map(str::to_owned);
            return Err(PriceError::Unknown { model: model.to_owned(), at, valid_from });
        }
        Ok(())
    }

    fn change(&self, write: impl FnOnce(&Connection) -> rusqlite::Result<usize>) -> Result<usize, DatabaseError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (rows, (all, _)) = self
            .database
            .write("changing the prices", |transaction| Ok((write(transaction)?, read_all(transaction)?)))?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = all.into();
        Ok(rows)
    }
}

/// The prices, and the models of those that are damaged.
fn read_all(connection: &Connection) -> rusqlite::Result<(Vec<PriceRecord>, Vec<String>)> {
    let mut statement = connection.prepare("SELECT model, record FROM prices ORDER BY model, source, valid_from")?;
    let mut rows = statement.query([])?;
    let (mut whole, mut damaged) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let model: String = row.get(0)?;
        let record = row.get::<_, String>(1).ok().and_then(|text| serde_json::from_str::<PriceRecord>(&text).ok());
        match record.filter(|record| record.check().is_ok()) {
            Some(record) => whole.push(record),
            None => damaged.push(model),
        }
    }
    Ok((whole, damaged))
}
