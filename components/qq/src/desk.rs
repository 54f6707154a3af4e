//! Requests to clients, and which answer belongs to which.
//!
//! An answer carries the `echo` of its request. Where a call waits for it, the host matches it and keeps the time; where
//! none does - nobody waits for a look-up but the message itself - it comes as a frame like any other, and a request
//! without an answer is given up when something is heard after its deadline: clients say every few seconds that they are
//! there.

use std::collections::BTreeMap;

use homeagent_sdk::sockets::ConnectionId;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::lookup::Lookup;

/// Requests that wait for their answer.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    prefix: String,
    next: u64,
    open: BTreeMap<String, Asked>,
}

/// A request that was sent.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) purpose: Purpose,
    connection: ConnectionId,
    action: String,
    /// In milliseconds.
    deadline: u64,
    /// The time it has, in milliseconds.
    time: u64,
}

/// A request that is to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) connection: ConnectionId,
    /// What its answer carries.
    pub(crate) echo: String,
    /// The frame.
    pub(crate) text: String,
    /// How long an answer may take, in milliseconds.
    pub(crate) time: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Silence {
    /// It did not come in time.
    TimedOut,
    /// The connection went.
    Lost,
    /// The request was not sent, for this reason.
    NotSent(String),
}

/// What an answer is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    /// A message that waits to be read whole.
    Lookup { draft: u64, lookup: Lookup },
    /// Whose a connection is.
    Login(ConnectionId),
    /// What is being sent in a lane.
    Lane(String),
}

impl Desk {
    /// A desk without requests. `prefix` sets its echoes apart from those of other instances.
    pub(crate) fn new(prefix: String) -> Self {
        Self { prefix, ..Self::default() }
    }

    /// A request that is to be sent.
    pub(crate) fn ask(
        &mut self,
        connection: ConnectionId,
        request: (&str, &Value),
        purpose: Purpose,
        now: u64,
        time: u64,
    ) -> Question {
        self.next += 1;
        let echo = format!("{}-{}", self.prefix, self.next);
        let (action, params) = request;
        let text = json!({ "action": action, "params": params, "echo": echo }).to_string();
        let asked = Asked { purpose, connection, action: action.to_owned(), deadline: now.saturating_add(time), time };
        self.open.insert(echo.clone(), asked);
        Question { connection, echo, text, time }
    }

    /// The request that an answer belongs to. An answer counts only where the question was asked.
    pub(crate) fn answered(&mut self, connection: ConnectionId, echo: &str) -> Option<Asked> {
        self.open.get(echo).filter(|asked| asked.connection == connection)?;
        self.open.remove(echo)
    }

    /// The requests whose time is over.
    pub(crate) fn expired(&mut self, now: u64) -> Vec<Asked> {
        self.open.extract_if(.., |_, asked| asked.deadline <= now).map(|(_, asked)| asked).collect()
    }

    /// The requests that a connection has taken with it.
    pub(crate) fn lost(&mut self, connection: ConnectionId) -> Vec<Asked> {
        self.open.extract_if(.., |_, asked| asked.connection == connection).map(|(_, asked)| asked).collect()
    }
}

impl Asked {
    /// The action that was asked for.
    pub(crate) fn action(&self) -> &str {
        &self.action
    }

    /// What its silence comes to.
    pub(crate) fn failure(&self, silence: Silence) -> Failure {
        let action = self.action.clone();
        match silence {
            Silence::TimedOut => Failure::TimedOut { action, seconds: self.time / 1_000 },
            Silence::Lost => Failure::Lost { action },
            Silence::NotSent(words) => Failure::NotConnected { words },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(desk: &mut Desk, connection: ConnectionId, now: u64) -> String {
        let question = desk.ask(connection, ("get_msg", &json!({})), Purpose::Lane("a".to_owned()), now, 5_000);
        let frame: Value = serde_json::from_str(&question.text).expect("a frame is JSON");
        assert_eq!(frame["echo"], question.echo);
        question.echo
    }

    #[test]
    fn an_answer_counts_once_and_where_it_was_asked_for() {
        let mut desk = Desk::new("x".to_owned());
        let echo = ask(&mut desk, 1, 0);
        assert_eq!(desk.answered(2, &echo), None);
        assert_eq!(desk.answered(1, "x-99"), None);
        assert_eq!(desk.answered(1, &echo).expect("it was asked").action(), "get_msg");
        assert_eq!(desk.answered(1, &echo), None);
    }

    #[test]
    fn what_is_not_answered_is_given_up() {
        let mut desk = Desk::default();
        ask(&mut desk, 1, 0);
        ask(&mut desk, 2, 3_000);
        assert!(desk.expired(4_999).is_empty());
        let expired = desk.expired(5_000);
        let failure = expired[0].failure(Silence::TimedOut);
        assert_eq!(failure, Failure::TimedOut { action: "get_msg".to_owned(), seconds: 5 });
        assert_eq!((expired.len(), desk.lost(1).len(), desk.lost(2).len(), desk.open.len()), (1, 0, 1, 0));
    }
}
