//! What is shown of costs and prices.

use std::collections::BTreeMap;

use homeagent_settings::{CostKey, CostLine, CostSpan, DatabaseError, PriceRecord, Rates, SourceRecord};
use homeagent_types::money::Nano;
use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;

use super::built_in::{self, BuiltInPrice};
use super::{Costs, LimitState, Tariff};

/// What was spent, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostReport {
    /// What the lines are by.
    pub by: CostKey,
    /// The first day that is looked at; `null`: all there are.
    #[schema(value_type = Option<String>, format = Date)]
    pub since: Option<Date>,
    /// The last day; `null`: all there are.
    #[schema(value_type = Option<String>, format = Date)]
    pub until: Option<Date>,
    /// The time zone by which days begin now.
    pub time_zone: String,
    /// One for each value of the key, in their order.
    pub lines: Vec<CostLine>,
    /// All of them together.
    pub total: CostLine,
    /// The limits as they stand now.
    pub limits: Vec<LimitState>,
}

/// What was spent today. What is set aside for calls that run is in it; calls that cost nothing are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostToday {
    /// The user's day.
    #[schema(value_type = String, format = Date)]
    pub day: Date,
    /// Tokens of the prompts.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Money, by its currency.
    #[schema(value_type = BTreeMap<String, String>)]
    pub cost: BTreeMap<String, Nano>,
}

/// What a source costs at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SourcePrice {
    /// The source.
    pub source: String,
    /// Its model.
    pub model: String,
    /// `free`, `unknown`, `own` for a price that the user set, `built-in` for one that comes with the daemon.
    pub price: &'static str,
    /// The currency, where there is a price.
    pub currency: Option<String>,
    /// For a million tokens of a short prompt and its answer.
    pub rates: Option<Rates>,
}

/// All prices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PriceList {
    /// What each source costs at this moment.
    pub sources: Vec<SourcePrice>,
    /// Those that the user set; they go before the others.
    pub own: Vec<PriceRecord>,
    /// The day of the vendors' lists from which the others are.
    #[schema(value_type = String, format = Date)]
    pub built_in_as_of: Date,
    /// Those that come with the daemon.
    pub built_in: Vec<BuiltInPrice>,
}

impl Costs {
    /// What was spent, by a key. Waits for the disk.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn report(&self, by: CostKey, span: &CostSpan) -> Result<CostReport, DatabaseError> {
        let lines = self.inner.ledger.report(by, span)?;
        let mut total = CostLine::default();
        lines.iter().for_each(|line| total.add(line));
        let time_zone = self.zone().iana_name().unwrap_or("that of this machine").to_owned();
        let (since, until) = (span.since, span.until);
        Ok(CostReport { by, since, until, time_zone, lines, total, limits: self.limits() })
    }

    /// What was spent today. Answered from memory.
    #[must_use]
    pub fn of_today(&self) -> CostToday {
        let day = self.today(&self.zone());
        let charge = self.inner.ledger.of_day(day);
        CostToday { day, input: charge.usage.input, output: charge.usage.output, cost: charge.money }
    }

    /// All prices, and what these sources cost now.
    #[must_use]
    pub fn price_list(&self, sources: &[SourceRecord]) -> PriceList {
        let (zone, own) = (self.zone(), self.inner.prices.list());
        let tables = self.tables(&zone, &own);
        let price = |source: &SourceRecord| {
            let tariff = Tariff::of(source, source.base_url.starts_with("offline:"), self.now(), tables);
            let (price, currency) = match &tariff {
                Tariff::Free => ("free", None),
                Tariff::Unknown => ("unknown", None),
                Tariff::Priced { price, own: true, .. } => ("own", Some(price.currency.clone())),
                Tariff::Priced { price, own: false, .. } => ("built-in", Some(price.currency.clone())),
            };
            let rates = tariff.rates(0);
            SourcePrice { source: source.name.clone(), model: source.model.clone(), price, currency, rates }
        };
        PriceList {
            sources: sources.iter().map(price).collect(),
            own: own.to_vec(),
            built_in_as_of: built_in::as_of(),
            built_in: built_in::all().to_vec(),
        }
    }
}
