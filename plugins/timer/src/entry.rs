//! What a timer is: the payload of the host's timer, which is all that is kept of it.

use homeagent_sdk::{Cause, Role, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;

/// When a timer is due at the host that is paused: never.
pub(crate) const NEVER: Timestamp = 253_402_300_799_000;

/// What happens to times that passed while the daemon was off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Missed {
    /// Nothing.
    Skip,
    /// One run for all of them together.
    #[default]
    Once,
    /// A run for each, of the first hundred.
    All,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Work {
    /// The agent is told this.
    Message(String),
    /// A tool runs; with `report` the agent says what came of it, else the result is sent as it is.
    Tool { name: String, arguments: String, report: bool },
}

/// A timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// No other timer's, also when the timer is changed.
    pub(crate) uid: String,
    pub(crate) name: String,
    /// Whose it is, for people: the account.
    pub(crate) by: String,
    pub(crate) work: Work,
    pub(crate) schedule: Schedule,
    /// The time it is due next, as the schedule says; the host is told a later one in quiet hours.
    pub(crate) next: Timestamp,
    #[serde(default)]
    pub(crate) missed: Missed,
    /// It does not wait for a turn that runs, nor for the end of quiet hours.
    #[serde(default)]
    pub(crate) urgent: bool,
    /// Another conversation than that in which it was set.
    #[serde(default)]
    pub(crate) to: Option<String>,
    #[serde(default)]
    pub(crate) paused: bool,
}

impl Entry {
    /// When the host is to tell of it.
    pub(crate) fn due(&self) -> Timestamp {
        if self.paused { NEVER } else { self.next }
    }

    /// What tells the run of this time from all others.
    pub(crate) fn claim(&self, time: Timestamp) -> String {
        format!("{}@{time}", self.uid)
    }
}

/// What begins the host's names of the timers that somebody may see and change: all owners have theirs together, members
/// each their own.
pub(crate) fn prefix(cause: &Cause) -> String {
    match cause.principal.role {
        Role::Owner => OWNERS.to_owned(),
        _ => of_member(&account(cause)),
    }
}

pub(crate) const OWNERS: &str = "owner/";

/// The same of a member.
pub(crate) fn of_member(account: &str) -> String {
    // A slash in an account would let it begin like another's.
    format!("member/{}/", account.replace('%', "%25").replace('/', "%2F"))
}

/// The account of whoever calls.
pub(crate) fn account(cause: &Cause) -> String {
    format!("{}:{}", cause.principal.namespace, cause.principal.user)
}
