//! A home with an agent in it, for one test.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use homeagent_agent::{Agent, Ask, Asked, Parts, TurnEvent, TurnResult};
use homeagent_journal::{Event, EventKind, Journal};
use homeagent_media::Store;
use homeagent_memory::context::RelevanceContext;
use homeagent_memory::recollection::Remembers;
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::ports::{Mind, Models, Plugins, Toolbox};
use homeagent_types::{Conversation, Payload, Peer, Principal, Role, Submission};
use tempfile::TempDir;

use crate::fake::{FakeModels, FakePlugins, answer, channel};

pub(crate) struct Home {
    pub(crate) agent: Arc<Agent>,
    pub(crate) plugins: Arc<FakePlugins>,
    pub(crate) models: Arc<FakeModels>,
    pub(crate) journal: Journal,
    pub(crate) settings: Settings,
    pub(crate) bindings: Bindings,
    pub(crate) media: Store,
    pub(crate) context: RelevanceContext,
    pub(crate) folder: TempDir,
}

/// What there is before the agent is.
pub(crate) struct Rooms<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) journal: &'a Journal,
    pub(crate) settings: &'a Settings,
    pub(crate) bindings: &'a Bindings,
}

/// Everything in a test has to happen within this time; it is never waited for.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it happens in time")
}

impl Home {
    /// An agent with the channel `cli`, on which `me` is the owner, `ann` a member and all others are guests.
    pub(crate) async fn new() -> Self {
        let plugins = FakePlugins::new();
        plugins.offer_channel(channel("cli"));
        Self::with(plugins, |_| {}).await
    }

    pub(crate) async fn with(plugins: Arc<FakePlugins>, set: impl FnOnce(&Settings)) -> Self {
        Self::open(TempDir::new().unwrap(), plugins, set).await
    }

    /// An agent in a folder that may have been lived in.
    pub(crate) async fn open(folder: TempDir, plugins: Arc<FakePlugins>, set: impl FnOnce(&Settings)) -> Self {
        Self::furnish(folder, plugins, |_| None, Vec::new(), set).await
    }

