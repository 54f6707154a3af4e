//! Messages that wait are kept on the disk until the agent has them: the client was told that they came, and a daemon
//! that is killed, or an instance that traps, hands nothing on.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::event::{self, Event};
use crate::inbound;
use crate::state::Qq;

/// What the keys of messages that wait begin with.
pub(crate) const PREFIX: &str = "waiting/";

/// What of the messages that wait is on the disk, by key.
#[derive(Debug, Default)]
pub(crate) struct Ledger(BTreeSet<String>);

/// What is to be changed on the disk.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// Frames that wait by now, in the order in which they came.
    pub(crate) kept: Vec<(String, Value)>,
    /// Those that wait no more.
    pub(crate) gone: Vec<String>,
}

impl Qq {
    /// What of the messages that wait is to be changed on the disk. It counts as done from now on.
    pub(crate) fn unwritten(&mut self) -> Changes {
        let drafts = self.drafts.waiting().filter_map(|(message, frame)| Some((key(message)?, frame)));
        let left = self.left.iter().filter_map(|frame| Some((key_of(frame)?, frame)));
        // An input that the agent has not taken is not with it yet; what was said after it is not to come before it.
        let passing = self.passing.iter().map(|(id, frame)| (named(id), frame));
        let waiting: Vec<(String, &Value)> = passing.chain(left).chain(drafts).collect();
        let offered: BTreeSet<String> = self.kept.ids().map(named).collect();
        let fresh = waiting.iter().filter(|(key, _)| !self.written.0.contains(key));
        let kept: Vec<(String, Value)> = fresh.map(|(key, frame)| (key.clone(), (*frame).clone())).collect();
        let names: BTreeSet<&String> = waiting.iter().map(|(key, _)| key).collect();
        let is_over = |key: &&String| !names.contains(*key) && !offered.contains(*key);
        let gone: Vec<String> = self.written.0.iter().filter(is_over).cloned().collect();
        self.written.0.extend(kept.iter().map(|(key, _)| key.clone()));
        for key in &gone {
            self.written.0.remove(key);
        }
        Changes { kept, gone }
    }

    /// The agent has taken an input, or never will.
    pub(crate) fn passed(&mut self, id: Option<&str>) {
        self.passing.retain(|(passing, _)| Some(passing.as_str()) != id);
    }

    /// They could not be written, and are tried with the next ones.
    pub(crate) fn not_written(&mut self, changes: Changes) {
        for (key, _) in &changes.kept {
            self.written.0.remove(key);
        }
        self.written.0.extend(changes.gone);
    }

    /// Messages on the disk that another instance did not hand on, in the order in which they came: they begin anew when
    /// their account is connected.
    pub(crate) fn recall(&mut self, frames: Vec<(String, Option<Value>)>) {
        let known: BTreeSet<String> = self.left.iter().filter_map(key_of).chain(self.kept.ids().map(named)).collect();
        for (key, frame) in frames {
            // One that nobody can read goes with the next change.
            if let Some(frame) = frame.filter(|_| !known.contains(&key)) {
                self.left.push(frame);
            }
            self.written.0.insert(key);
        }
    }
}

fn named(id: &str) -> String {
    format!("{PREFIX}{id}")
}

fn key(message: &event::Message) -> Option<String> {
    inbound::platform_id(message).map(|id| named(&id))
}

fn key_of(frame: &Value) -> Option<String> {
    match event::read(frame, None) {
        Event::Message(message) => key(&message),
        _ => None,
    }
}
