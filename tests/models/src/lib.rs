//! A home with sources for tests: the real chain of sources with the adapters linked natively, so that no engine is
//! needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_providers::{Policy, Providers, SourceState};
use homeagent_settings::{Database, Secrets, Settings, SourceLine, SourceRecord, Sources};
use homeagent_test_adapters::Native;
use homeagent_test_vendors::{KEY, MARK, log};
use homeagent_types::model::{Completion, ModelDelta, Prompt};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, Progress};
use homeagent_types::{Audience, Cause, Conversation, Peer, Principal, Role};
use tempfile::TempDir;

/// A home with sources. Its folder goes with it.
pub struct Home {
    /// Where it is.
    pub folder: TempDir,
    /// Its database.
    pub database: Database,
    /// Its settings.
    pub settings: Settings,
    /// Its secrets; `key` is [`KEY`].
    pub secrets: Secrets,
    /// Its sources.
    pub sources: Sources,
    /// The chain.
    pub providers: Arc<Providers>,
    /// What is shown of the answers to [`Home::ask`].
    pub watcher: Watcher,
}

impl Home {
    /// A home without sources.
    ///
    /// # Panics
    ///
    /// The folder can't be used.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        log::watch();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = Database::open(folder.path().join("homeagent.db")).expect("the database opens");
        let secrets = Secrets::open(&database, folder.path()).expect("the secrets open");
        let settings = Settings::open(&database, &secrets).expect("the settings open");
        let sources = Sources::open(&database).expect("the sources open");
        secrets.set("key", KEY.into()).expect("stored");
        let adapters = Arc::new(Native);
        let providers = Providers::new(settings.clone(), secrets.clone(), sources.clone(), adapters, policy);
        let providers = Arc::new(providers.expect("set up"));
        Home { folder, database, settings, secrets, sources, providers, watcher: Watcher::default() }
    }

    /// Adds a source at the end of the main line.
    ///
    /// # Panics
    ///
    /// It can't be added.
    pub fn add(&self, name: &str, adapter: &str, url: &str, model: &str) {
        let record = SourceRecord {
            name: name.to_owned(),
            line: SourceLine::Main,
            adapter: adapter.to_owned(),
            base_url: url.to_owned(),
            model: model.to_owned(),
            secret: Some("key".to_owned()),
            options: BTreeMap::new(),
            position: 0,
            enabled: true,
        };
        self.sources.add(&record).expect("added");
    }

    /// Asks the main line.
    ///
    /// # Errors
    ///
    /// No source could answer.
    pub async fn ask(&self, prompt: &Prompt) -> Result<Completion, ModelsFailure> {
        let cause = cause();
        let request = LineRequest { line: SourceLine::Main, prompt, cause: &cause };
        self.providers.complete(request, &self.watcher).await
    }

    /// How a source stands.
    ///
    /// # Panics
    ///
    /// There is no source of this name.
    #[must_use]
    pub fn state(&self, name: &str) -> SourceState {
        let states = self.providers.states();
        states.into_iter().find(|state| state.name == name).expect("the source is there")
    }

    /// Fails where the key is in anything that people, models or the log are told.
    ///
    /// # Panics
    ///
    /// It is.
    pub fn keeps_its_key(&self, told: &str) {
        let everything = format!("{told} {:?}", self.providers.states());
        assert!(!everything.contains(MARK), "the key is in {everything}");
        assert!(log::leaks().is_empty(), "the key is in the log: {:?}", log::leaks());
    }
}

/// A turn of the owner's.
#[must_use]
pub fn cause() -> Cause {
    let principal = Principal {
        namespace: "cli".to_owned(),
        user: "me".to_owned(),
        role: Role::Owner,
        display_name: None,
        attested: true,
    };
    Cause {
        run: Some("run-1".to_owned()),
        conversation: Some(Conversation { channel: "cli".to_owned(), peer: Peer::Person("me".to_owned()) }),
        audience: Audience::Person(principal.to_string()),
        principal,
        deadline_ms: 60_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

/// Keeps what is shown, as somebody sees it who watches.
#[derive(Default)]
pub struct Watcher {
    seen: Mutex<(String, usize)>,
}

impl Watcher {
    /// The text that stands there now.
    #[must_use]
    pub fn text(&self) -> String {
        self.seen().0.clone()
    }

    /// How often something was taken back.
    #[must_use]
    pub fn restarts(&self) -> usize {
        self.seen().1
    }

    fn seen(&self) -> MutexGuard<'_, (String, usize)> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Watcher {
    fn piece(&self, delta: &ModelDelta) {
        if let ModelDelta::Text(text) = delta {
            self.seen().0.push_str(text);
        }
    }

    fn restart(&self) {
        let mut seen = self.seen();
        seen.0.clear();
        seen.1 += 1;
    }
}
