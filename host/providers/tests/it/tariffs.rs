//! Which price holds when, and what it makes of tokens.

use std::collections::BTreeMap;

use homeagent_providers::cost::{PriceTables, Tariff};
use homeagent_settings::{CallUsage, PriceRecord, SourceLine, SourceRecord};
use homeagent_types::money::Nano;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

fn source(url: &str, model: &str) -> SourceRecord {
    SourceRecord {
        name: "main".to_owned(),
        line: SourceLine::Main,
        adapter: "openai".to_owned(),
        base_url: url.to_owned(),
        model: model.to_owned(),
        secret: None,
        options: BTreeMap::new(),
        position: 0,
        enabled: true,
    }
}

/// A price of 10 for the prompt, with these changes.
fn price(change: Value) -> PriceRecord {
    let mut price = json!({
        "model": "m", "valid_from": "2026-01-01", "currency": "USD", "rates": { "input": "10", "output": "40" },
    });
    let Value::Object(change) = change else { panic!("an object") };
    price.as_object_mut().expect("an object").extend(change);
    let price: PriceRecord = serde_json::from_value(price).expect("a price");
    price.check().expect("it can be used");
    price
}

fn at(moment: &str) -> u64 {
    let zoned: jiff::Timestamp = moment.parse().expect("a moment");
    u64::try_from(zoned.as_millisecond()).expect("after 1970")
}

fn tariff(own: &[PriceRecord], moment: &str, url: &str) -> Tariff {
    let zone = TimeZone::get("Asia/Shanghai").expect("a time zone");
    Tariff::of(&source(url, "m"), false, at(moment), PriceTables { own, built_in: &[], zone: &zone })
}

/// What a million tokens of a prompt cost at a moment, in whole units.
fn input(own: &[PriceRecord], moment: &str) -> Option<u64> {
    tariff(own, moment, "https://api.example/v1").rates(1_000).map(|rates| rates.input.0 / 1_000_000_000)
}

fn band(change: Value) -> Value {
    let mut band = json!({ "rates": { "input": "5", "output": "20" } });
    let Value::Object(change) = change else { panic!("an object") };
    band.as_object_mut().expect("an object").extend(change);
    json!({ "bands": [band], "time_zone": "UTC" })
}

#[test]
fn a_band_holds_from_its_first_minute_until_before_its_last_over_midnight_too() {
    let day = [price(band(json!({ "since": "09:00", "until": "12:00" })))];
    let prices = ["08:59:59.999", "09:00:00", "11:59:59.999", "12:00:00"].map(|time| format!("2026-11-30T{time}Z"));
    assert_eq!(prices.map(|moment| input(&day, &moment)), [Some(10), Some(5), Some(5), Some(10)]);

    let night = [price(band(json!({ "since": "16:30", "until": "00:30" })))];
    let moments = ["2026-11-30T16:29:59Z", "2026-11-30T16:30:00Z", "2026-12-01T00:00:00Z", "2026-12-01T00:29:59Z"];
    assert_eq!(moments.map(|moment| input(&night, moment)), [Some(10), Some(5), Some(5), Some(5)]);
    assert_eq!(input(&night, "2026-12-01T00:30:00Z"), Some(10));

    // The hours after midnight belong to the day before: Friday night, and not Saturday's.
    let friday = [price(band(json!({ "since": "22:00", "until": "06:00", "weekdays": [5] })))];
    let moments = ["2026-12-04T05:00:00Z", "2026-12-04T23:00:00Z", "2026-12-05T05:59:00Z", "2026-12-05T23:00:00Z"];
    assert_eq!(moments.map(|moment| input(&friday, moment)), [Some(10), Some(5), Some(5), Some(10)]);
}

#[test]
fn the_hours_are_those_of_the_clock_where_summer_time_begins_and_ends() {
    let mut change = band(json!({ "since": "02:00", "until": "03:00" }));
    change["time_zone"] = json!("Europe/Berlin");
    let berlin = [price(change)];
    // In March the hour does not exist: the clock goes from 2 to 3.
    let moments = ["2027-03-28T00:59:59Z", "2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"];
    assert_eq!(moments.map(|moment| input(&berlin, moment)), [Some(10), Some(10), Some(10)]);
    // In October it comes twice.
    let moments = ["2026-10-24T23:59:59Z", "2026-10-25T00:00:00Z", "2026-10-25T01:59:59Z", "2026-10-25T02:00:00Z"];
    assert_eq!(moments.map(|moment| input(&berlin, moment)), [Some(10), Some(5), Some(5), Some(10)]);
}

