//! Requests to clients, and which answer belongs to which.
//!
//! An answer carries the `echo` of its request. A request that is not answered is given up at its deadline, which is
//! looked at whenever something is heard: clients say every few seconds that they are there.

use std::collections::BTreeMap;

use homeagent_sdk::sockets::ConnectionId;
use serde_json::{Value, json};

use crate::effect::Effect;
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

/// What an answer is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    /// A message that waits to be read whole.
    Lookup { draft: u64, lookup: Lookup },
    /// What is being sent in a lane.
    Lane(String),
}

impl Desk {
    /// A desk without requests. `prefix` sets its echoes apart from those of other instances.
    pub(crate) fn new(prefix: String) -> Self {
        Self { prefix, ..Self::default() }
    }

    /// A request, as the frame that is to be sent.
    pub(crate) fn ask(
        &mut self,
        connection: ConnectionId,
        request: (&str, &Value),
        purpose: Purpose,
        now: u64,
        time: u64,
    ) -> Effect {
        self.next += 1;
        let echo = format!("{}-{}", self.prefix, self.next);
        let (action, params) = request;
        let text = json!({ "action": action, "params": params, "echo": echo }).to_string();
        let asked = Asked { purpose, connection, action: action.to_owned(), deadline: now.saturating_add(time), time };
        self.open.insert(echo, asked);
        Effect::Send { connection, text }
    }

    /// Forgets the last request: it is not sent after all.
    pub(crate) fn take_back(&mut self) {
        self.open.remove(&format!("{}-{}", self.prefix, self.next));
    }

    /// The request that an answer belongs to. An answer counts only where the question was asked.
    pub(crate) fn answered(&mut self, connection: ConnectionId, echo: &str) -> Option<Asked> {
        self.open.get(echo).filter(|asked| asked.connection == connection)?;
        self.open.remove(echo)
    }

    /// The requests whose time is over.
    pub(crate) fn expired(&mut self, now: u64) -> Vec<(Asked, Failure)> {
        let expired = self.open.extract_if(.., |_, asked| asked.deadline <= now);
        expired
            .map(|(_, asked)| (asked.time / 1_000, asked))
            .map(|(seconds, asked)| {
                let failure = Failure::TimedOut { action: asked.action.clone(), seconds };
                (asked, failure)
            })
            .collect()
    }

    /// The requests that a connection has taken with it.
    pub(crate) fn lost(&mut self, connection: ConnectionId) -> Vec<(Asked, Failure)> {
        let lost = self.open.extract_if(.., |_, asked| asked.connection == connection);
        lost.map(|(_, asked)| {
            let failure = Failure::Lost { action: asked.action.clone() };
            (asked, failure)
        })
        .collect()
    }
}

impl Asked {
    /// The action that was asked for.
    pub(crate) fn action(&self) -> &str {
        &self.action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(desk: &mut Desk, connection: ConnectionId, now: u64) -> String {
        let effect = desk.ask(connection, ("get_msg", &json!({})), Purpose::Lane("a".to_owned()), now, 5_000);
        let Effect::Send { text, .. } = effect else { panic!("a frame") };
        let frame: Value = serde_json::from_str(&text).expect("a frame is JSON");
        frame["echo"].as_str().expect("an echo").to_owned()
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
        assert_eq!(expired[0].1, Failure::TimedOut { action: "get_msg".to_owned(), seconds: 5 });
        assert_eq!((expired.len(), desk.lost(1).len(), desk.lost(2).len(), desk.open.len()), (1, 0, 1, 0));
    }
}
