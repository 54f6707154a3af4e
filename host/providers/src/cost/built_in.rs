//! The prices that come with the daemon.

use std::sync::LazyLock;

use homeagent_settings::{Band, PriceRecord, Rates};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The prices of vendors, as of a day.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    as_of: Date,
    price: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    hosts: Vec<String>,
    models: Vec<String>,
    valid_from: Date,
    time_zone: Option<String>,
    currency: String,
    rates: Rates,
    #[serde(default)]
    bands: Vec<Band>,
}

/// A price that comes with the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BuiltInPrice {
    /// The hosts of the vendor at which it holds.
    pub hosts: Vec<String>,
    /// The price.
    pub price: PriceRecord,
}

static TABLE: LazyLock<(Date, Vec<BuiltInPrice>)> = LazyLock::new(|| {
    match toml::from_str::<Table>(include_str!("prices.toml")) {
        Ok(table) => (table.as_of, table.price.into_iter().flat_map(Entry::each).collect()),
        // A test reads it, so this is a build that nobody tested.
        Err(error) => {
            tracing::error!(%error, "the prices that come with the daemon can't be read, so none is known");
            (Date::ZERO, Vec::new())
        }
    }
});

impl Entry {
    fn each(self) -> impl Iterator<Item = BuiltInPrice> {
        let Self { hosts, models, valid_from, time_zone, currency, rates, bands } = self;
        models.into_iter().map(move |model| BuiltInPrice {
            hosts: hosts.clone(),
            price: PriceRecord {
                model,
                source: None,
                valid_from,
                time_zone: Some(time_zone.clone().unwrap_or_else(|| "UTC".to_owned())),
                currency: currency.clone(),
                rates,
                bands: bands.clone(),
            },
        })
    }
}

/// They are what the vendors' lists said on this day.
pub(super) fn as_of() -> Date {
    TABLE.0
}

pub(super) fn all() -> &'static [BuiltInPrice] {
    &TABLE.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_every_price_used() {
        let table: Table = toml::from_str(include_str!("prices.toml")).expect("it is a table of prices");
        assert!(!all().is_empty());
        assert_eq!(table.as_of, as_of());
        for price in all() {
            price.price.check().expect("it can be used");
            assert!(!price.hosts.is_empty(), "{price:?}");
        }
    }
}
