//! Reasoning that has to go back as it came, and at the place where it stood.
//!
//! A message is kept as one text, one list of calls and blobs, so the kind of a blob with reasoning says what came before
//! it: `reasoning/12/1` stood behind the first twelve bytes of the text and the first call.

use homeagent_adapters::Answer;
use homeagent_sdk::adapter::Opaque;
use serde_json::Value;

const REASONING: &str = "reasoning/";

/// Keeps an item with reasoning, if the vendor takes it back: what is not stored there has to be encrypted.
pub(crate) fn tell(item: &Value, text: usize, calls: usize, answer: &mut Answer) {
    let Some(mut fields) = item.as_object().cloned() else { return };
    if fields.get("encrypted_content").and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    fields.retain(|name, value| name != "status" && !value.is_null());
    answer.opaque(format!("{REASONING}{text}/{calls}"), Value::Object(fields).to_string());
}

/// A kept item, with the bytes of text and the calls before it.
pub(crate) fn read(blob: &Opaque) -> Option<(usize, usize, Value)> {
    let (text, calls) = blob.kind.strip_prefix(REASONING)?.split_once('/')?;
    Some((text.parse().ok()?, calls.parse().ok()?, serde_json::from_str(&blob.value).ok()?))
}
