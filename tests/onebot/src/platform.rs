//! The QQ that is played: who is there, what was said, and what the client has still to tell.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{Form, cq};

/// So many events that were written last are written again after a connection broke.
const MAY_BE_LOST: usize = 256;

/// Somebody on QQ.
#[derive(Clone, Debug)]
pub struct Person {
    /// Their account.
    pub user: u64,
    /// What they call themselves.
    pub nickname: String,
    /// What they are called in the group; empty for nothing.
    pub card: String,
    /// `owner`, `admin` or `member`.
    pub role: String,
}

impl Person {
    /// A member of that name.
    #[must_use]
    pub fn new(user: u64, nickname: &str) -> Self {
        Self { user, nickname: nickname.to_owned(), card: String::new(), role: "member".to_owned() }
    }
}

/// What a client does when it is asked for an action.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// It answers as it should.
    Usual,
    /// It answers after this time.
    Slow(Duration),
    /// It does what it is asked and never answers.
    Silent,
    /// It does nothing and answers with this code and these words.
    Fails(i64, String),
    /// It does nothing more, and breaks the connection off.
    Breaks,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The group, where it went to one.
    pub group: Option<u64>,
    /// The person, where it went to one.
    pub user: Option<u64>,
    /// As it was given: segments, a CQ string, or the nodes of a forward.
    pub message: Value,
    /// Its id.
    pub id: i64,
}

impl Sent {
    /// What people see of it as text.
    #[must_use]
    pub fn text(&self) -> String {
        cq::words(&self.message)
    }

    /// The segments of a kind.
    #[must_use]
    pub fn segments(&self, kind: &str) -> Vec<&Value> {
        self.message.as_array().into_iter().flatten().filter(|segment| segment["type"] == kind).collect()
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) account: u64,
    form: Form,
    /// By group and account; the group 0 stands for everybody.
    pub(crate) people: BTreeMap<(u64, u64), Person>,
    /// What was said and sent, as `get_msg` answers it.
    pub(crate) messages: BTreeMap<i64, Value>,
    pub(crate) forwards: BTreeMap<String, Vec<Value>>,
    pub(crate) files: BTreeMap<String, Value>,
    pub(crate) behaviour: BTreeMap<String, Behaviour>,
    pub(crate) beats: bool,
    pub(crate) online: bool,
    /// Events that were not written yet.
    waiting: VecDeque<String>,
    /// Events that were written last.
    written: VecDeque<String>,
    pub(crate) sent: Vec<Sent>,
    /// Every action that was asked for, with its parameters.
    pub(crate) asked: Vec<(String, Value)>,
    pub(crate) open: usize,
    pub(crate) made: u64,
    pub(crate) refused: u64,
    pub(crate) closed: Vec<String>,
    last_id: i64,
}

impl State {
    pub(crate) fn new(account: u64, form: Form) -> Self {
        Self {
            account,
            form,
            people: BTreeMap::new(),
            messages: BTreeMap::new(),
            forwards: BTreeMap::new(),
            files: BTreeMap::new(),
            behaviour: BTreeMap::new(),
            beats: true,
            online: true,
            waiting: VecDeque::new(),
            written: VecDeque::new(),
            sent: Vec::new(),
            asked: Vec::new(),
            open: 0,
            made: 0,
            refused: 0,
            closed: Vec::new(),
            last_id: 0,
        }
    }

    pub(crate) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// A member of a group, else as they are known everywhere.
    pub(crate) fn person(&self, group: u64, user: u64) -> Person {
        let known = self.people.get(&(group, user)).or_else(|| self.people.get(&(0, user)));
        known.cloned().unwrap_or_else(|| Person::new(user, &format!("u{user}")))
    }

    pub(crate) fn says(&mut self, user: u64, group: Option<u64>, message: &[Value]) -> i64 {
        let id = self.next_id();
        let person = self.person(group.unwrap_or_default(), user);
        let raw = cq::write(message);
        let written = match self.form {
            Form::Array => Value::from(message.to_vec()),
            Form::String => Value::from(raw.clone()),
        };
        let sender = json!({ "user_id": user, "nickname": person.nickname, "card": person.card, "role": person.role,
            "sex": "unknown", "age": 0 });
        let mut event = json!({ "post_type": "message", "message_id": id, "message_seq": id, "real_id": id,
            "user_id": user, "message": written, "raw_message": raw, "font": 14, "sender": sender });
        match group {
            Some(group) => {
                event["message_type"] = json!("group");
                event["sub_type"] = json!("normal");
                event["group_id"] = json!(group);
                event["anonymous"] = Value::Null;
            }
            None => {
                event["message_type"] = json!("private");
                event["sub_type"] = json!("friend");
            }
        }
        self.messages.insert(id, json!({ "time": now(), "message_type": event["message_type"], "message_id": id,
            "real_id": id, "sender": event["sender"], "message": event["message"], "raw_message": event["raw_message"] }));
        self.happens(event);
        id
    }

    pub(crate) fn happens(&mut self, mut event: Value) {
        event["time"] = json!(now());
        event["self_id"] = json!(self.account);
        self.waiting.push_back(event.to_string());
    }

    /// The next event that is to be written; it counts as written.
    pub(crate) fn next(&mut self) -> Option<String> {
        let next = self.waiting.pop_front()?;
        self.written.push_back(next.clone());
        if self.written.len() > MAY_BE_LOST {
            self.written.pop_front();
        }
        Some(next)
    }

    /// The connection for events broke: what was written last may not have arrived.
    pub(crate) fn lost(&mut self) {
        while let Some(event) = self.written.pop_back() {
            self.waiting.push_front(event);
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
