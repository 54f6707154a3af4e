//! What a client says in a frame.

use serde_json::Value;

use crate::field;
use crate::notice::{self, Notice};
use crate::segment::{self, Segment};

/// The longest frame that is read, in bytes; a larger one would need more memory than an instance has.
const LONGEST: usize = 4 << 20;

/// A frame, understood.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// Somebody said something.
    Message(Box<Message>),
    /// Something happened, or somebody asks to be let in.
    Notice(Box<Notice>),
    /// The client tells of itself.
    Meta(Meta),
    /// The answer to a request of ours.
    Answer(Answer),
    /// Something that concerns nobody: what we said ourselves, kinds that are not known.
    Ignored,
}

/// Where something is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Between one person, by account, and us.
    Private(String),
    /// In a group, by its id.
    Group(String),
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// The account that received it.
    pub(crate) self_id: String,
    pub(crate) id: Option<String>,
    /// Seconds since 1970.
    pub(crate) time: Option<u64>,
    pub(crate) place: Place,
    pub(crate) user: String,
    /// What they are called here.
    pub(crate) name: Option<String>,
    pub(crate) platform_role: &'static str,
    /// The group by which a temporary session came about.
    pub(crate) reply_group: Option<String>,
    pub(crate) segments: Vec<Segment>,
}

/// What a client tells of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    /// It is there.
    Connected { self_id: Option<String> },
    /// It is still there: whether its account is on line, and how often it says so, in milliseconds.
    Heartbeat { self_id: Option<String>, online: bool, interval: Option<u64> },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// What we sent with the request; nothing, where a client could not read the request.
    pub(crate) echo: Option<String>,
    pub(crate) outcome: Result<Value, Refusal>,
}

/// Why a client did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) retcode: i64,
    /// What the client says about it.
    pub(crate) words: String,
}

impl Place {
    /// The conversation's name: `private:ID` or `group:ID`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Private(user) => format!("private:{user}"),
            Self::Group(group) => format!("group:{group}"),
        }
    }

    /// The group's id.
    pub(crate) fn group(&self) -> Option<&str> {
        match self {
            Self::Private(_) => None,
            Self::Group(group) => Some(group),
        }
    }
}

/// Reads the JSON of a frame; the error says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    if text.len() > LONGEST {
        return Err(format!("a frame of {} bytes is not read; {LONGEST} are the most", text.len()));
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        // JavaScript writes halves of characters as they are, where somebody's message was cut between them.
        Err(_) if text.contains("\\u") => serde_json::from_str(&whole_characters(text)).map_err(|e| e.to_string())?,
        Err(error) => return Err(error.to_string()),
    };
    if matches!(value, Value::Object(_)) { Ok(value) } else { Err("a frame is a JSON object".to_owned()) }
}

/// Replaces escaped halves of characters that lack their other half.
fn whole_characters(text: &str) -> String {
    let unit = |at: usize| text.get(at..at + 6).filter(|it| it.starts_with("\\u")).and_then(|it| hex(&it[2..]));
    let mut whole = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let start = at + found;
        whole.push_str(&text[at..start]);
        let length = match (unit(start), unit(start + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.push('\u{fffd}');
                at = start + 6;
                continue;
            }
            (Some(_), _) => 6,
            // A backslash and what it escapes, which may be a backslash.
            (None, _) => 1 + text[start + 1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&text[start..start + length]);
        at = start + length;
    }
    whole.push_str(&text[at..]);
    whole
}