    /// The same with a memory, and parts of the host that offer tools.
    pub(crate) async fn furnish(
        folder: TempDir,
        plugins: Arc<FakePlugins>,
        memory: impl FnOnce(Rooms<'_>) -> Option<(Arc<dyn Remembers>, Option<RelevanceContext>)>,
        toolboxes: Vec<Arc<dyn Toolbox>>,
        set: impl FnOnce(&Settings),
    ) -> Self {
        let database = Database::open(folder.path().join("homeagent.db")).unwrap();
        let secrets = Secrets::open(&database, folder.path()).unwrap();
        let settings = Settings::open(&database, &secrets).unwrap();
        set(&settings);
        let bindings = Bindings::open(&database).unwrap();
        // Somebody whom an earlier life of this home has not unbound.
        if !folder.path().join("strangers").exists() {
            bindings.bind("cli", "me", "owner").unwrap();
            bindings.bind("cli", "ann", "member").unwrap();
        }
        let journal = Journal::open(&database).unwrap();
        let models = FakeModels::new();
        let media = store(&folder, &settings);
        let rooms = Rooms { folder: folder.path(), journal: &journal, settings: &settings, bindings: &bindings };
        let (memory, context) = memory(rooms).unzip();
        let context = context.flatten().unwrap_or_else(|| {
            RelevanceContext::of_home(folder.path(), &journal, &settings).expect("the contexts open")
        });
        let parts = Parts {
            journal: journal.clone(),
            settings: settings.clone(),
            bindings: bindings.clone(),
            plugins: Arc::clone(&plugins) as Arc<dyn Plugins>,
            models: Arc::clone(&models) as Arc<dyn Models>,
            media: media.clone(),
            context: context.clone(),
            memory,
            toolboxes,
            home: folder.path().to_path_buf(),
        };
        let agent = Agent::start(parts).await.unwrap();
        Self { agent, plugins, models, journal, settings, bindings, media, context, folder }
    }

    /// Says something on `cli` in the speaker's own conversation; returns the input's id.
    pub(crate) async fn say(&self, user: &str, text: &str) -> String {
        self.agent.submit("cli", None, said(user, text)).await.unwrap().input
    }

    /// The same in the group `family`.
    pub(crate) async fn say_in_group(&self, user: &str, text: &str) -> String {
        let said = Submission { peer: Peer::Group("family".to_owned()), ..said(user, text) };
        self.agent.submit("cli", None, said).await.unwrap().input
    }

    pub(crate) async fn interrupt(&self, user: &str, text: &str) {
        self.agent.interrupt("cli", None, said(user, text)).await.unwrap();
    }

    pub(crate) async fn ask(&self, text: &str) -> Asked {
        self.agent.ask(Ask::text(text, Conversation::person("api", "me"), owner())).await.unwrap()
    }

    /// Asks, answers each call of the model in turn, and returns the result.
    pub(crate) async fn turn(&self, text: &str, answers: Vec<homeagent_types::model::AssistantAnswer>) -> TurnResult {
        let mut asked = self.ask(text).await;
        for answer in answers {
            soon(self.models.next()).await.end(answer);
        }
        finished(&mut asked).await
    }

    /// A turn that ends well, to see that the agent still works.
    pub(crate) async fn works(&self) {
        assert_eq!(self.turn("still there?", vec![answer("yes")]).await.reply, "yes");
    }

    /// From the next start on, nobody has a role here.
    pub(crate) fn unbind_all(&self) {
        let bindings = Bindings::open(&Database::open(self.folder.path().join("homeagent.db")).unwrap()).unwrap();
        for user in ["me", "ann"] {
            bindings.unbind("cli", user).unwrap();
        }
        std::fs::write(self.folder.path().join("strangers"), "").unwrap();
    }

    /// Changes the database behind the journal's back.
    pub(crate) fn sql(&self, sql: &str) {
        let database = Database::open(self.folder.path().join("homeagent.db")).unwrap();
        database.writer().unwrap().execute_batch(sql).unwrap();
    }

    /// As on a full disk, nothing can be put into this table until [`Home::mend`].
    pub(crate) fn break_table(&self, table: &str) {
        self.sql(&format!("CREATE TRIGGER broken BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'broken'); END"));
    }

    pub(crate) fn mend(&self) {
        self.sql("DROP TRIGGER broken");
    }

    /// What is in the journal of a run.
    pub(crate) async fn events(&self, run: &str) -> Vec<Event> {
        self.journal.run_events(run).await.unwrap()
    }

    pub(crate) async fn kinds(&self, run: &str) -> Vec<EventKind> {
        self.events(run).await.into_iter().map(|event| event.kind).collect()
    }
}

/// A store without a network.
pub(crate) fn store(folder: &TempDir, settings: &Settings) -> Store {
    let home = folder.path().to_path_buf();
    let clock = Arc::new(homeagent_types::now);
    Store::open(homeagent_media::Parts { home, settings: settings.clone(), network: None, clock }).unwrap()
}

pub(crate) fn owner() -> Principal {
    Principal {
        namespace: "local".to_owned(),
        user: "me".to_owned(),
        role: Role::Owner,
        display_name: None,
        attested: false,
    }
}

pub(crate) fn said(user: &str, text: &str) -> Submission {
    Submission {
        platform_id: None,
        peer: Peer::Person(user.to_owned()),
        user: user.to_owned(),
        display_name: None,
        connection: None,
        kind: "message".to_owned(),
        payload: Payload::Text(text.to_owned()),
        media: Vec::new(),
        reply_route: None,
        received_at: None,
        meta: Vec::new(),
    }
}

pub(crate) async fn finished(asked: &mut Asked) -> TurnResult {
    loop {
        match soon(asked.events.recv()).await {
            Some(TurnEvent::Finished(result)) => return result,
            Some(_) => {}
            None => panic!("a turn ended without a result"),
        }
    }
}
