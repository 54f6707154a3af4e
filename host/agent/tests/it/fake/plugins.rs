//! Plugins made of closures; what is sent to channels goes to the test.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::future::BoxFuture;
use homeagent_types::ports::{PluginStatus, Plugins};
use homeagent_types::stage::{HandlerMode, Patch, Scope, Stage, StageContext, StageRegistration};
use homeagent_types::{
    CallError, Cause, ChannelDefinition, Effect, Offer, Offers, Output, OutputCapabilities, OutputDelta, Receipt,
    Shown, ToolDefinition, ToolOutput,
};
use tokio::sync::{Barrier, Mutex as AsyncMutex, Notify, mpsc};

type Tool = Arc<dyn Fn(String, Cause) -> BoxFuture<'static, Result<ToolOutput, CallError>> + Send + Sync>;
type Handler = Arc<dyn Fn(StageContext) -> BoxFuture<'static, Result<Vec<Patch>, CallError>> + Send + Sync>;

pub(crate) struct FakePlugins {
    offers: Mutex<Arc<Offers>>,
    tools: Mutex<HashMap<String, Tool>>,
    handlers: Mutex<HashMap<(String, Stage), Handler>>,
    sent: mpsc::UnboundedSender<Output>,
    outbox: AsyncMutex<mpsc::UnboundedReceiver<Output>>,
    /// What the next deliveries answer; then they succeed.
    pub(crate) delivery: Mutex<Vec<CallError>>,
    /// The next delivery notifies the first when it begins, and goes on when the second is notified.
    pub(crate) held: Mutex<Option<(Arc<Notify>, Arc<Notify>)>>,
    /// Each delivery waits here for others.
    pub(crate) together: Mutex<Option<Arc<Barrier>>>,
    /// Notified when a tool begins that will not end.
    pub(crate) hangs: Arc<Notify>,
    pub(crate) shown: Mutex<Vec<Shown>>,
    pub(crate) published: Mutex<Vec<(String, serde_json::Value)>>,
}

impl FakePlugins {
    pub(crate) fn new() -> Arc<Self> {
        let (sent, outbox) = mpsc::unbounded_channel();
        Arc::new(Self {
            offers: Mutex::default(),
            tools: Mutex::default(),
            handlers: Mutex::default(),
            sent,
            outbox: AsyncMutex::new(outbox),
            delivery: Mutex::default(),
            held: Mutex::default(),
            together: Mutex::default(),
            hangs: Arc::default(),
            shown: Mutex::default(),
            published: Mutex::default(),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Offers)) {
        let mut shared = self.offers.lock().unwrap();
        let mut offers = (**shared).clone();
        change(&mut offers);
        offers.tools.sort_by(|a, b| a.item.name.cmp(&b.item.name));
        offers.channels.sort_by(|a, b| a.item.name.cmp(&b.item.name));
        offers.stages.sort_by(|a, b| (a.item.priority, &a.plugin).cmp(&(b.item.priority, &b.plugin)));
        *shared = Arc::new(offers);
    }

    pub(crate) fn offer_channel(&self, item: ChannelDefinition) {
        self.change(|offers| offers.channels.push(Offer { plugin: item.name.clone(), item }));
    }

    pub(crate) fn offer_tool<F>(&self, plugin: &str, item: ToolDefinition, run: F)
    where
        F: Fn(String, Cause) -> BoxFuture<'static, Result<ToolOutput, CallError>> + Send + Sync + 'static,
    {
        self.tools.lock().unwrap().insert(item.name.clone(), Arc::new(run));
        self.change(|offers| offers.tools.push(Offer { plugin: plugin.to_owned(), item }));
    }

    /// A tool that says what it was given.
    pub(crate) fn offer_echo(&self, name: &str, effect: Effect) {
        self.offer_tool("echo", tool(name, effect), |args, _| Box::pin(async move { Ok(ToolOutput::text(&args)) }));
    }

    pub(crate) fn offer_stage<F>(&self, plugin: &str, item: StageRegistration, run: F)
    where
        F: Fn(StageContext) -> Result<Vec<Patch>, CallError> + Send + Sync + 'static,
    {
        self.offer_slow_stage(plugin, item, move |context| {
            let answer = run(context);
            Box::pin(async move { answer })
        });
    }

    pub(crate) fn offer_slow_stage<F>(&self, plugin: &str, item: StageRegistration, run: F)
    where
        F: Fn(StageContext) -> BoxFuture<'static, Result<Vec<Patch>, CallError>> + Send + Sync + 'static,
    {
        self.handlers.lock().unwrap().insert((plugin.to_owned(), item.stage), Arc::new(run));
        self.change(|offers| offers.stages.push(Offer { plugin: plugin.to_owned(), item }));
    }

    /// A plugin that may bring in what others wrote.
    pub(crate) fn reaches_out(&self, plugin: &str) {
        self.change(|offers| {
            offers.outward.insert(plugin.to_owned());
        });
    }

    /// The next message that was sent.
    pub(crate) async fn next_output(&self) -> Output {
        self.outbox.lock().await.recv().await.expect("something is sent")
    }

    /// What has been sent and not been looked at.
    pub(crate) async fn rest(&self) -> Vec<Output> {
        let mut outbox = self.outbox.lock().await;
        std::iter::from_fn(|| outbox.try_recv().ok()).collect()
    }
}

#[async_trait]
impl Plugins for FakePlugins {
    fn offers(&self) -> Arc<Offers> {
        Arc::clone(&self.offers.lock().unwrap())
    }

