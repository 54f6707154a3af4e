//! What is remembered of a source that failed: whether it may be asked, and when.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use homeagent_settings::{Secret, SourceRecord};
use homeagent_types::Timestamp;
use homeagent_types::model::{Failure, FailureClass};
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::Policy;

/// The longest time that a vendor may ask us to stay away.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);
const CHANGES_KEPT: usize = 64;

/// How a source stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceStanding {
    /// It is asked when its turn comes.
    Ready,
    /// It failed, and is left alone for a while.
    CoolingDown,
    /// Its account has no money; it is tried again every hour.
    Unfunded,
    /// Its key is refused; it is not asked until the source or the key changes.
    Disabled,
    /// Its owner switched it off.
    SwitchedOff,
}

impl SourceStanding {
    /// Every way it can stand.
    pub const ALL: [Self; 5] = [Self::Ready, Self::CoolingDown, Self::Unfunded, Self::Disabled, Self::SwitchedOff];

    /// Its name, as it is serialized.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::CoolingDown => "cooling-down",
            Self::Unfunded => "unfunded",
            Self::Disabled => "disabled",
            Self::SwitchedOff => "switched-off",
        }
    }
}

/// A source and how it stands, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SourceState {
    /// The source's name.
    pub name: String,
    /// Its line.
    pub line: &'static str,
    /// Its adapter.
    pub adapter: String,
    /// Where its API begins.
    pub base_url: String,
    /// Its model.
    pub model: String,
    /// How it stands.
    pub standing: SourceStanding,
    /// Why, in words, when it is not ready.
    pub reason: Option<String>,
    /// Since when it stands so, where it failed.
    #[schema(value_type = Option<u64>)]
    pub since: Option<Timestamp>,
    /// When it is asked again, where that is known.
    #[schema(value_type = Option<u64>)]
    pub again_at: Option<Timestamp>,
    /// Milliseconds until then.
    pub again_in_ms: Option<u64>,
}

/// Whether a source may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Now,
    At(Instant),
    Never,
}

/// All that is remembered. A success forgets everything about a source; so does a change of the source or its key.
#[derive(Debug)]
pub(super) struct Standings {
    failed: Mutex<HashMap<String, Failed>>,
    changes: broadcast::Sender<SourceState>,
}

#[derive(Debug)]
struct Failed {
    /// What the source was when it failed.
    record: SourceRecord,
    key: Option<Secret>,
    failure: Failure,
    at: Timestamp,
    /// Failures in a row, which lengthen the back-off.
    count: u32,
    standing: SourceStanding,
    /// When it may be asked again; `None`: not by itself.
    again: Option<Instant>,
}

impl Default for Standings {
    fn default() -> Self {
        Standings { failed: Mutex::default(), changes: broadcast::Sender::new(CHANGES_KEPT) }
    }
}

impl Standings {
    /// Whether the source may be asked, and what is held against it if not.
    pub(super) fn admission(&self, record: &SourceRecord, key: Option<&Secret>) -> (Admission, Option<Failure>) {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.get(&record.name) {
            Some(entry) if entry.standing != SourceStanding::Ready && entry.concerns(record, key) => {
                let admission = match entry.again {
                    Some(again) if again <= Instant::now() => Admission::Now,
                    Some(again) => Admission::At(again),
                    None => Admission::Never,
                };
                (admission, Some(entry.failure.clone()))
            }
            _ => (Admission::Now, None),
        }
    }

    /// The source answered.
    pub(super) fn succeeded(&self, record: &SourceRecord) {
        let gone = self.failed.lock().unwrap_or_else(PoisonError::into_inner).remove(&record.name);
        if gone.is_some() {
            tracing::info!(source = record.name, "model source answers again");
            self.announce(SourceState::of(record));
        }
    }

