//! Reading vendors' JSON, which says `null`, "12" or an object where the protocol says a number or a text.

use serde_json::Value;

/// A text; `null` and anything that is none counts as absent.
pub fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// A text that is not empty.
pub fn some_text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    text(value, field).filter(|text| !text.is_empty())
}

/// A count, which may come as a whole number, with a fraction of zero, or as a text.
pub fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64()?;
            // The conversion stops at the type's limits.
            (number >= 0.0).then_some(number as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A text or a number, as text: ids and codes come as either.
pub fn label(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The host in an address, in lower case; nothing where there is none.
pub fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit('@').next().unwrap_or_default();
    place.split(':').next().unwrap_or_default().to_lowercase()
}

/// What there is of a list: its items, or the one thing that stands in its place.
pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Null => &[],
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}
