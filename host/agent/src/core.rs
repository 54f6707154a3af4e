//! What all parts of the agent share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_journal::Journal;
use homeagent_media::Store;
use homeagent_memory::context::RelevanceContext;
use homeagent_memory::recollection::Remembers;
use homeagent_settings::{Bindings, Settings};
use homeagent_types::model::Usage;
use homeagent_types::ports::{Models, Plugins, Toolbox};
use homeagent_types::{Audience, Cause, Conversation, Offers, Principal, Role};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::arrears::Arrears;
use crate::interrupt::Control;
use crate::lifecycle::Phase;
use crate::pairing::Pairing;
use crate::prompt::Persona;
use crate::questions::Questions;
use crate::queue::Queue;
use crate::schema::Schemas;
use crate::tools::ToolSet;
use crate::window::Contexts;

/// The agent's insides. No lock of the standard library is held over an await.
pub(crate) struct Core {
    pub(crate) journal: Journal,
    pub(crate) settings: Settings,
    pub(crate) bindings: Bindings,
    pub(crate) plugins: Arc<dyn Plugins>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) media: Store,
    pub(crate) memory: Option<Arc<dyn Remembers>>,
    pub(crate) context: RelevanceContext,
    pub(crate) toolboxes: Vec<Arc<dyn Toolbox>>,
    pub(crate) persona: Persona,
    pub(crate) schemas: Schemas,
    pub(crate) contexts: Contexts,
    pub(crate) pairing: Pairing,
    pub(crate) questions: Questions,
    queue: Mutex<Queue>,
    /// Wakes the scheduler: an input came, or a turn ended.
    wake: Notify,
    /// Tells the same to the agent's own work.
    pub(crate) stirred: Notify,
    /// Whoever has it does the agent's own work.
    pub(crate) consolidating: tokio::sync::Mutex<()>,
    /// The turns that run, by conversation.
    running: Mutex<HashMap<String, Arc<Control>>>,
    /// Free places in each channel's queue.
    places: Mutex<HashMap<String, Arc<Semaphore>>>,
    pub(crate) phase: watch::Sender<Phase>,
    /// Turns, commands and submissions under way.
    pub(crate) tasks: TaskTracker,
    pub(crate) turns_ended: AtomicU64,
    /// Ends of runs that the journal has not taken yet.
    pub(crate) arrears: Arrears,
    /// Source and model of the last answer.
    last_model: Mutex<Option<(String, String)>>,
    /// What all answers since the start cost together.
    usage: Mutex<Usage>,
}

impl Core {
    pub(crate) fn new(parts: crate::Parts, persona: Persona) -> Self {
        Self {
            journal: parts.journal,
            settings: parts.settings,
            bindings: parts.bindings,
            plugins: parts.plugins,
            models: parts.models,
            media: parts.media,
            memory: parts.memory,
            context: parts.context,
            toolboxes: parts.toolboxes,
            persona,
            schemas: Schemas::default(),
            contexts: Contexts::default(),
            pairing: Pairing::default(),
            questions: Questions::default(),
            queue: Mutex::default(),
            wake: Notify::new(),
            stirred: Notify::new(),
            consolidating: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            places: Mutex::default(),
            phase: watch::Sender::new(Phase::Start),
            tasks: TaskTracker::new(),
            turns_ended: AtomicU64::new(0),
            arrears: Arrears::default(),
            last_model: Mutex::default(),
            usage: Mutex::default(),
        }
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tools of this moment, for a turn in `conversation`.
    pub(crate) fn tools(&self, offers: &Offers, conversation: Option<&Conversation>) -> ToolSet {
        ToolSet::assemble(offers, &self.toolboxes, conversation).with_choices(&*self.models)
    }

    /// The turn that runs in a conversation.
    pub(crate) fn turn_in(&self, conversation: &str) -> Option<Arc<Control>> {
        self.running().get(conversation).cloned()
    }

    /// All turns that run, the oldest first.
    pub(crate) fn turns(&self) -> Vec<Arc<Control>> {
        let mut turns: Vec<Arc<Control>> = self.running().values().cloned().collect();
        turns.sort_by_key(|turn| turn.began);
        turns
    }

    pub(crate) fn turn_began(&self, control: Arc<Control>) {
        self.running().insert(control.conversation.to_string(), control);
    }

    /// Gives a conversation's place back.
    pub(crate) fn turn_ended(&self, conversation: &str) {
        self.running().remove(conversation);
        self.queue().done(conversation);
        self.turns_ended.fetch_add(1, Ordering::Relaxed);
        self.stir();
    }

    /// Something is there to do, or was done.
    pub(crate) fn stir(&self) {
        self.wake.notify_one();
        self.stirred.notify_waiters();
    }

    /// Returns once there may be something to do.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// The places in a channel's queue.
    pub(crate) fn places(&self, channel: &str, how_many: usize) -> Arc<Semaphore> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(places.entry(channel.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(how_many))))
    }

    pub(crate) fn last_model(&self) -> Option<(String, String)> {
        self.last_model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn answered_by(&self, source: &str, model: &str) {
        let last = Some((source.to_owned(), model.to_owned()));
        *self.last_model.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }

    pub(crate) fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn used(&self, usage: Usage) {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Control>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host itself, which has no rights of anybody's.
pub(crate) fn host_principal() -> Principal {
    Principal {
        namespace: "host".to_owned(),
        user: "host".to_owned(),
        role: Role::Plugin,
        display_name: None,
        attested: false,
    }
}

/// What a call of the agent's comes from.
pub(crate) fn cause(
    run: Option<String>,
    conversation: &Conversation,
    audience: &Audience,
    principal: Principal,
    deadline: std::time::Duration,
) -> Cause {
    Cause {
        run,
        conversation: Some(conversation.clone()),
        principal,
        audience: audience.clone(),
        deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
        chain: Vec::new(),
        meta: Vec::new(),
    }
}
