//! Frames for tests.

use proptest::prelude::*;
use serde_json::{Value, json};

/// The account of the tests.
pub(crate) const ME: &str = "10001000";

/// Any JSON, with the fields and words of frames now and then.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let key = || {
        prop_oneof![
            "type|data|text|qq|id|file|url|content|message|nickname|user_id|sender|message_id|group_id|self_id",
            "post_type|message_type|notice_type|request_type|sub_type|echo|status|retcode|raw_message|time|card|role",
            "\\PC{0,4}",
        ]
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "text|image|at|reply|forward|node|json|xml|record|10001000|all".prop_map(Value::from),
        "message|private|group|notice|request|meta_event|heartbeat|lifecycle|notify|poke|ok".prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..8).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A message from 20002000 to the account of the tests.
pub(crate) fn private(id: i64, message: &Value) -> Value {
    json!({
        "time": 1_790_000_000, "self_id": 10_001_000, "post_type": "message", "message_type": "private",
        "sub_type": "friend", "message_id": id, "user_id": 20_002_000, "message": message,
        "sender": {"user_id": 20_002_000, "nickname": "甲"},
    })
}

/// A message from 20002000 in the group 30003000.
pub(crate) fn group(id: i64, message: &Value) -> Value {
    json!({
        "time": 1_790_000_000, "self_id": 10_001_000, "post_type": "message", "message_type": "group",
        "sub_type": "normal", "message_id": id, "user_id": 20_002_000, "group_id": 30_003_000, "message": message,
        "sender": {"user_id": 20_002_000, "nickname": "甲", "card": "老王", "role": "member"},
    })
}

/// A piece of text.
pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "data": {"text": text}})
}

/// A piece that mentions somebody.
pub(crate) fn at(who: &str) -> Value {
    json!({"type": "at", "data": {"qq": who}})
}
