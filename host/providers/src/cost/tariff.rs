//! What a call costs: which price holds for it, and what that makes of its tokens.

use homeagent_settings::{Band, CallUsage, PriceRecord, Rates, SourceRecord};
use homeagent_types::Timestamp;
use homeagent_types::money::Nano;
use jiff::Zoned;
use jiff::tz::TimeZone;
use reqwest::Url;

use super::built_in::BuiltInPrice;

/// Rates are for so many tokens.
const MILLION: u128 = 1_000_000;

/// The most that one call is taken to cost, in billionths: sums of many such have to have room in a database.
const MOST: u64 = 1 << 52;

/// The prices among which is looked.
#[derive(Clone, Copy, Debug)]
pub struct PriceTables<'a> {
    /// Those that the user set.
    pub own: &'a [PriceRecord],
    /// Those that come with the daemon.
    pub built_in: &'a [BuiltInPrice],
    /// The time zone of prices that name none.
    pub zone: &'a TimeZone,
}

/// What holds for one call, from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tariff {
    /// It is answered on this machine, and costs nothing.
    Free,
    /// What it costs is not known; tokens are counted.
    Unknown,
    /// This price.
    Priced {
        /// The price.
        price: Box<PriceRecord>,
        /// The user set it.
        own: bool,
        /// When the call began, by the price's time zone.
        at: Box<Zoned>,
    },
}

impl Tariff {
    /// What holds for a call of a source that begins `at`. A price of the user's for the source goes before one for all,
    /// the full name of a model before a pattern, a longer pattern before a shorter one, and of the rest the one of the
    /// latest day that has come. What runs on this machine is free unless the user set a price for that source.
    #[must_use]
    pub fn of(source: &SourceRecord, offline: bool, at: Timestamp, tables: PriceTables<'_>) -> Self {
        let at = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok()).unwrap_or_default();
        let local = offline || is_local(&source.base_url);
        let own = tables.own.iter().filter(|price| match &price.source {
            Some(only) => *only == source.name,
            None => !local,
        });
        if let Some(found) = best(own, &source.model, at, tables.zone) {
            return Self::priced(found, true);
        }
        if local {
            return Self::Free;
        }
        let host = Url::parse(&source.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let here = |entry: &&BuiltInPrice| host.as_ref().is_some_and(|host| entry.hosts.contains(host));
        let built_in = tables.built_in.iter().filter(here).map(|entry| &entry.price);
        best(built_in, &source.model, at, tables.zone).map_or(Self::Unknown, |found| Self::priced(found, false))
    }

    fn priced((price, at): (&PriceRecord, Zoned), own: bool) -> Self {
        Self::Priced { price: Box::new(price.clone()), own, at: Box::new(at) }
    }

    /// The rates for a prompt of so many tokens; `None` where there is no price.
    #[must_use]
    pub fn rates(&self, prompt: u64) -> Option<Rates> {
        let Self::Priced { price, at, .. } = self else { return None };
        let band = price.bands.iter().rev().find(|band| applies(band, at, prompt));
        Some(band.map_or(price.rates, |band| band.rates))
    }

    /// What a call costs that took so many tokens, and in which currency. Rounded up once, to a billionth.
    #[must_use]
    pub fn cost(&self, usage: CallUsage) -> Option<(String, Nano)> {
        let Self::Priced { price, .. } = self else { return None };
        let rates = self.rates(usage.input)?;
        // What vendors count is theirs: no part is more than the whole.
        let cached = usage.cached.min(usage.input);
        let written = usage.written.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        Some((
            price.currency.clone(),
            sum(&[
                (fresh, rates.input),
                (cached, rates.cached.unwrap_or(rates.input)),
                (written, rates.written.unwrap_or(rates.input)),
                (usage.output, rates.output),
            ]),
        ))
    }

    /// The most that a call may cost whose prompt and answer have at most so many tokens, whatever is cached.
    #[must_use]
    pub fn most(&self, usage: CallUsage) -> Option<(String, Nano)> {
        let Self::Priced { price, .. } = self else { return None };
        let rates = self.rates(usage.input)?;
        let input = rates.written.map_or(rates.input, |written| written.max(rates.input));
        Some((price.currency.clone(), sum(&[(usage.input, input), (usage.output, rates.output)])))
    }
}

fn sum(parts: &[(u64, Nano)]) -> Nano {
    let total: u128 = parts.iter().map(|(tokens, rate)| u128::from(*tokens) * u128::from(rate.0)).sum();
    Nano(u64::try_from(total.div_ceil(MILLION)).unwrap_or(MOST).min(MOST))
}

/// The price that fits best among those whose day has come, and the moment by its time zone.
fn best<'a>(
    prices: impl Iterator<Item = &'a PriceRecord>,
    model: &str,
    at: jiff::Timestamp,
    usual: &TimeZone,
) -> Option<(&'a PriceRecord, Zoned)> {
    let fitting = prices.filter_map(|price| {
        let closeness = closeness(&price.model, model)?;
        let zone = price.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
        let at = at.to_zoned(zone.unwrap_or_else(|| usual.clone()));
        (price.valid_from <= at.date()).then_some((closeness, price, at))
    });
    fitting
        .max_by_key(|(closeness, price, _)| (price.source.is_some(), *closeness, price.valid_from))
        .map(|(_, price, at)| (price, at))
}

/// How exactly a name or a pattern names a model; `None`: it does not.
fn closeness(pattern: &str, model: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
        None => (pattern == model).then_some(usize::MAX),
    }
}

fn applies(band: &Band, at: &Zoned, prompt: u64) -> bool {
    if band.above.is_some_and(|above| prompt <= above) {
        return false;
    }
    let now = u16::from(at.hour().unsigned_abs()) * 60 + u16::from(at.minute().unsigned_abs());
    let since = band.since.map_or(0, |time| time.minutes());
    let until = band.until.map_or(24 * 60, |time| time.minutes());
    // Over midnight: the hours after it belong to the day before.
    let (inside, began) = if since < until {
        ((since..until).contains(&now), at.weekday())
    } else if now >= since {
        (true, at.weekday())
    } else {
        (now < until, at.weekday().previous())
    };
    inside && (band.weekdays.is_empty() || band.weekdays.contains(&began.to_monday_one_offset().unsigned_abs()))
}

/// Whether an address is of this machine alone.
pub(crate) fn is_local(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}
