//! Media of the store that are mentioned in the record.

use std::collections::BTreeSet;

use serde_json::Value;

/// What stands before an address.
const BEFORE: &str = "media:";

/// How many digits of an address say which it is; more may follow.
const DIGITS: usize = 16;

/// The field of an input's medium that has its address alone.
const STORED: &str = "stored";

/// The beginning of the address that a text begins with.
fn beginning(text: &str) -> Option<String> {
    let digits = text.get(..DIGITS)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| digits.to_ascii_lowercase())
}

/// Adds the beginnings of the addresses that stand in a document.
pub(super) fn addresses(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let after = text.match_indices(BEFORE).map(|(at, before)| at + before.len());
            found.extend(after.filter_map(|at| text.get(at..).and_then(beginning)));
        }
        Value::Array(list) => list.iter().for_each(|one| addresses(one, found)),
        Value::Object(fields) => {
            found.extend(fields.get(STORED).and_then(Value::as_str).and_then(beginning));
            fields.values().for_each(|one| addresses(one, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_found_in_short_and_whole_and_nothing_else_is_one() {
        let whole = "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824";
        let document = json!({ "text": "看 media:0123456789abcdef。media:short", "parts": [{ "url": format!("media:{whole}") }],
            "media": [{ "kind": { "stored": "fedcba9876543210ff" } }], "other": "media:团子团子团子团子" });
        let mut found = BTreeSet::new();
        addresses(&document, &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["0123456789abcdef", "2cf24dba5fb0a30e", "fedcba9876543210"]);
    }
}
