//! What a package has of a capability when it asks for other details than were granted: at most what was granted.

use serde_json::{Map, Number, Value};

/// The details of a capability, as they stand in a manifest and in a grant.
pub(crate) type Details = Map<String, Value>;

/// What of the details asked for lies within those granted; `None` where they have nothing in common.
///
/// By shape, as the details of all capabilities keep to it: lists have the entries that both have, numbers the smaller of
/// the two, `true` has to stand in both, a text has to be the same. What is left out stands for its default, so it is
/// never taken from the side that asks alone: the grant was given for the default then.
pub(crate) fn narrow(asked: &Details, granted: &Details) -> Option<Details> {
    let mut both = Details::new();
    for (key, granted) in granted {
        let Some(asked) = asked.get(key) else {
            // A default may be wider than what was granted. A thing that is not asked for is not opened, though.
            if !matches!(granted, Value::Object(_) | Value::Bool(_)) {
                both.insert(key.clone(), granted.clone());
            }
            continue;
        };
        match (meet(asked, granted), granted) {
            (Some(met), _) => drop(both.insert(key.clone(), met)),
            // Another thing of the same name.
            (None, Value::Object(_)) => {}
            (None, _) => return None,
        }
    }
    Some(both)
}

fn meet(asked: &Value, granted: &Value) -> Option<Value> {
    match (asked, granted) {
        (Value::Object(asked), Value::Object(granted)) => narrow(asked, granted).map(Value::Object),
        // An empty list is none: it may stand for a default.
        (Value::Array(wanted), Value::Array(given)) if wanted.is_empty() || given.is_empty() => Some(granted.clone()),
        (Value::Array(asked), Value::Array(granted)) => {
            let both: Vec<Value> = asked.iter().filter(|entry| granted.contains(entry)).cloned().collect();
            (!both.is_empty()).then_some(Value::Array(both))
        }
        (Value::Number(asked), Value::Number(granted)) => smaller(asked, granted).cloned().map(Value::Number),
        (Value::Bool(asked), Value::Bool(granted)) => Some(Value::Bool(*asked && *granted)),
        _ => (asked == granted).then(|| granted.clone()),
    }
}

fn smaller<'a>(one: &'a Number, other: &'a Number) -> Option<&'a Number> {
    let is_smaller = match (one.as_i64(), other.as_i64()) {
        (Some(one), Some(other)) => one <= other,
        _ => one.as_f64()? <= other.as_f64()?,
    };
    Some(if is_smaller { one } else { other })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn details(value: Value) -> Details {
        match value {
            Value::Object(details) => details,
            other => panic!("{other} is no table"),
        }
    }

    #[test]
    fn a_package_has_at_most_what_was_granted() {
        let rows = [
            // The same, and less.
            (json!({ "hosts": ["a", "b"] }), json!({ "hosts": ["a", "b"] }), Some(json!({ "hosts": ["a", "b"] }))),
            (json!({ "hosts": ["a"] }), json!({ "hosts": ["a", "b"] }), Some(json!({ "hosts": ["a"] }))),
            // More of everything.
            (json!({ "hosts": ["a", "evil"] }), json!({ "hosts": ["a"] }), Some(json!({ "hosts": ["a"] }))),
            (json!({ "most": 100 }), json!({ "most": 10 }), Some(json!({ "most": 10 }))),
            (json!({ "most": 0.5 }), json!({ "most": 2 }), Some(json!({ "most": 0.5 }))),
            (json!({ "write": true }), json!({ "write": false }), Some(json!({ "write": false }))),
            (json!({ "hosts": ["a"] }), json!({}), Some(json!({}))),
            (json!({ "hosts": ["a"] }), json!({ "hosts": [] }), Some(json!({ "hosts": [] }))),
            // Nothing in common.
            (json!({ "hosts": ["evil"] }), json!({ "hosts": ["a"] }), None),
            (json!({ "as": "root" }), json!({ "as": "ada" }), None),
            (json!({ "hosts": "a" }), json!({ "hosts": ["a"] }), None),
            // A default is not wider than what was granted.
            (json!({}), json!({ "methods": ["GET"] }), Some(json!({ "methods": ["GET"] }))),
            (json!({ "methods": [] }), json!({ "methods": ["GET"] }), Some(json!({ "methods": ["GET"] }))),
            // What is not asked for any more is not had.
            (json!({}), json!({ "write": true, "notes": { "path": "/n" } }), Some(json!({}))),
        ];
        for (asked, granted, both) in rows {
            let (said, had) = (format!("{asked} of {granted}"), both.map(details));
            assert_eq!(narrow(&details(asked), &details(granted)), had, "{said}");
        }
    }

    #[test]
    fn a_thing_that_is_another_now_is_not_had_and_the_others_are() {
        let granted = json!({ "folders": { "notes": { "path": "/n", "write": true }, "music": { "path": "/m" } } });
        let asked = json!({ "folders": {
            "notes": { "path": "/etc", "write": true }, "music": { "path": "/m", "write": true }, "more": { "path": "/" },
        } });
        let both = json!({ "folders": { "music": { "path": "/m" } } });
        assert_eq!(narrow(&details(asked), &details(granted)), Some(details(both)));
    }

    fn table(entry: impl Strategy<Value = Value>) -> impl Strategy<Value = Details> {
        proptest::collection::btree_map("[xyz]", entry, 0..3).prop_map(|map| map.into_iter().collect())
    }

    fn any_details() -> impl Strategy<Value = Details> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..5_i64).prop_map(Value::from),
            "[ab]".prop_map(Value::from),
            proptest::collection::vec("[abc]", 0..3).prop_map(Value::from),
        ];
        table(prop_oneof![leaf.clone(), table(leaf).prop_map(Value::Object)])
    }

    /// Whether everything that the one says the other says as well.
    fn is_within(had: &Value, granted: &Value) -> bool {
        match (had, granted) {
            (Value::Object(had), Value::Object(granted)) => {
                had.iter().all(|(key, value)| granted.get(key).is_some_and(|granted| is_within(value, granted)))
            }
            (Value::Array(had), Value::Array(granted)) => had.iter().all(|entry| granted.contains(entry)),
            (Value::Number(had), Value::Number(granted)) => had.as_f64() <= granted.as_f64(),
            (Value::Bool(had), Value::Bool(granted)) => *granted || !had,
            _ => had == granted,
        }
    }

    proptest! {
        #[test]
        fn what_is_granted_is_had_whole_and_asking_for_it_again_changes_nothing(asked in any_details(), granted in any_details()) {
            prop_assert_eq!(narrow(&granted, &granted), Some(granted.clone()));
            if let Some(both) = narrow(&asked, &granted) {
                prop_assert_eq!(narrow(&both, &granted), Some(both.clone()));
                prop_assert!(is_within(&Value::Object(both), &Value::Object(granted)), "it has what was not granted");
            }
        }
    }
}
