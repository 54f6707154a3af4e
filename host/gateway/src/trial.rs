//! Recorded frames of a channel, and the inputs that it makes of them in the shape in which cases write them down.

use std::collections::HashMap;

use homeagent_types::ports::Frame;
use homeagent_types::{CallError, Media, MediaSource, Peer, RecordedAnswer, Recording, Submission};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// As many cases are played at once.
const MOST_CASES: usize = 1_000;

/// Frames that belong together, and what has to come of them.
#[derive(Debug)]
pub(crate) struct Case {
    name: Option<String>,
    pub(crate) recording: Recording,
    want: Option<Value>,
}

/// What came of a case.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CaseOutcome {
    /// The case's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The input, in the shape of the cases' `want`; `null` where the channel failed.
    got: Value,
    /// Whether it is what the case wants, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    /// The parts that are not as the case wants them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs: Vec<String>,
    /// Why the channel failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Reads what is to be played: a list of cases, a case, a list of frames or a frame.
pub(crate) fn read(document: Value) -> Result<Vec<Case>, String> {
    let is_case = |value: &Value| value.get("frame").is_some();
    let cases = match document {
        Value::Array(cases) if cases.iter().any(is_case) => {
            if let Some(at) = cases.iter().position(|case| !is_case(case)) {
                return Err(format!("item {at} of the list has no `frame`, and others have one"));
            }
            cases.into_iter().map(case).collect::<Result<Vec<_>, _>>()?
        }
        document if is_case(&document) => vec![case(document)?],
        frames => vec![Case { name: None, recording: recording(frames)?, want: None }],
    };
    if cases.len() > MOST_CASES {
        return Err(format!("there are {} cases; {MOST_CASES} are the most", cases.len()));
    }
    Ok(cases)
}

fn case(mut case: Value) -> Result<Case, String> {
    let name = case.get("name").and_then(Value::as_str).map(str::to_owned);
    let want = case.get_mut("want").map(Value::take);
    Ok(Case { name, recording: recording(case["frame"].take())?, want })
}

/// The frames of a recording, and what it has of requests and their answers: a frame with an `action` is a request, and the
/// one with its `echo` the answer, unless they are one.
fn recording(frames: Value) -> Result<Recording, String> {
    let frames = match frames {
        Value::Array(frames) => frames,
        frame => vec![frame],
    };
    let mut recording = Recording::default();
    let mut asked: HashMap<String, (String, Option<Value>)> = HashMap::new();
    for frame in frames {
        let mut object = match frame {
            // As it went over the wire.
            Value::String(text) => {
                recording.frames.push(Frame::Text(text));
                continue;
            }
            Value::Object(object) => object,
            other => return Err(format!("a frame is an object, or a text; {other} is neither")),
        };
        let action = object.get("action").and_then(Value::as_str).map(str::to_owned);
        let echo = object.get("echo").map(Value::to_string);
        let is_answer = ["status", "retcode", "data"].iter().any(|key| object.contains_key(*key));
        match (action, echo) {
            (Some(action), _) if is_answer => {
                object.remove("action");
                let params = object.remove("params");
                recording.answers.push(RecordedAnswer { action, params, answer: object });
            }
            (Some(action), Some(echo)) => drop(asked.insert(echo, (action, object.remove("params")))),
            // A request that nobody answered.
            (Some(_), None) => {}
            (None, echo) => match echo.and_then(|echo| asked.remove(&echo)) {
                Some((action, params)) => recording.answers.push(RecordedAnswer { action, params, answer: object }),
                None => recording.frames.push(Frame::Text(Value::from(object).to_string())),
            },
        }
    }
    Ok(recording)
}

impl Case {
    /// What came of it.
    pub(crate) fn outcome(self, outcome: Result<Vec<Submission>, CallError>) -> CaseOutcome {
        let (got, error) = match outcome {
            Ok(inputs) => (shape(&inputs), None),
            Err(error) => (Value::Null, Some(error.to_string())),
        };
        let differs = self.want.as_ref().map(|want| differing(&got, want));
        CaseOutcome {
            name: self.name,
            ok: differs.as_ref().map(|differs| differs.is_empty() && error.is_none()),
            got,
            differs: differs.unwrap_or_default(),
            error,
        }
    }
}

/// The inputs of a case: one in the shape of cases; none as what is ignored; several, which no case has, in a list.
fn shape(inputs: &[Submission]) -> Value {
    match inputs {
        [] => json!({
            "ignored": true, "conversation": null, "sender": null, "text": "", "mentions_me": false, "mentions": [],
            "reply_to": null, "media": [],
        }),
        [input] => input_shape(input),
        inputs => json!({ "ignored": false, "inputs": inputs.iter().map(input_shape).collect::<Vec<_>>() }),
    }
}

