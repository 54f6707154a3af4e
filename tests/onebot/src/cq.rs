//! Messages as CQ strings.

use serde_json::Value;

/// Writes segments as one string.
pub(crate) fn write(segments: &[Value]) -> String {
    segments.iter().map(one).collect()
}

fn one(segment: &Value) -> String {
    let kind = segment["type"].as_str().unwrap_or_default();
    if kind == "text" {
        return escape(segment["data"]["text"].as_str().unwrap_or_default(), false);
    }
    let data = segment["data"].as_object().into_iter().flatten();
    let data = data.map(|(key, value)| format!(",{key}={}", escape(&plain(value), true)));
    format!("[CQ:{kind}{}]", data.collect::<String>())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn escape(text: &str, in_code: bool) -> String {
    let text = text.replace('&', "&amp;").replace('[', "&#91;").replace(']', "&#93;");
    if in_code { text.replace(',', "&#44;") } else { text }
}

/// What people see of a message in any form.
pub(crate) fn words(message: &Value) -> String {
    match message {
        Value::String(text) => {
            text.replace("&#91;", "[").replace("&#93;", "]").replace("&#44;", ",").replace("&amp;", "&")
        }
        Value::Array(segments) => {
            segments.iter().filter_map(|segment| segment["data"]["text"].as_str()).collect::<Vec<_>>().concat()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_never_taken_for_a_code() {
        let message =
            [json!({"type": "at", "data": {"qq": "1,2"}}), json!({"type": "text", "data": {"text": "[a]&,"}})];
        assert_eq!(write(&message), "[CQ:at,qq=1&#44;2]&#91;a&#93;&amp;,");
    }
}