    async fn call_tool(&self, _: &str, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError> {
        let run = self.tools.lock().unwrap().get(name).cloned();
        run.ok_or_else(|| CallError::NotFound(name.to_owned()))?(args, cause).await
    }

    async fn run_stage(&self, plugin: &str, context: StageContext) -> Result<Vec<Patch>, CallError> {
        let run = self.handlers.lock().unwrap().get(&(plugin.to_owned(), context.stage)).cloned();
        run.ok_or(CallError::NotLive)?(context).await
    }

    async fn deliver(&self, _: &str, output: Output, _: Cause) -> Result<Receipt, CallError> {
        if let Some(error) = self.delivery.lock().unwrap().pop() {
            return Err(error);
        }
        let held = self.held.lock().unwrap().take();
        if let Some((began, release)) = held {
            began.notify_one();
            release.notified().await;
        }
        let together = self.together.lock().unwrap().clone();
        if let Some(together) = together {
            together.wait().await;
        }
        let _ = self.sent.send(output);
        Ok(Receipt { platform_id: Some("p1".to_owned()), meta: Vec::new() })
    }

    fn show(&self, _: &str, deltas: Vec<OutputDelta>) {
        self.shown.lock().unwrap().extend(deltas.into_iter().map(|delta| delta.content));
    }

    async fn reload_plugin(&self, plugin: &str) -> Result<PluginStatus, CallError> {
        Err(CallError::Invalid(format!("{plugin} did not start: it does not want to")))
    }

    fn publish(&self, topic: &str, payload: serde_json::Value, _: Cause) {
        self.published.lock().unwrap().push((topic.to_owned(), payload));
    }
}

/// A channel that streams and carries text and JSON.
pub(crate) fn channel(name: &str) -> ChannelDefinition {
    ChannelDefinition {
        name: name.to_owned(),
        description: format!("the {name} of the tests"),
        capabilities: OutputCapabilities::TEXT.union(OutputCapabilities::STRUCTURED),
        help: "Plain text, in one piece.".to_owned(),
        streaming: true,
        meta: Vec::new(),
    }
}

/// A tool that takes an optional number `n`.
pub(crate) fn tool(name: &str, effect: Effect) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: "A tool of the tests".to_owned(),
        parameters: serde_json::json!({
            "type": "object",
            "properties": { "n": { "type": "integer" } },
            "additionalProperties": false
        }),
        effect,
        min_role: None,
        stateless: true,
        no_memory: false,
        cleaner: None,
        timeout_ms: None,
        meta: Vec::new(),
    }
}

/// A global handler.
pub(crate) fn stage(stage: Stage, mode: HandlerMode, priority: i32) -> StageRegistration {
    StageRegistration {
        stage,
        mode,
        scope: Scope::Global,
        priority,
        on_failure: None,
        timeout_ms: None,
        meta: Vec::new(),
    }
}