fn hex(digits: &str) -> Option<u32> {
    digits.chars().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// The account that a frame is about.
pub(crate) fn self_id(frame: &Value) -> Option<String> {
    field::party(&frame["self_id"])
}

/// What a frame says. `account` is the one its connection belongs to, for frames that do not say it.
pub(crate) fn read(frame: &Value, account: Option<&str>) -> Event {
    let self_id = self_id(frame).or_else(|| account.map(str::to_owned));
    match frame["post_type"].as_str() {
        Some("message") => self_id.and_then(|self_id| message(frame, self_id)).map_or(Event::Ignored, boxed),
        // NapCat says at once what its heartbeats say later.
        Some("notice") if frame["notice_type"] == "bot_offline" => {
            Event::Meta(Meta::Heartbeat { self_id, online: false, interval: None })
        }
        Some("notice" | "request") => {
            let notice = self_id.and_then(|self_id| notice::read(frame, self_id));
            notice.map_or(Event::Ignored, |notice| Event::Notice(Box::new(notice)))
        }
        Some("meta_event") => meta(frame, self_id).map_or(Event::Ignored, Event::Meta),
        Some(_) => Event::Ignored,
        None if frame.get("retcode").is_some() || frame.get("status").is_some() => Event::Answer(answer(frame)),
        None => Event::Ignored,
    }
}

fn boxed(message: Message) -> Event {
    Event::Message(Box::new(message))
}

fn message(frame: &Value, self_id: String) -> Option<Message> {
    let sender = &frame["sender"];
    let user = field::party(&frame["user_id"]).or_else(|| field::party(&sender["user_id"]))?;
    let kind = frame["message_type"].as_str()?;
    let group = field::party(&frame["group_id"]);
    let sub_type = frame["sub_type"].as_str();
    let (place, platform_role, reply_group) = match kind {
        "group" => (Place::Group(group?), role(sub_type, &sender["role"]), None),
        "private" => {
            let through = group.or_else(|| field::party(&sender["group_id"]));
            let is_temporary = matches!(sub_type, Some("group" | "group_self" | "other"));
            let role = if is_temporary { "temp" } else { "friend" };
            (Place::Private(user.clone()), role, through.filter(|_| is_temporary))
        }
        _ => return None,
    };
    let anonymous = if platform_role == "anonymous" { field::name(&frame["anonymous"]["name"]) } else { None };
    let name = anonymous.or_else(|| field::name(&sender["card"])).or_else(|| field::name(&sender["nickname"]));
    let mut segments = segment::read(&frame["message"]);
    if segments.is_empty() {
        segments = segment::read(&frame["raw_message"]);
    }
    Some(Message {
        self_id,
        id: field::id(&frame["message_id"]),
        time: field::integer(&frame["time"]).and_then(|time| u64::try_from(time).ok()),
        place,
        user,
        name,
        platform_role,
        reply_group,
        segments,
    })
}

/// What the platform calls the sender; it gives nobody any right here.
fn role(sub_type: Option<&str>, role: &Value) -> &'static str {
    match (sub_type, role.as_str()) {
        (Some("anonymous"), _) => "anonymous",
        (_, Some("owner")) => "group-owner",
        (_, Some("admin")) => "group-admin",
        _ => "group-member",
    }
}

fn meta(frame: &Value, self_id: Option<String>) -> Option<Meta> {
    match frame["meta_event_type"].as_str()? {
        "lifecycle" => Some(Meta::Connected { self_id }),
        "heartbeat" => {
            let says = |key: &str| field::truth(&frame["status"][key]).unwrap_or(true);
            let interval = field::integer(&frame["interval"]).and_then(|it| u64::try_from(it).ok());
            Some(Meta::Heartbeat { self_id, online: says("online") && says("good"), interval })
        }
        _ => None,
    }
}

