//! An agent whose models are the sources, with one channel that the test reads.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_agent::{Agent, Ask, Asked, Parts, TurnEvent, TurnResult};
use homeagent_journal::Journal;
use homeagent_memory::context::RelevanceContext;
use homeagent_settings::{Bindings, Database};
use homeagent_types::ports::{Mind as _, Models, PluginStatus, Plugins};
use homeagent_types::stage::{Patch, StageContext};
use homeagent_types::{
    CallError, Cause, ChannelDefinition, Conversation, Offer, Offers, Output, OutputCapabilities, OutputDelta, Payload,
    Peer, Principal, Receipt, Role, Shown, Submission, ToolOutput,
};
use tokio::sync::{Mutex as Async, mpsc};

use crate::world::World;

pub(crate) struct Mind {
    pub(crate) agent: Arc<Agent>,
    pub(crate) journal: Journal,
    pub(crate) channel: Arc<Channel>,
}

impl Mind {
    /// An agent in a world, whose owner is `me` on the channel `cli`.
    pub(crate) async fn new(world: &World) -> Self {
        let database = Database::open(world.folder().join("homeagent.db")).expect("it opens");
        let bindings = Bindings::open(&database).expect("they open");
        bindings.bind("cli", "me", "owner").expect("bound");
        let journal = Journal::open(&database).expect("it opens");
        let channel = Channel::new();
        // Quick messages of one person are answered one by one.
        world.settings.set("core.agent.merge_ms", 0).expect("set");
        let parts = Parts {
            journal: journal.clone(),
            settings: world.settings.clone(),
            bindings,
            plugins: Arc::clone(&channel) as Arc<dyn Plugins>,
            models: Arc::clone(&world.providers) as Arc<dyn Models>,
            media: world.media.clone(),
            context: RelevanceContext::of_home(world.folder(), &journal, &world.settings).expect("the contexts open"),
            memory: None,
            toolboxes: Vec::new(),
            home: Path::to_path_buf(world.folder()),
        };
        let agent = Agent::start(parts).await.expect("it starts");
        Self { agent, journal, channel }
    }

    /// Says something on the channel.
    pub(crate) async fn say(&self, text: &str) {
        self.agent.submit("cli", None, said(text)).await.expect("it is taken");
    }

    /// Asks as the owner, and waits for the end.
    pub(crate) async fn ask(&self, text: &str) -> TurnResult {
        finished(&mut self.begin(text).await).await
    }

    pub(crate) async fn begin(&self, text: &str) -> Asked {
        let owner = Principal {
            namespace: "local".to_owned(),
            user: "me".to_owned(),
            role: Role::Owner,
            display_name: None,
            attested: false,
        };
        self.agent.ask(Ask::text(text, Conversation::person("api", "me"), owner)).await.expect("it is taken")
    }
}

pub(crate) async fn finished(asked: &mut Asked) -> TurnResult {
    loop {
        match asked.events.recv().await {
            Some(TurnEvent::Finished(result)) => return result,
            Some(_) => {}
            None => panic!("a turn ended without a result"),
        }
    }
}

pub(crate) fn said(text: &str) -> Submission {
    Submission {
        platform_id: None,
        peer: Peer::Person("me".to_owned()),
        user: "me".to_owned(),
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

/// The channel `cli`: keeps what is shown, and hands on what is delivered.
pub(crate) struct Channel {
    shown: Mutex<String>,
    sent: mpsc::UnboundedSender<Output>,
    outputs: Async<mpsc::UnboundedReceiver<Output>>,
}

impl Channel {
    fn new() -> Arc<Self> {
        let (sent, outputs) = mpsc::unbounded_channel();
        Arc::new(Self { shown: Mutex::default(), sent, outputs: Async::new(outputs) })
    }

    /// The next message.
    pub(crate) async fn next(&self) -> Output {
        self.outputs.lock().await.recv().await.expect("something is sent")
    }

    /// What was sent beyond what was looked at.
    pub(crate) async fn rest(&self) -> Vec<Output> {
        let mut outputs = self.outputs.lock().await;
        std::iter::from_fn(|| outputs.try_recv().ok()).collect()
    }

    /// What stands there of answers that were being written, since it was last asked for.
    pub(crate) fn take_shown(&self) -> String {
        std::mem::take(&mut self.shown.lock().expect("not poisoned"))
    }
}

#[async_trait]
impl Plugins for Channel {
    fn offers(&self) -> Arc<Offers> {
        let item = ChannelDefinition {
            name: "cli".to_owned(),
            description: "the channel of the tests".to_owned(),
            capabilities: OutputCapabilities::TEXT,
            help: "Plain text.".to_owned(),
            streaming: true,
            meta: Vec::new(),
        };
        let channels = vec![Offer { plugin: "cli".to_owned(), item }];
        Arc::new(Offers { channels, ..Offers::default() })
    }

    async fn call_tool(&self, _: &str, name: &str, _: String, _: Cause) -> Result<ToolOutput, CallError> {
        Err(CallError::NotFound(name.to_owned()))
    }

    async fn run_stage(&self, _: &str, _: StageContext) -> Result<Vec<Patch>, CallError> {
        Err(CallError::NotLive)
    }

    async fn deliver(&self, _: &str, output: Output, _: Cause) -> Result<Receipt, CallError> {
        let _ = self.sent.send(output);
        Ok(Receipt { platform_id: None, meta: Vec::new() })
    }

    fn show(&self, _: &str, deltas: Vec<OutputDelta>) {
        let mut shown = self.shown.lock().expect("not poisoned");
        for delta in deltas {
            match delta.content {
                Shown::Text(text) => shown.push_str(&text),
                Shown::Void => shown.clear(),
                Shown::Reasoning(_) | Shown::ToolStarted(_) | Shown::ToolEnded(_) => {}
            }
        }
    }

    async fn reload_plugin(&self, plugin: &str) -> Result<PluginStatus, CallError> {
        Err(CallError::NotFound(plugin.to_owned()))
    }

    fn publish(&self, _: &str, _: serde_json::Value, _: Cause) {}
}