fn input_shape(input: &Submission) -> Value {
    let meta = |key: &str| input.meta.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let conversation = match &input.peer {
        Peer::Person(user) => format!("private:{user}"),
        Peer::Group(group) => format!("group:{group}"),
        Peer::Other(other) => other.clone(),
    };
    let mentions = meta("mentions").into_iter().flat_map(|mentions| mentions.split(','));
    let mut shape = json!({
        "ignored": false,
        "conversation": conversation,
        "sender": {
            "id": input.user, "name": input.display_name, "platform_role": meta("platform_role"),
        },
        // A channel that adds to what was said tells that apart.
        "text": meta("text").unwrap_or_else(|| input.payload.text()),
        "mentions_me": meta("mentions_me") == Some("true"),
        "mentions": mentions.collect::<Vec<_>>(),
        "reply_to": meta("reply_to"),
        "media": input.media.iter().map(medium_shape).collect::<Vec<_>>(),
    });
    if let Some(group) = meta("reply_group") {
        shape["reply_group"] = json!(group);
    }
    shape
}

fn medium_shape(medium: &Media) -> Value {
    let kind = medium.meta.iter().find(|(name, _)| name == "kind").map(|(_, value)| value.as_str());
    let kind = kind.or_else(|| {
        let (kind, _) = medium.mime.split_once('/')?;
        ["audio", "image", "video"].contains(&kind).then_some(kind)
    });
    let kind = kind.unwrap_or("file");
    match &medium.source {
        MediaSource::Url(url) => json!({ "kind": kind, "url": url }),
        MediaSource::Stored(address) => json!({ "kind": kind, "stored": address }),
        MediaSource::Inline(bytes) => json!({ "kind": kind, "bytes": bytes.len() }),
    }
}

/// The names of the parts in which two inputs differ.
fn differing(got: &Value, want: &Value) -> Vec<String> {
    let (Some(got), Some(want)) = (got.as_object(), want.as_object()) else {
        return if got == want { Vec::new() } else { vec!["got".to_owned()] };
    };
    let only_got = got.keys().filter(|key| !want.contains_key(*key));
    let differs = |key: &&String| Map::get(got, *key) != Map::get(want, *key);
    want.keys().chain(only_got).filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(document: Value) -> Vec<usize> {
        let cases = read(document).expect("it can be played");
        cases.into_iter().map(|case| case.recording.frames.len()).collect()
    }

    #[test]
    fn a_frame_frames_a_case_and_cases_are_told_apart() {
        let frame = json!({ "post_type": "message" });
        assert_eq!(frames(frame.clone()), [1]);
        assert_eq!(frames(json!([frame, frame, "as it was sent"])), [3]);
        assert_eq!(frames(json!({ "name": "a", "frame": frame })), [1]);
        assert_eq!(frames(json!([{ "frame": [frame, frame] }, { "frame": frame, "want": {} }])), [2, 1]);
        assert_eq!(frames(json!([])), [0]);
        read(json!([{ "frame": frame }, frame])).expect_err("the second is no case");
        read(json!(7)).expect_err("a number is no frame");
    }

    #[test]
    fn answers_are_found_by_what_was_asked() {
        let case = read(json!([
            { "post_type": "message" },
            { "action": "get_msg", "params": { "message_id": 1 }, "echo": "a" },
            { "status": "ok", "retcode": 0, "data": { "x": 1 }, "echo": "a" },
            { "action": "get_record", "status": "ok", "data": {} },
            { "status": "ok", "echo": "nobody asked" },
        ]));
        let recording = case.expect("it can be played").remove(0).recording;
        let asked: Vec<_> = recording.answers.iter().map(|it| (it.action.as_str(), it.params.is_some())).collect();
        assert_eq!(asked, [("get_msg", true), ("get_record", false)]);
        assert_eq!(recording.answers[0].answer["data"], json!({ "x": 1 }));
        assert_eq!(recording.frames.len(), 2);
    }

    #[test]
    fn what_differs_is_named() {
        let want = json!({ "ignored": true, "text": "a" });
        assert_eq!(differing(&want, &want), [""; 0]);
        assert_eq!(differing(&json!({ "ignored": true, "text": "b", "more": 1 }), &want), ["text", "more"]);
        assert_eq!(differing(&Value::Null, &want), ["got"]);
    }
}