fn answer(frame: &Value) -> Answer {
    let retcode = field::integer(&frame["retcode"]);
    let done = match (frame["status"].as_str(), retcode) {
        (Some("ok" | "async"), _) => true,
        (Some(_), _) => false,
        (None, retcode) => matches!(retcode, Some(0 | 1)),
    };
    let outcome = if done {
        Ok(frame["data"].clone())
    } else {
        let said = ["wording", "message", "msg"].iter().filter_map(|key| field::text(&frame[*key]));
        let words = said.map(|words| field::one_line(&words, 300)).find(|words| !words.is_empty());
        Err(Refusal { retcode: retcode.unwrap_or(-1), words: words.unwrap_or_default() })
    };
    Answer { echo: field::id(&frame["echo"]), outcome }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::samples::{self, ME, any_json};

    fn message(frame: &Value) -> Message {
        match read(frame, None) {
            Event::Message(message) => *message,
            other => panic!("a message, not {other:?}"),
        }
    }

    #[test]
    fn ids_may_be_texts_and_fields_may_be_missing() {
        let bare = json!({"post_type": "message", "message_type": "group", "self_id": "1", "group_id": "2",
            "user_id": "3", "raw_message": "嗨"});
        let message = message(&bare);
        assert_eq!((message.self_id.as_str(), message.user.as_str()), ("1", "3"));
        assert_eq!(message.place, Place::Group("2".to_owned()));
        assert_eq!((message.name, message.id), (None, None));
        assert_eq!(message.segments, [Segment::text("嗨")]);
    }

    #[test]
    fn a_temporary_session_knows_its_group() {
        let frame = |at: Value| {
            let mut frame = samples::private(1, &json!("hi"));
            frame["sub_type"] = json!("group");
            frame.as_object_mut().expect("an object").extend(at.as_object().expect("an object").clone());
            message(&frame)
        };
        for at in [json!({"group_id": 30}), json!({"sender": {"user_id": 20_002_000, "group_id": "30"}})] {
            let message = frame(at);
            assert_eq!((message.platform_role, message.reply_group.as_deref()), ("temp", Some("30")));
            assert_eq!(message.place.name(), "private:20002000");
        }
    }

    #[test]
    fn anonymous_people_are_called_as_they_want() {
        let mut frame = samples::group(1, &json!("hi"));
        frame["sub_type"] = json!("anonymous");
        frame["anonymous"] = json!({"id": 5, "name": "蒙面人", "flag": "f"});
        let message = message(&frame);
        assert_eq!((message.platform_role, message.name.as_deref()), ("anonymous", Some("蒙面人")));
    }

    #[test]
    fn answers_tell_success_from_failure() {
        let answer = |frame: Value| match read(&frame, None) {
            Event::Answer(answer) => answer,
            other => panic!("an answer, not {other:?}"),
        };
        let done = answer(json!({"status": "ok", "retcode": 0, "data": {"message_id": 5}, "echo": "a-1"}));
        assert_eq!(done, Answer { echo: Some("a-1".to_owned()), outcome: Ok(json!({"message_id": 5})) });
        let failed = answer(json!({"status": "failed", "retcode": "1200", "wording": "超时\n了", "echo": 7}));
        assert_eq!(failed.echo.as_deref(), Some("7"));
        assert_eq!(failed.outcome, Err(Refusal { retcode: 1200, words: "超时 了".to_owned() }));
        assert!(answer(json!({"retcode": 1})).outcome.is_ok());
    }

    #[test]
    fn halves_of_characters_cost_no_message() {
        let read = |text: &str| parse(text).map(|value| value["a"].clone());
        assert_eq!(read(r#"{"a": "x\ud83dy"}"#), Ok(json!("x\u{fffd}y")));
        assert_eq!(read(r#"{"a": "\ude00\ud83d\ude00\ud83d"}"#), Ok(json!("\u{fffd}😀\u{fffd}")));
        assert_eq!(read(r#"{"a": "\\ud83d\ud83d\n甲"}"#), Ok(json!("\\ud83d\u{fffd}\n甲")));
    }

    #[test]
    fn frames_that_are_none_are_refused_with_a_reason() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let huge = format!(r#"{{"a": "{}"}}"#, "x".repeat(10 << 20));
        for text in
            ["", "null", "[1]", "5", "{", "\u{0}", r#"{"a": "\u12"#, r#"{"a": "\ud83d"#, "{\"a\":\"\\", &deep, &huge]
        {
            assert!(parse(text).is_err(), "{}", &text[..text.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn any_frame_is_read(frame in any_json(), text in "[\\\\ud83e0\"{}:a甲]{0,30}") {
            let _ = read(&frame, Some(ME));
            let _ = parse(&frame.to_string());
            let _ = parse(&text);
            let _ = whole_characters(&text);
        }
    }
}
