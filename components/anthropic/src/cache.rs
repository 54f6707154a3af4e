//! Marks up to which the vendor keeps a prompt.

use serde_json::{Value, json};

/// How long the vendor keeps what was read, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    Off,
    FiveMinutes,
    OneHour,
}

impl Cache {
    /// Marks the last block, which closes a part of the prompt that comes again.
    pub(crate) fn mark(self, blocks: &mut [Value]) {
        let mark = match self {
            Cache::Off => return,
            Cache::FiveMinutes => json!({"type": "ephemeral"}),
            Cache::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
        };
        if let Some(block) = blocks.last_mut().and_then(Value::as_object_mut) {
            block.insert("cache_control".to_owned(), mark);
        }
    }
}
