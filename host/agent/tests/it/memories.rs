//! The agent with the memory as people have it.

use std::sync::Arc;

use homeagent_language::embed::Embedder;
use homeagent_memory::recollection::Remembers;
use homeagent_memory::{Memory, Parts};
use homeagent_types::model::Message;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::fake::{FakePlugins, answer, channel};
use crate::home::{Home, soon};

pub(crate) struct Lived {
    pub(crate) home: Home,
    pub(crate) memory: Arc<Memory>,
    _embedder: watch::Sender<Option<Arc<dyn Embedder>>>,
}

impl Lived {
    pub(crate) async fn open(folder: TempDir) -> Self {
        Self::with(folder, None).await
    }

    /// The same with something that makes vectors.
    pub(crate) async fn with(folder: TempDir, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let plugins = FakePlugins::new();
        plugins.offer_channel(channel("cli"));
        let mut opened = None;
        let (keeps, embedder) = watch::channel(embedder);
        let memory = |rooms: crate::home::Rooms<'_>| {
            let parts = Parts {
                home: rooms.folder.to_path_buf(),
                journal: rooms.journal.clone(),
                settings: rooms.settings.clone(),
                bindings: rooms.bindings.clone(),
                embedder,
                elsewhere: None,
                plugin_values: None,
            };
            let memory = Memory::open(parts).unwrap();
            opened = Some(Arc::clone(&memory));
            let context = memory.context().clone();
            Some((memory as Arc<dyn Remembers>, Some(context)))
        };
        let set = |settings: &homeagent_settings::Settings| {
            // How long it takes is not what is tested here.
            settings.set("core.memory.recall_ms", 60_000).unwrap();
        };
        let home = Home::furnish(folder, plugins, memory, Vec::new(), set).await;
        Self { home, memory: opened.unwrap(), _embedder: keeps }
    }

    /// A message in private that is answered.
    pub(crate) async fn told(&self, user: &str, text: &str) {
        self.home.say(user, text).await;
        soon(self.home.models.next()).await.end(answer("好的，记住了。"));
        soon(self.home.plugins.next_output()).await;
    }

    /// What the model is shown of the memory when this is said.
    pub(crate) async fn shown(&self, user: &str, text: &str, in_group: bool) -> String {
        soon(self.memory.caught_up()).await;
        if in_group {
            self.home.say_in_group(user, text).await;
        } else {
            self.home.say(user, text).await;
        }
        let model = soon(self.home.models.next()).await;
        let shown = match model.prompt.messages.last() {
            Some(Message::System(text)) if text.contains("<data from=\"memory\">") => text.clone(),
            _ => String::new(),
        };
        model.end(answer("嗯"));
        soon(self.home.plugins.next_output()).await;
        shown
    }

    /// Begins new sessions, so that nothing of this stands in a window.
    async fn much_later(&self) {
        for user in ["ann", "me"] {
            self.home.say(user, "/new").await;
            soon(self.home.plugins.next_output()).await;
        }
    }

    /// Stops it all and opens the same folder.
    pub(crate) async fn restart(self) -> Self {
        self.home.agent.shutdown().await;
        soon(self.memory.close()).await;
        self.home.journal.close().await;
        Self::open(self.home.folder).await
    }
}

#[tokio::test]
async fn what_was_said_long_ago_in_private_is_known_again_to_the_same_person_and_to_nobody_else() {
    let mut lived = Lived::open(TempDir::new().unwrap()).await;
    lived.told("ann", "我的猫叫团子，它对鸡肉过敏").await;
    lived.told("ann", "The spare key hangs behind the blue door").await;
    lived.told("me", "今天天气不错").await;
    for round in 0..2 {
        lived.much_later().await;
        let shown = lived.shown("ann", "猫能吃鸡肉吗？", false).await;
        assert!(shown.contains("ann: 我的猫叫团子，它对鸡肉过敏"), "{round}: {shown}");
        let shown = lived.shown("ann", "where did I hang the spare key?", false).await;
        assert!(shown.contains("behind the blue door"), "{round}: {shown}");
        assert!(!shown.contains("where did I hang"), "what stands in the window is not said twice: {shown}");
        for text in ["猫能吃鸡肉吗？", "where is the spare key?"] {
            for (user, in_group) in [("ann", true), ("me", true), ("me", false)] {
                let shown = lived.shown(user, text, in_group).await;
                assert!(!shown.contains("团子") && !shown.contains("blue door"), "{round} {user} {in_group}: {shown}");
            }
        }
        lived = lived.restart().await;
    }
}

#[tokio::test]
async fn what_was_said_in_a_group_is_known_to_who_was_there_as_others_words() {
    let lived = Lived::open(TempDir::new().unwrap()).await;
    let said = lived.shown("ann", "我们周六去爬香山", true).await;
    assert_eq!(said, "");
    lived.much_later().await;
    let shown = lived.shown("ann", "周六去哪里爬山？", false).await;
    assert!(shown.contains("elsewhere, perhaps in others' words: 我们周六去爬香山"), "{shown}");
    let shown = lived.shown("me", "周六去哪里爬山？", false).await;
    assert!(!shown.contains("香山"), "who was not there is not told: {shown}");
}