    /// The source failed. Failures of the request itself are not held against it.
    pub(super) fn failed(&self, record: &SourceRecord, key: Option<&Secret>, failure: &Failure, policy: &Policy) {
        use FailureClass as Class;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failed.get(&record.name).filter(|entry| entry.concerns(record, key));
        let told = before.map(|entry| (entry.standing, entry.failure.class, entry.at));
        let before = before.map_or(0, |entry| entry.count);
        let back_off = policy.back_off.saturating_mul(1 << before.min(16)).min(policy.longest_back_off);
        let asked = failure.retry_after_ms.map(|ms| Duration::from_millis(ms).min(LONGEST_RETRY_AFTER));
        let (standing, pause) = match failure.class {
            Class::BadRequest | Class::ContentFilter | Class::ContextOverflow => {
                drop(failed);
                return self.note(record, key, failure);
            }
            Class::Auth | Class::Permission => (SourceStanding::Disabled, None),
            Class::Unfunded => (SourceStanding::Unfunded, Some(policy.probe)),
            Class::RateLimited | Class::Overloaded => (SourceStanding::CoolingDown, Some(asked.unwrap_or(back_off))),
            Class::Timeout | Class::Network | Class::StreamEndedEarly | Class::Protocol => {
                (SourceStanding::CoolingDown, Some(back_off))
            }
        };
        tracing::warn!(
            source = record.name,
            class = failure.class.as_str(),
            reason = failure.message,
            pause_ms = pause.map(|pause| pause.as_millis()),
            "model source failed"
        );
        let entry = Failed {
            record: record.clone(),
            key: key.cloned(),
            failure: failure.clone(),
            at: told.filter(|told| told.0 == standing).map_or_else(homeagent_types::now, |told| told.2),
            count: before + 1,
            standing,
            again: pause.map(|pause| Instant::now() + pause),
        };
        let state = entry.state(record);
        failed.insert(record.name.clone(), entry);
        drop(failed);
        // Said once: that it is still so is no news.
        if told.map(|told| (told.0, told.1)) != Some((standing, failure.class)) {
            self.announce(state);
        }
    }

    /// A request failed at the source by its own fault: the source may be asked as before, and people can see what it was.
    pub(super) fn note(&self, record: &SourceRecord, key: Option<&Secret>, failure: &Failure) {
        tracing::warn!(
            source = record.name,
            class = failure.class.as_str(),
            reason = failure.message,
            "model source did not take a request"
        );
        let entry = Failed {
            record: record.clone(),
            key: key.cloned(),
            failure: failure.clone(),
            at: homeagent_types::now(),
            count: 0,
            standing: SourceStanding::Ready,
            again: None,
        };
        let state = entry.state(record);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.get(&record.name).is_some_and(|before| before.concerns(record, key) && before.keeps_away()) {
            // What another request has found out meanwhile weighs more.
            return;
        }
        let before = failed.insert(record.name.clone(), entry);
        drop(failed);
        let told = before.filter(|before| before.concerns(record, key));
        if told.map(|before| (before.standing, before.failure.class)) != Some((SourceStanding::Ready, failure.class)) {
            self.announce(state);
        }
    }

    /// How the source stands now.
    pub(super) fn state(&self, record: &SourceRecord, key: Option<&Secret>) -> SourceState {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.get(&record.name) {
            _ if !record.enabled => SourceState { standing: SourceStanding::SwitchedOff, ..SourceState::of(record) },
            Some(entry) if entry.concerns(record, key) => entry.state(record),
            _ => SourceState::of(record),
        }
    }

    /// How a source stands whose key is missing.
    pub(super) fn keyless(&self, record: &SourceRecord, reason: String) -> SourceState {
        let standing = if record.enabled { SourceStanding::Disabled } else { SourceStanding::SwitchedOff };
        SourceState { standing, reason: Some(reason), ..SourceState::of(record) }
    }

    /// Forgets sources that are no longer configured.
    pub(super) fn keep_only(&self, records: &[SourceRecord]) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.retain(|name, _| records.iter().any(|record| record.name == *name));
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<SourceState> {
        self.changes.subscribe()
    }

    fn announce(&self, state: SourceState) {
        // An error only says that nobody listens.
        let _ = self.changes.send(state);
    }
}

impl Failed {
    /// Whether the source is not to be asked now.
    fn keeps_away(&self) -> bool {
        self.standing != SourceStanding::Ready && self.again.is_none_or(|again| again > Instant::now())
    }

    fn concerns(&self, record: &SourceRecord, key: Option<&Secret>) -> bool {
        let moved = SourceRecord { position: self.record.position, ..record.clone() };
        self.record == moved && self.key.as_ref() == key
    }

    fn state(&self, record: &SourceRecord) -> SourceState {
        let again = self.again.map(|again| again.saturating_duration_since(Instant::now()));
        // A pause that is over leaves it ready.
        let standing = if again == Some(Duration::ZERO) { SourceStanding::Ready } else { self.standing };
        let again_in_ms = again.map(|again| u64::try_from(again.as_millis()).unwrap_or(u64::MAX));
        SourceState {
            standing,
            reason: Some(self.failure.message.clone()),
            since: Some(self.at),
            again_at: again_in_ms.map(|again| homeagent_types::now().saturating_add(again)),
            again_in_ms,
            ..SourceState::of(record)
        }
    }
}

impl SourceState {
    fn of(record: &SourceRecord) -> Self {
        SourceState {
            name: record.name.clone(),
            line: record.line.as_str(),
            adapter: record.adapter.clone(),
            base_url: record.base_url.clone(),
            model: record.model.clone(),
            standing: SourceStanding::Ready,
            reason: None,
            since: None,
            again_at: None,
            again_in_ms: None,
        }
    }
}
