//! What a script makes of an answer, from JSON and back.

use homeagent_sdk::Error;
use homeagent_sdk::adapter::{Delta, Failure, FailureClass, FinishReason, Opaque, ToolCallDelta, Usage};
use homeagent_sdk::script::from_json;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors;
use crate::reader::Answer;

/// A piece of an answer, or several of one moment, which count in the order of these fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pieces {
    reasoning: Option<String>,
    text: Option<String>,
    tool_call: Option<RawToolCall>,
    opaque: Option<RawOpaque>,
    usage: Option<RawUsage>,
    finish: Option<RawFinish>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawToolCall {
    index: Option<u32>,
    id: Option<String>,
    name: Option<String>,
    /// A text is a piece of the arguments' JSON; anything else is the arguments.
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOpaque {
    kind: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUsage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    cached: Option<u64>,
    cache_written: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFailure {
    class: RawClass,
    message: String,
    retry_after_ms: Option<u64>,
}

/// An enum of the contract by the names that the contract gives its cases.
macro_rules! names {
    ($raw:ident => $of:ident { $($case:ident $name:literal),+ $(,)? }) => {
        #[derive(Clone, Copy, Deserialize)]
        enum $raw { $(#[serde(rename = $name)] $case),+ }

        impl From<$raw> for $of {
            fn from(raw: $raw) -> Self {
                match raw { $($raw::$case => $of::$case),+ }
            }
        }

        impl $raw {
            fn name_of(of: $of) -> &'static str {
                match of { $($of::$case => $name),+ }
            }
        }
    };
}

names!(RawFinish => FinishReason {
    Stop "stop", ToolCalls "tool-calls", Length "length", ContentFilter "content-filter", Refusal "refusal",
    Pause "pause", Other "other",
});
names!(RawClass => FailureClass {
    Auth "auth", Permission "permission", Unfunded "unfunded", RateLimited "rate-limited", Overloaded "overloaded",
    BadRequest "bad-request", ContextOverflow "context-overflow", ContentFilter "content-filter", Timeout "timeout",
    Network "network", StreamEndedEarly "stream-ended-early", Protocol "protocol",
});

impl From<RawUsage> for Usage {
    fn from(raw: RawUsage) -> Self {
        let RawUsage { input, output, cached, cache_written } = raw;
        Usage { input, output, cached, cache_written }
    }
}

/// Puts what a script returned to the answer: nothing, a piece, or a list of pieces.
pub(super) fn put(function: &str, returned: Value, answer: &mut Answer) -> Result<(), Error> {
    match returned {
        Value::Null => Ok(()),
        Value::Array(pieces) => pieces.into_iter().try_for_each(|piece| put(function, piece, answer)),
        Value::Object(_) => {
            let pieces = from_json(&format!("what {function} returned"), returned)?;
            put_pieces(function, pieces, answer)
        }
        other => Err(Error::other(format!(
            "{function} returns pieces of an answer, such as {{ text = ... }}, and returned {other}"
        ))),
    }
}

fn put_pieces(function: &str, pieces: Pieces, answer: &mut Answer) -> Result<(), Error> {
    answer.reasoning(&pieces.reasoning.unwrap_or_default());
    answer.text(&pieces.text.unwrap_or_default());
    if let Some(RawToolCall { index, id, name, arguments }) = pieces.tool_call {
        let arguments = match arguments {
            Value::Null => String::new(),
            Value::String(piece) => piece,
            whole => whole.to_string(),
        };
        answer.tool_call(ToolCallDelta { index, id, name, arguments });
    }
    if let Some(RawOpaque { kind, value }) = pieces.opaque {
        answer.opaque(kind, value);
    }
    if let Some(usage) = pieces.usage {
        answer.usage(usage.into());
    }
    if let Some(reason) = pieces.finish {
        answer.finish(reason.into());
    }
    match pieces.error.filter(|error| !errors::is_nothing(error)) {
        None => Ok(()),
        Some(told) if told.get("class").is_some() => {
            let failure = failure(function, told, None)?;
            answer.failed(failure);
            Ok(())
        }
        Some(told) => {
            answer.error(&errors::force(&told));
            Ok(())
        }
    }
}

/// A failure: `class`, `message`, `retry_after_ms`; or an error as the vendor tells it, whose words say what it means.
/// `status` is the answer's, where it is not 200.
pub(super) fn failure(function: &str, told: Value, status: Option<u16>) -> Result<Failure, Error> {
    if told.get("class").is_none() {
        return Ok(errors::failure(&errors::force(&told), status));
    }
    let RawFailure { class, message, retry_after_ms } = from_json(&format!("the failure of {function}"), told)?;
    Ok(Failure { class: class.into(), message, retry_after_ms })
}

/// Pieces as a script returns them.
pub(super) fn to_json(deltas: Vec<Delta>) -> Value {
    deltas.into_iter().map(piece).collect()
}

fn piece(delta: Delta) -> Value {
    match delta {
        Delta::Text(text) => json!({ "text": text }),
        Delta::Reasoning(text) => json!({ "reasoning": text }),
        Delta::ToolCall(ToolCallDelta { index, id, name, arguments }) => {
            json!({ "tool_call": { "index": index, "id": id, "name": name, "arguments": arguments } })
        }
        Delta::Usage(Usage { input, output, cached, cache_written }) => {
            json!({ "usage": { "input": input, "output": output, "cached": cached, "cache_written": cache_written } })
        }
        Delta::Finish(reason) => json!({ "finish": RawFinish::name_of(reason) }),
        Delta::Opaque(Opaque { kind, value }) => json!({ "opaque": { "kind": kind, "value": value } }),
        Delta::Error(failure) => json!({ "error": failure_form(failure) }),
    }
}

/// A failure as a script returns it.
pub(super) fn failure_form(Failure { class, message, retry_after_ms }: Failure) -> Value {
    json!({ "class": RawClass::name_of(class), "message": message, "retry_after_ms": retry_after_ms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lines;

    fn said(returned: Value) -> Result<Vec<String>, String> {
        let mut answer = Answer::default();
        put("f", returned, &mut answer).map_err(|error| error.message())?;
        Ok(lines(answer.take()))
    }

    #[test]
    fn pieces_come_alone_in_lists_and_several_at_once() {
        assert_eq!(said(Value::Null), Ok(vec![]));
        assert_eq!(said(json!({ "text": "a" })), Ok(vec!["text a".into()]));
        let all = json!([{ "finish": "tool-calls", "text": "b", "reasoning": "a" },
            { "tool_call": { "id": "1", "name": "f", "arguments": { "x": 1 } } }, { "text": "" }]);
        let expected = ["reasoning a", "text b", "finish ToolCalls", "call - 1 f {\"x\":1}"];
        assert_eq!(said(all), Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn what_is_misspelt_is_named() {
        for (returned, word) in [
            (json!({ "txet": "a" }), "txet"),
            (json!({ "finish": "sotp" }), "sotp"),
            (json!({ "usage": { "inptu": 1 } }), "inptu"),
            (json!({ "error": { "class": "autumn", "message": "" } }), "autumn"),
            (json!("text"), "{ text = ... }"),
        ] {
            let error = said(returned).expect_err("it is wrong");
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn an_error_has_a_class_or_words_that_say_one() {
        let told = json!({ "error": { "class": "rate-limited", "message": "wait", "retry_after_ms": 5 } });
        assert_eq!(said(told), Ok(vec!["error RateLimited: wait".into()]));
        let told = json!({ "error": { "code": "insufficient_quota", "message": "pay" } });
        assert_eq!(said(told), Ok(vec!["error Unfunded: pay".into()]));
    }

    #[test]
    fn an_error_that_says_nothing_is_none_and_a_filters_words_are_kept() {
        for nothing in [json!(null), json!(false), json!(""), json!(0), json!({}), json!([])] {
            assert_eq!(said(json!({ "text": "a", "error": nothing })), Ok(vec!["text a".into()]), "{nothing}");
        }
        let told = json!({ "code": "content_filter", "message": "Content Exists Risk" });
        let failure = failure("f", told, Some(400)).expect("it is one");
        assert_eq!((failure.class, &*failure.message), (FailureClass::ContentFilter, "Content Exists Risk"));
    }

    #[test]
    fn pieces_go_to_a_script_as_they_come_back() {
        let pieces = json!([{ "text": "a" }, { "usage": { "input": 1, "output": 2, "cached": 1, "cache_written": null } },
            { "tool_call": { "index": 0, "id": "x", "name": null, "arguments": "{" } }, { "finish": "length" },
            { "opaque": { "kind": "k", "value": "v" } },
            { "error": { "class": "auth", "message": "no", "retry_after_ms": null } }]);
        let mut answer = Answer::default();
        put("f", pieces.clone(), &mut answer).expect("they are right");
        assert_eq!(to_json(answer.take()), pieces);
    }
}
