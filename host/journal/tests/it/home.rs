//! A home folder that is removed after the test, and short ways to write to a journal in it.

use homeagent_journal::{Acceptance, EventKind, Journal, NewEvent};
use homeagent_settings::Database;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Home {
    pub(crate) folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("家").tempdir().expect("a temporary folder") }
    }

    /// A journal in a home of its own, which is removed when it is dropped.
    pub(crate) fn new_journal() -> (Self, Journal) {
        let home = Self::new();
        let journal = home.journal();
        (home, journal)
    }

    pub(crate) fn database(&self) -> Database {
        Database::open(self.folder.path().join("homeagent.db")).expect("the database opens")
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::open(&self.database()).expect("the journal opens")
    }
}

pub(crate) const CONVERSATION: &str = "qq:group:家人";

pub(crate) fn event(session: &str, run: Option<&str>, kind: EventKind, payload: Value) -> NewEvent {
    NewEvent {
        session: session.to_owned(),
        run: run.map(str::to_owned),
        conversation: CONVERSATION.to_owned(),
        kind,
        audience: CONVERSATION.to_owned(),
        payload,
    }
}

/// Accepts an input, which must be new.
pub(crate) async fn accept(journal: &Journal, id: &str) {
    let accepted = journal.accept_input(CONVERSATION, id, None, json!({ "text": id }), "family").await;
    assert!(matches!(accepted, Ok(Acceptance::Accepted { .. })), "{accepted:?}");
}

/// Starts a run in the current session that takes `inputs`; returns the session and the run.
pub(crate) async fn start(journal: &Journal, inputs: &[&str]) -> (String, String) {
    let inputs: Vec<String> = inputs.iter().map(|id| (*id).to_owned()).collect();
    let started = journal.start_run(CONVERSATION, "qq:10001", &inputs).await.expect("the run starts");
    (started.session, started.run)
}
