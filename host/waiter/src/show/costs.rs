//! What models cost.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::price::WEEKDAYS;
use crate::table::Table;

#[derive(Deserialize)]
struct Report {
    by: String,
    since: Option<String>,
    until: Option<String>,
    time_zone: String,
    lines: Vec<Line>,
    total: Line,
    limits: Vec<Limit>,
}

#[derive(Deserialize)]
struct Line {
    key: String,
    calls: u64,
    estimated: u64,
    unpriced: u64,
    input: u64,
    cached: u64,
    output: u64,
    cost: Money,
}

/// What stands for a rate that is the one of the prompt.
const AS_INPUT: &str = "as input";

/// Sums by their currency.
type Money = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Limit {
    setting: String,
    most: String,
    spent: String,
    until: String,
}

/// Sums of each currency, as in `4.50 USD + 0.03 CNY`.
pub(super) fn money(money: &Money) -> String {
    let sums: Vec<String> = money.iter().map(|(currency, sum)| format!("{sum} {currency}")).collect();
    if sums.is_empty() { "-".to_owned() } else { sums.join(" + ") }
}

/// What was spent, with the limits.
pub(crate) fn report(answer: &str) -> Result<String, Failure> {
    let Report { by, since, until, time_zone, lines, total, limits } = read(answer)?;
    let head = by.to_uppercase();
    let mut table = Table::new(&[&head, "CALLS", "INPUT", "CACHED", "OUTPUT", "COST"]);
    for line in &lines {
        row(&mut table, if line.key.is_empty() { "-" } else { &line.key }, line);
    }
    if lines.len() > 1 {
        row(&mut table, "together", &total);
    }
    let span = match (since, until) {
        (None, None) => String::new(),
        (Some(since), None) => format!(" since {since}"),
        (None, Some(until)) => format!(" until {until}"),
        (Some(since), Some(until)) => format!(" from {since} to {until}"),
    };
    let mut text = table.or(&plain_line(&format!("no model was asked{span}")));
    if !lines.is_empty() {
        text.push_str(&plain_line(&format!("days of {time_zone}{span}")));
        text.push('\n');
    }
    if total.estimated > 0 {
        text.push_str(&format!("calls whose tokens are estimated: {}\n", total.estimated));
    }
    if total.unpriced > 0 {
        text.push_str(&format!(
            "calls without a known price, of which tokens alone count: {}; `waiter cost price set` sets one\n",
            total.unpriced
        ));
    }
    // What nothing is spent of is of no interest here.
    let begun = |limit: &Limit| limit.spent.chars().take_while(|c| *c != ' ').any(|c| matches!(c, '1'..='9'));
    for Limit { setting, most, spent, until } in limits.into_iter().filter(begun) {
        text.push_str(&plain_line(&format!("{setting}: {spent} of {most} until {until}")));
        text.push('\n');
    }
    Ok(text)
}

fn row(table: &mut Table, key: &str, line: &Line) {
    let Line { calls, input, cached, output, .. } = line;
    let numbers = [*calls, *input, *cached, *output].map(|number| number.to_string());
    let [calls, input, cached, output] = &numbers;
    table.row(&[key, calls, input, cached, output, &money(&line.cost)]);
}

#[derive(Deserialize)]
struct Prices {
    sources: Vec<SourcePrice>,
    own: Vec<Price>,
    built_in_as_of: String,
    built_in: Vec<BuiltIn>,
}

#[derive(Deserialize)]
struct SourcePrice {
    source: String,
    model: String,
    price: String,
    currency: Option<String>,
    rates: Option<Rates>,
}

#[derive(Deserialize)]
struct BuiltIn {
    hosts: Vec<String>,
    price: Price,
}

#[derive(Deserialize)]
struct Price {
    model: String,
    source: Option<String>,
    valid_from: String,
    time_zone: Option<String>,
    currency: String,
    rates: Rates,
    #[serde(default)]
    bands: Vec<Band>,
}

#[derive(Deserialize)]
struct Band {
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    weekdays: Vec<u8>,
    above: Option<u64>,
    rates: Rates,
}

#[derive(Deserialize)]
struct Rates {
    input: String,
    cached: Option<String>,
    written: Option<String>,
    output: String,
}

impl Rates {
    fn cells(&self) -> [&str; 4] {
        let or_input = |rate| Option::unwrap_or(rate, AS_INPUT);
        [&self.input, or_input(self.cached.as_deref()), or_input(self.written.as_deref()), &self.output]
    }
}

/// The prices that hold for the sources, and those that are set; with `all`, those that come with the daemon, too.
pub(crate) fn prices(answer: &str, all: bool) -> Result<String, Failure> {
    let Prices { sources, own, built_in_as_of, built_in } = read(answer)?;
    let mut table = Table::new(&["SOURCE", "MODEL", "PRICE", "INPUT", "CACHED", "WRITTEN", "OUTPUT"]);
    for source in &sources {
        let of = source.currency.as_ref().map(|currency| format!("{currency}, {}", source.price));
        let [input, cached, written, output] = source.rates.as_ref().map_or([""; 4], Rates::cells);
        let price = of.as_deref().unwrap_or(&source.price);
        table.row(&[&source.source, &source.model, price, input, cached, written, output]);
    }
    let mut text = table.or("no sources");
    text.push_str("for a million tokens, at this moment\n");
    let own: Vec<(String, &Price)> = own.iter().map(|price| (place(price), price)).collect();
    text.push_str(&list("\nset by you:", &own));
    if all {
        let built_in: Vec<_> = built_in.iter().map(|entry| (entry.hosts.join(", "), &entry.price)).collect();
        text.push_str(&list(&format!("\nbuilt in, as of {}:", plain_line(&built_in_as_of)), &built_in));
    } else {
        let count = built_in.len();
        text.push_str(&format!(
            "built in, as of {}: {count} prices; `waiter cost price list --all` shows them\n",
            plain_line(&built_in_as_of)
        ));
    }
    Ok(text)
}

fn place(price: &Price) -> String {
    price.source.clone().unwrap_or_else(|| "all".to_owned())
}

fn list(title: &str, prices: &[(String, &Price)]) -> String {
    if prices.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["MODEL", "AT", "FROM", "WHEN", "CURRENCY", "INPUT", "CACHED", "WRITTEN", "OUTPUT"]);
    for (at, price) in prices {
        let mut row = |when: &str, rates: &Rates| {
            let [input, cached, written, output] = rates.cells();
            let Price { model, valid_from, currency, .. } = price;
            table.row(&[model, at, valid_from, when, currency, input, cached, written, output]);
        };
        row("else", &price.rates);
        for band in &price.bands {
            row(&when(band, price.time_zone.as_deref()), &band.rates);
        }
    }
    format!("{title}\n{}", table.or(""))
}

fn when(band: &Band, zone: Option<&str>) -> String {
    let mut words = Vec::new();
    if band.since.is_some() || band.until.is_some() {
        let since = band.since.as_deref().unwrap_or("00:00");
        words.push(format!("{since}-{}", band.until.as_deref().unwrap_or("24:00")));
    }
    if !band.weekdays.is_empty() {
        let name = |day: &u8| WEEKDAYS.get(usize::from(*day).checked_sub(1)?).copied();
        let days: Vec<&str> = band.weekdays.iter().filter_map(name).collect();
        words.push(days.join(","));
    }
    if !words.is_empty() {
        words.extend(zone.map(str::to_owned));
    }
    words.extend(band.above.map(|above| format!("above={above}")));
    words.join(" ")
}
