//! A home with sources, and somebody who watches the pieces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use homeagent_providers::{Policy, Providers, SourceStanding};
use homeagent_settings::{Database, Secrets, Settings, SourceLine, SourceRecord, Sources};
use homeagent_types::model::{Completion, FailureClass, Message, ModelDelta, Prompt};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, Progress};
use homeagent_types::{Audience, Cause, Conversation, Peer, Principal, Role};
use tempfile::TempDir;

use crate::native::Native;

/// The key of every source; it must never be seen anywhere but at the vendor.
pub(crate) const KEY: &str = "sk-geheim/4711+x";

pub(crate) struct World {
    folder: TempDir,
    pub(crate) settings: Settings,
    pub(crate) secrets: Secrets,
    pub(crate) sources: Sources,
    pub(crate) providers: Arc<Providers>,
    pub(crate) watcher: Watcher,
}

/// A back-off so short that tests need not wait for it.
pub(crate) fn hasty() -> Policy {
    Policy { back_off: Duration::from_millis(1), ..Policy::default() }
}

impl World {
    pub(crate) fn new(policy: Policy) -> Self {
        crate::log::watch();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = Database::open(folder.path().join("homeagent.db")).expect("the database opens");
        let secrets = Secrets::open(&database, folder.path()).expect("the secrets open");
        let settings = Settings::open(&database, &secrets).expect("the settings open");
        let sources = Sources::open(&database).expect("the sources open");
        secrets.set("key", KEY.into()).expect("stored");
        let providers = Providers::new(settings.clone(), secrets.clone(), sources.clone(), Arc::new(Native), policy)
            .expect("set up");
        World { folder, settings, secrets, sources, providers: Arc::new(providers), watcher: Watcher::default() }
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn source(&self, name: &str, adapter: &str, url: &str) -> SourceRecord {
        SourceRecord {
            name: name.to_owned(),
            line: SourceLine::Main,
            adapter: adapter.to_owned(),
            base_url: url.to_owned(),
            model: format!("{name}-model"),
            secret: Some("key".to_owned()),
            options: BTreeMap::new(),
            position: 0,
            enabled: true,
        }
    }

    pub(crate) fn add(&self, name: &str, url: &str) {
        self.sources.add(&self.source(name, "openai", url)).expect("added");
    }

    pub(crate) async fn ask(&self) -> Result<Completion, ModelsFailure> {
        self.ask_for(vec![Message::user("hi")]).await
    }

    pub(crate) async fn ask_line(&self, line: SourceLine) -> Result<Completion, ModelsFailure> {
        let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
        let cause = cause();
        self.providers.complete(LineRequest { line, prompt: &prompt, cause: &cause }, &self.watcher).await
    }

    pub(crate) async fn ask_for(&self, messages: Vec<Message>) -> Result<Completion, ModelsFailure> {
        let prompt = Prompt { messages, ..Prompt::default() };
        let cause = cause();
        let request = LineRequest { line: SourceLine::Main, prompt: &prompt, cause: &cause };
        let result = self.providers.complete(request, &self.watcher).await;
        let everything = format!("{result:?} {:?}", self.providers.states());
        assert!(!everything.contains("geheim"), "the key is in {everything}");
        assert!(crate::log::leaks().is_empty(), "the key is in the log: {:?}", crate::log::leaks());
        result
    }

    /// The sentence and the class of each source's failure, when no source could answer.
    pub(crate) async fn fails(&self) -> (String, Vec<FailureClass>) {
        let failure = self.ask().await.expect_err("no source answers");
        (failure.sentence, failure.tried.iter().map(|(_, failure)| failure.class).collect())
    }

    pub(crate) fn standing(&self, name: &str) -> SourceStanding {
        let states = self.providers.states();
        states.iter().find(|state| state.name == name).expect("the source is there").standing
    }
}

/// A turn of the owner's.
pub(crate) fn cause() -> Cause {
    let principal = Principal {
        namespace: "cli".to_owned(),
        user: "owner".to_owned(),
        role: Role::Owner,
        display_name: None,
        attested: true,
    };
    Cause {
        run: Some("run-1".to_owned()),
        conversation: Some(Conversation { channel: "cli".to_owned(), peer: Peer::Person("owner".to_owned()) }),
        audience: Audience::Person(principal.to_string()),
        principal,
        deadline_ms: 60_000,
        chain: Vec::new(),
        meta: Vec::new(),
    }
}

/// Keeps what is shown: the text so far, and how often it was taken back.
#[derive(Default)]
pub(crate) struct Watcher {
    seen: Mutex<(String, usize)>,
}

impl Watcher {
    pub(crate) fn seen(&self) -> (String, usize) {
        self.seen.lock().expect("not poisoned").clone()
    }
}

impl Progress for Watcher {
    fn piece(&self, delta: &ModelDelta) {
        if let ModelDelta::Text(text) = delta {
            self.seen.lock().expect("not poisoned").0.push_str(text);
        }
    }

    fn restart(&self) {
        let mut seen = self.seen.lock().expect("not poisoned");
        seen.0.clear();
        seen.1 += 1;
    }
}
