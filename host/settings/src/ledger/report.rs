//! What was spent, by whatever one wants to know it by.

use std::collections::BTreeMap;

use homeagent_types::money::Nano;
use jiff::civil::Date;
use rusqlite::params;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::database::{Database, DatabaseError};

/// What calls are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostKey {
    /// The user's days.
    Day,
    /// The user's months.
    Month,
    /// Models.
    Model,
    /// Sources.
    Source,
    /// Lines of sources.
    Line,
    /// Plugins that asked; nothing for what no plugin asked.
    Plugin,
    /// Who caused it.
    Principal,
    /// The role of who caused it.
    Role,
    /// Conversations.
    Conversation,
    /// Turns. Nothing for old calls, of which sums alone are kept.
    Run,
}

impl CostKey {
    /// Every key.
    pub const ALL: [Self; 10] = [
        Self::Day,
        Self::Month,
        Self::Model,
        Self::Source,
        Self::Line,
        Self::Plugin,
        Self::Principal,
        Self::Role,
        Self::Conversation,
        Self::Run,
    ];

    fn column(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "substr(day, 1, 7)",
            Self::Model => "model",
            Self::Source => "source",
            Self::Line => "line",
            Self::Plugin => "plugin",
            Self::Principal => "principal",
            Self::Role => "role",
            Self::Conversation => "conversation",
            Self::Run => "run",
        }
    }
}

/// Which calls are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostSpan {
    /// The first day; all there are where it is none.
    pub since: Option<Date>,
    /// The last day.
    pub until: Option<Date>,
    /// Only this turn.
    pub run: Option<String>,
}

/// Calls that have a key in common, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostLine {
    /// The key's value; empty where a call has none.
    pub key: String,
    /// How many calls.
    pub calls: u64,
    /// Those whose tokens are estimated, since no vendor told them.
    pub estimated: u64,
    /// Those whose price is not known: their tokens count, and no money.
    pub unpriced: u64,
    /// Tokens of the prompts.
    pub input: u64,
    /// Those of them that the vendors had cached.
    pub cached: u64,
    /// Those of them that the vendors put into their caches.
    pub written: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Money, by its currency.
    #[schema(value_type = BTreeMap<String, String>)]
    pub cost: BTreeMap<String, Nano>,
}

impl CostLine {
    /// Adds another line's calls.
    pub fn add(&mut self, more: &Self) {
        for (sum, more) in [
            (&mut self.calls, more.calls),
            (&mut self.estimated, more.estimated),
            (&mut self.unpriced, more.unpriced),
            (&mut self.input, more.input),
            (&mut self.cached, more.cached),
            (&mut self.written, more.written),
            (&mut self.output, more.output),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (currency, nano) in &more.cost {
            let sum = self.cost.entry(currency.clone()).or_default();
            *sum = sum.plus(*nano);
        }
    }
}

pub(super) fn read(database: &Database, by: CostKey, span: &CostSpan) -> Result<Vec<CostLine>, DatabaseError> {
    let doing = "reading the ledger";
    let connection = database.reader()?;
    let key = by.column();
    let sql = format!(
        "SELECT {key}, local, currency, SUM(calls), SUM(estimated), SUM(input), SUM(cached), SUM(written), SUM(output),
            SUM(cost)
         FROM model_costs WHERE day >= ?1 AND day <= ?2 AND (?3 = '' OR run = ?3)
         GROUP BY 1, 2, 3 ORDER BY 1"
    );
    let read = || {
        let mut statement = connection.prepare(&sql)?;
        let date = |date: Option<Date>, usual: &str| date.map_or_else(|| usual.to_owned(), |date| date.to_string());
        let run = span.run.clone().unwrap_or_default();
        let mut rows = statement.query(params![date(span.since, ""), date(span.until, "9999-99-99"), run])?;
        let mut lines: Vec<CostLine> = Vec::new();
        while let Some(row) = rows.next()? {
            let number = |place| row.get::<_, i64>(place).map(i64::unsigned_abs);
            let (key, local, currency): (String, bool, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let calls = number(3)?;
            let unpriced = if currency.is_empty() && !local { calls } else { 0 };
            let cost = number(9)?;
            let cost = (!currency.is_empty()).then_some((currency, Nano(cost)));
            let line = CostLine {
                key,
                calls,
                estimated: number(4)?,
                unpriced,
                input: number(5)?,
                cached: number(6)?,
                written: number(7)?,
                output: number(8)?,
                cost: cost.into_iter().collect(),
            };
            match lines.last_mut().filter(|last| last.key == line.key) {
                Some(last) => last.add(&line),
                None => lines.push(line),
            }
        }
        Ok(lines)
    };
    read().map_err(|source| database.error(doing, source))
}
