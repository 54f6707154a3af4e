//! The prices that the user sets.

use homeagent_settings::{Database, PriceError, PriceRecord, Prices};
use jiff::civil::date;
use serde_json::json;

fn price(change: serde_json::Value) -> PriceRecord {
    let mut whole = json!({
        "model": "deepseek-*", "valid_from": "2026-12-01", "currency": "CNY",
        "rates": { "input": "2", "cached": "0.04", "output": "8" },
        "bands": [{ "since": "18:00", "until": "09:00", "rates": { "input": "1", "output": "4" } }],
    });
    let serde_json::Value::Object(change) = change else { panic!("an object") };
    whole.as_object_mut().expect("an object").extend(change);
    serde_json::from_value(whole).expect("a price")
}

#[test]
fn prices_are_kept_by_model_source_and_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || {
        let database = Database::open(folder.path().join("db")).expect("a database");
        (Prices::open(&database).expect("a table"), database)
    };
    let (prices, _database) = open();
    let later = price(json!({ "valid_from": "2027-01-01" }));
    let special = price(json!({ "source": "main", "currency": "USD" }));
    for record in [&price(json!({})), &later, &special, &price(json!({ "currency": "EUR" }))] {
        prices.set(record).expect("it is set");
    }
    drop(prices);
    let (prices, database) = open();
    assert!(database.take_remarks().is_empty());
    let currencies = |prices: &Prices| -> Vec<String> {
        prices.list().iter().map(|price| format!("{} {}", price.valid_from, price.currency)).collect()
    };
    assert_eq!(currencies(&prices), ["2026-12-01 EUR", "2027-01-01 CNY", "2026-12-01 USD"]);
    assert_eq!(prices.list()[1], later);
    prices.remove("deepseek-*", None, Some(date(2027, 1, 1))).expect("it is gone");
    prices.remove("deepseek-*", Some("main"), None).expect("it is gone");
    assert_eq!(currencies(&prices), ["2026-12-01 EUR"]);
    let missing = prices.remove("other", Some("main"), None).expect_err("there is none");
    assert_eq!(missing.to_string(), "no price is set for \"other\" at the source \"main\" for any day");
}

#[test]
fn what_can_not_be_used_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("db")).expect("a database");
    let prices = Prices::open(&database).expect("a table");
    for (change, reason) in [
        (json!({ "currency": "$" }), "is no currency"),
        (json!({ "model": "" }), "a name is empty"),
        (json!({ "time_zone": "Mars/Olympus" }), "there is no time zone"),
        (
            json!({ "bands": [{ "weekdays": [0], "rates": { "input": "1", "output": "1" } }] }),
            "numbered from 1 for Monday",
        ),
        (
            json!({ "bands": [{ "since": "08:00", "until": "08:00", "rates": { "input": "1", "output": "1" } }] }),
            "begins when it ends",
        ),
    ] {
        let refused = prices.set(&price(change)).expect_err(reason);
        assert!(matches!(refused, PriceError::Bad { .. }) && refused.to_string().contains(reason), "{refused}");
    }
    for text in ["8:00", "24:01", "12:60", "noon"] {
        let band = json!({ "since": text, "rates": { "input": "1", "output": "1" } });
        assert!(serde_json::from_value::<homeagent_settings::Band>(band).is_err(), "{text}");
    }
    assert!(prices.list().is_empty());
}