#[test]
fn a_price_holds_from_midnight_of_its_day_by_its_own_clock_or_the_users() {
    let usual = price(json!({}));
    let later = price(json!({ "valid_from": "2026-12-01", "rates": { "input": "7", "output": "7" } }));
    let own = [usual.clone(), later];
    // Midnight in Shanghai.
    assert_eq!(input(&own, "2026-11-30T15:59:59.999Z"), Some(10));
    assert_eq!(input(&own, "2026-11-30T16:00:00Z"), Some(7));
    let there = json!({ "valid_from": "2026-12-01", "time_zone": "UTC", "rates": { "input": "7", "output": "7" } });
    let own = [usual, price(there)];
    assert_eq!(input(&own, "2026-11-30T23:59:59.999Z"), Some(10));
    assert_eq!(input(&own, "2026-12-01T00:00:00Z"), Some(7));
    assert_eq!(input(&own, "2025-12-31T15:00:00Z"), None);
}

#[test]
fn the_closest_price_holds() {
    let rate = |rate: &str| json!({ "input": rate, "output": rate });
    let mut own = vec![price(json!({ "model": "*", "valid_from": "2026-11-01", "rates": rate("1") }))];
    assert_eq!(input(&own, "2026-11-30T00:00:00Z"), Some(1));
    own.push(price(json!({ "model": "m*", "rates": rate("2") })));
    assert_eq!(input(&own, "2026-11-30T00:00:00Z"), Some(2));
    own.push(price(json!({ "rates": rate("3") })));
    assert_eq!(input(&own, "2026-11-30T00:00:00Z"), Some(3));
    own.push(price(json!({ "model": "*", "source": "main", "rates": rate("4") })));
    assert_eq!(input(&own, "2026-11-30T00:00:00Z"), Some(4));
    own.push(price(json!({ "source": "other", "rates": rate("5") })));
    assert_eq!(input(&own, "2026-11-30T00:00:00Z"), Some(4));
}

#[test]
fn what_runs_on_this_machine_is_free_unless_its_source_has_a_price() {
    let all = [price(json!({ "model": "*" }))];
    for url in ["http://127.0.0.1:8080/v1", "http://localhost:11434", "http://[::1]:1/v1", "http://127.8.0.1"] {
        assert_eq!(tariff(&all, "2026-11-30T00:00:00Z", url), Tariff::Free, "{url}");
    }
    for url in ["http://localhost.example/v1", "http://192.168.1.5:8080/v1", "http://128.0.0.1"] {
        assert!(matches!(tariff(&all, "2026-11-30T00:00:00Z", url), Tariff::Priced { .. }), "{url}");
    }
    assert_eq!(tariff(&[], "2026-11-30T00:00:00Z", "https://api.example"), Tariff::Unknown);
    let proxy = [price(json!({ "source": "main" }))];
    assert!(matches!(tariff(&proxy, "2026-11-30T00:00:00Z", "http://127.0.0.1:4000"), Tariff::Priced { .. }));
}

#[test]
fn each_part_of_a_call_has_its_rate_and_the_sum_is_rounded_up_once() {
    let rates = json!({ "input": "0.28", "cached": "0.028", "written": "0.35", "output": "0.42" });
    let long = json!({ "above": 200_000, "rates": { "input": "1", "output": "2" } });
    let own = [price(json!({ "currency": "CNY", "rates": rates, "bands": [long] }))];
    let tariff = tariff(&own, "2026-11-30T00:00:00Z", "https://api.example");
    let cost = |input, cached, written, output| tariff.cost(CallUsage { input, cached, written, output });
    let cny = |nano| Some(("CNY".to_owned(), Nano(nano)));
    // 300 at 0.28, 600 at 0.028, 100 at 0.35, 50 at 0.42 a million.
    assert_eq!(cost(1_000, 600, 100, 50), cny(84_000 + 16_800 + 35_000 + 21_000));
    assert_eq!(cost(0, 0, 0, 0), cny(0));
    // A part that is larger than the whole is the whole.
    assert_eq!(cost(10, 500, 500, 0), cny(280));
    assert_eq!(cost(200_000, 0, 0, 0), cny(56_000_000));
    assert_eq!(cost(200_001, 0, 0, 1), cny(200_003_000));
    assert_eq!(cost(u64::MAX, 0, 0, u64::MAX), cny(1 << 52));
    let tiny = [price(json!({ "rates": { "input": "0.000000001", "output": "0" } }))];
    let tiny = self::tariff(&tiny, "2026-11-30T00:00:00Z", "https://api.example");
    let cost = tiny.cost(CallUsage { input: 1, ..CallUsage::default() });
    assert_eq!(cost, Some(("USD".to_owned(), Nano(1))));
    // Nobody knows beforehand what is cached.
    let most = self::tariff(&own, "2026-11-30T00:00:00Z", "https://api.example");
    let usage = CallUsage { input: 1_000, output: 100, ..CallUsage::default() };
    assert_eq!(most.most(usage), cny(350_000 + 42_000));
}
