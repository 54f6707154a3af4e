//! What scripts can ask: as adapters, the functions here and nothing of the host; as plugins, both.

use std::cell::{Cell, RefCell};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use homeagent_sdk::Error;
use homeagent_sdk::script::{self, from_json, list};
use serde::Deserialize;
use serde_json::Value;

use super::requests::{self, PartForm};
use super::{deltas, records};
use crate::completions::{self, Audio, Completions, Style, Thoughts};
use crate::reader::Reader;
use crate::{content, errors};

thread_local! {
    /// The script is an adapter.
    static CONFINED: Cell<bool> = const { Cell::new(false) };
    /// What reads chat completions. One instance serves one model call, so there is one answer to read.
    static COMPLETIONS: RefCell<Reader<Completions>> = RefCell::new(Reader::new());
}

/// The script is an adapter from here on: it asks the host for nothing.
pub(super) fn confine() {
    CONFINED.set(true);
}

/// Asks what is answered at once: `base64-write` and `base64-read` with a text; `text-of` with the parts of a message;
/// `completions-request` with `{ request, style }`, `completions-chunk` with an event, `completions-response` and
/// `completions-error` with an answer. Of the SDK's [`now`](script::now) an adapter has `json-read`, `json-write` and
/// `log` alone.
///
/// # Errors
/// What is wrong with the argument, or that there is no such function.
pub fn now(function: &str, argument: Value) -> Result<Value, Error> {
    match function {
        "base64-write" => Ok(STANDARD.encode(from_json::<String>(function, argument)?).into()),
        "base64-read" => {
            let bytes = STANDARD.decode(from_json::<String>(function, argument)?);
            let bytes = bytes.map_err(|error| Error::invalid(format!("it is not Base64: {error}")))?;
            let text = String::from_utf8(bytes).map_err(|_| Error::invalid("what it encodes is no text"))?;
            Ok(text.into())
        }
        "text-of" => text_of(argument),
        "completions-request" => completions_request(argument),
        "completions-chunk" => {
            let event = records::event_back(argument)?;
            Ok(deltas::to_json(COMPLETIONS.with_borrow_mut(|reader| reader.step(&[event]))))
        }
        "completions-response" => {
            let response = records::response_back(argument)?;
            Ok(deltas::to_json(Reader::<Completions>::new().whole(&response)))
        }
        "completions-error" => {
            let failure = errors::of_response(&records::response_back(argument)?);
            Ok(deltas::failure_form(failure))
        }
        "log" if CONFINED.get() => {
            // Into the log as well: what an adapter writes there needs no capability.
            eprintln!("{}", argument["message"].as_str().unwrap_or_default());
            Ok(Value::Null)
        }
        "json-read" | "json-write" => script::now(function, argument),
        _ if CONFINED.get() => Err(refused(function)),
        _ => script::now(function, argument),
    }
}

/// Asks what takes its time, as the SDK's [`wait`](script::wait) does. An adapter is refused.
///
/// # Errors
/// What the host says, or that the script is an adapter.
pub async fn wait(function: &str, argument: Value) -> Result<Value, Error> {
    if CONFINED.get() { Err(refused(function)) } else { script::wait(function, argument).await }
}

fn refused(function: &str) -> Error {
    Error::other(format!(
        "an adapter turns requests and answers and can ask the host for nothing, so not for `{function}`"
    ))
}

/// The parts of a message as one text; in the place of a medium stands what it was.
fn text_of(parts: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Parts(#[serde(deserialize_with = "list")] Vec<PartForm>);
    let Parts(parts) = from_json("the parts", parts)?;
    let texts: Vec<String> = requests::content(parts)?.iter().map(content::as_text).collect();
    Ok(texts.join("\n").into())
}

/// Where the vendor differs from what most take.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawStyle {
    thoughts: RawThoughts,
    images: Option<bool>,
    audio: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawThoughts {
    #[default]
    Never,
    OfThisTurn,
    OfTurnsWithTools,
}

impl From<RawStyle> for Style {
    fn from(raw: RawStyle) -> Self {
        let thoughts = match raw.thoughts {
            RawThoughts::Never => Thoughts::Never,
            RawThoughts::OfThisTurn => Thoughts::OfThisTurn,
            RawThoughts::OfTurnsWithTools => Thoughts::OfTurnsWithTools,
        };
        let audio = if raw.audio.unwrap_or(true) { Audio::Bytes } else { Audio::Never };
        Style { thoughts, images: raw.images.unwrap_or(true), audio, ..Style::default() }
    }
}

fn completions_request(argument: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Asked {
        request: Value,
        style: Option<RawStyle>,
    }
    let Asked { request, style } = from_json("completions.request", argument)?;
    let request = requests::from_form(request)?;
    let body = completions::body(&request, &style.unwrap_or_default().into()).map_err(Error::Invalid)?;
    Ok(records::request_form(content::post("/chat/completions", body, &request)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[test]
    fn base64_goes_both_ways_and_says_what_is_none() {
        assert_eq!(now("base64-write", "tea ☕".into()), Ok("dGVhIOKYlQ==".into()));
        assert_eq!(now("base64-read", "dGVhIOKYlQ==".into()), Ok("tea ☕".into()));
        let error = now("base64-read", "?".into()).expect_err("it is none").message();
        assert!(error.contains("not Base64"), "{error}");
    }

    #[test]
    fn a_request_for_completions_can_be_changed_by_the_script() {
        let request = testing::request("m", vec![testing::user("hi")]);
        let told = requests::to_json(&request).expect("JSON");
        let http = now("completions-request", json!({ "request": told })).expect("it is right");
        assert_eq!((&http["path"], &http["json"]["model"]), (&json!("/chat/completions"), &json!("m")));
        let error = now("completions-request", json!({ "request": {} })).expect_err("it is none").message();
        assert!(error.contains("model"), "{error}");
    }

    #[test]
    fn an_adapter_can_ask_the_host_for_nothing() {
        // Whether it may is a matter of the thread.
        std::thread::spawn(|| {
            confine();
            for function in ["setting", "publish", "sign"] {
                let error = now(function, Value::Null).expect_err("it is refused").message();
                assert!(error.contains(function) && error.contains("adapter"), "{error}");
            }
            assert_eq!(now("json-read", "[1]".into()), Ok(json!([1])));
        })
        .join()
        .expect("no panic");
    }
}
