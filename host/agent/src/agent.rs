//! The handle of the agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use homeagent_journal::{Journal, JournalError};
use homeagent_media::Store;
use homeagent_memory::context::RelevanceContext;
use homeagent_memory::recollection::Remembers;
use homeagent_settings::{Bindings, Settings, SettingsError};
use homeagent_types::model::Usage;
use homeagent_types::ports::{Models, Plugins, Toolbox};
use homeagent_types::{CallError, Conversation, Input, Media, Payload, Principal, Role, Timestamp, now};
use serde::Serialize;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::arrears;
use crate::config::{Limits, Pace};
use crate::core::Core;
use crate::intake::{self, Manner};
use crate::interrupt::Stop;
use crate::lifecycle::{self, Phase};
use crate::media_tools;
use crate::notices;
use crate::outputs;
use crate::pairing::{PairingCode, PairingStatus};
use crate::policy::Policies;
use crate::prompt::Persona;
use crate::questions::{Answer, Question};
use crate::result::TurnEvent;
use crate::scheduler;
use crate::snapshot;
use crate::tools::ToolListing;
use crate::watch::Watcher;

/// What the agent is made of.
pub struct Parts {
    /// The record of everything.
    pub journal: Journal,
    /// The settings; it reads `core.agent.*`.
    pub settings: Settings,
    /// Who has which role.
    pub bindings: Bindings,
    /// The live plugins.
    pub plugins: Arc<dyn Plugins>,
    /// The models.
    pub models: Arc<dyn Models>,
    /// What comes with messages, and goes out with answers.
    pub media: Store,
    /// What was said and done before; none: nothing is recalled.
    pub memory: Option<Arc<dyn Remembers>>,
    /// What of each conversation stands before the model.
    pub context: RelevanceContext,
    /// Parts of the host that offer tools.
    pub toolboxes: Vec<Arc<dyn Toolbox>>,
    /// The data folder, where `personal.md` is.
    pub home: PathBuf,
}

/// Why the agent could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The journal could not be recovered.
    #[error("the agent can't start: {0}")]
    Journal(#[from] JournalError),
    /// A setting of the agent's can't be read.
    #[error("the agent can't start: {0}")]
    Settings(#[from] SettingsError),
    /// The persona can't be written.
    #[error("the agent can't start: {path} can't be made: {source}", path = path.display())]
    Persona {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// A question of a program's: the HTTP API, or a command line.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Where it belongs. Answers go to this channel too, where a plugin offers it.
    pub conversation: Conversation,
    /// Who asks.
    pub principal: Principal,
    /// What.
    pub payload: Payload,
    /// What comes with it.
    pub media: Vec<Media>,
}

impl Ask {
    /// A question that is a text.
    pub fn text(text: impl Into<String>, conversation: Conversation, principal: Principal) -> Self {
        Self { conversation, principal, payload: Payload::Text(text.into()), media: Vec::new() }
    }
}

/// A question that was taken.
#[derive(Debug)]
pub struct Asked {
    /// The input's id in the journal.
    pub input: String,
    /// What happens; ends with [`TurnEvent::Finished`]. Dropping it does not stop the turn.
    pub events: mpsc::Receiver<TurnEvent>,
}

/// A turn that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ActiveRun {
    /// Its id; empty while the journal begins it.
    pub run: String,
    /// Where.
    pub conversation: String,
    /// With whose rights.
    pub principal: String,
    /// Since when.
    #[schema(value_type = u64)]
    pub started_at: Timestamp,
}

/// How the agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AgentStatus {
    /// Where it is in its life.
    pub state: Phase,
    /// Inputs that wait.
    pub queued: usize,
    /// Turns that run.
    pub running: usize,
    /// Turns that have ended since the start.
    pub turns: u64,
    /// The source of the last answer.
    pub source: Option<String>,
    /// The model of the last answer.
    pub model: Option<String>,
    /// What all answers since the start cost together, as the vendors counted it.
    pub usage: Usage,
}

impl AgentStatus {
    /// That of an agent that is not there, but on its way or gone.
    #[must_use]
    pub fn absent(state: Phase) -> Self {
        Self { state, queued: 0, running: 0, turns: 0, source: None, model: None, usage: Usage::default() }
    }
}

/// The agent. Dropping it ends its event loop; [`Agent::shutdown`] ends it in order.
pub struct Agent {
    pub(crate) core: Arc<Core>,
}

impl Agent {
    /// Starts the agent: closes what the last stop left open, queues inputs that no turn took, begins to work.
    ///
    /// # Errors
    ///
    /// A journal that can't be recovered, and a home folder that can't be written.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, StartError> {
        Limits::read(&parts.settings)?;
        Pace::read(&parts.settings)?;
        let persona = Persona::open(&parts.home)
            .map_err(|source| StartError::Persona { path: parts.home.join("personal.md"), source })?;
        let recovery = parts.journal.recover().await?;
        let core = Arc::new(Core::new(parts, persona));
        intake::recovered(&core, recovery.pending_inputs).await;
        core.phase.send_replace(Phase::Running);
        snapshot::log(&core, "start");
        tokio::spawn(scheduler::run(Arc::clone(&core)));
        tokio::spawn(arrears::settle(Arc::clone(&core)));
        Ok(Arc::new(Self { core }))
    }

    /// Asks a question and follows what comes of it.
    ///
    /// # Errors
    ///
    /// `busy` when too many wait, and what keeps the input from being journaled.
    pub async fn ask(&self, ask: Ask) -> Result<Asked, CallError> {
        let (watcher, events) = Watcher::new();
        let input = Input {
            id: uuid::Uuid::now_v7().to_string(),
            source: outputs::API.to_owned(),
            audience: ask.conversation.audience(),
            conversation: ask.conversation,
            principal: Principal { attested: true, ..ask.principal },
            kind: "message".to_owned(),
            payload: ask.payload,
            media: ask.media,
            reply_route: None,
            received_at: now(),
            meta: Vec::new(),
        };
        let accepted = intake::admit(&self.core, input, None, Some(watcher), Manner::Waits).await?;
        Ok(Asked { input: accepted.input, events })
    }

    /// Ends the turn of this id, or all; returns the ids of those that were ended.
    pub fn stop_run(&self, run: Option<&str>) -> Vec<String> {
        let concerned = |turn: &Arc<crate::interrupt::Control>| run.is_none_or(|run| turn.run() == run);
        let turns = self.core.turns().into_iter().filter(concerned);
        turns
            .filter(|turn| turn.stop(Stop::Asked { by: "the owner".to_owned() }))
            .map(|turn| turn.run().to_owned())
            .filter(|run| !run.is_empty())
            .collect()
    }

    /// The turns that run, the oldest first.
    pub fn active(&self) -> Vec<ActiveRun> {
        let turns = self.core.turns().into_iter();
        turns
            .map(|turn| ActiveRun {
                run: turn.run().to_owned(),
                conversation: turn.conversation.to_string(),
                principal: turn.principal().to_string(),
                started_at: turn.started_at,
            })
            .collect()
    }

    /// How it is.
    pub fn status(&self) -> AgentStatus {
        let (source, model) = self.core.last_model().unzip();
        AgentStatus {
            state: *self.core.phase.borrow(),
            queued: self.core.queue().len(),
            running: self.core.turns().len(),
            turns: self.core.turns_ended.load(Ordering::Relaxed),
            source,
            model,
            usage: self.core.usage(),
        }
    }

    /// The tools that a turn with these rights has, sorted by name.
    pub fn tools(&self, role: Role) -> Vec<ToolListing> {
        let policies = Policies::read(&self.core.settings).unwrap_or_default();
        let mut tools = self.core.tools(&self.core.plugins.offers(), None).listing(role, &policies);
        media_tools::leave_out_of_listing(&mut tools, &*self.core.models);
        tools
    }

    /// The questions that wait for the owner, the oldest first.
    pub fn questions(&self) -> Vec<Question> {
        self.core.questions.list()
    }

    /// Answers a question in the owner's name; `None` where it does not wait any more.
    pub fn answer(&self, id: u64, allow: bool, by: &Principal) -> Option<Question> {
        self.core.questions.answer(id, Answer { allow, by: by.to_string() })
    }

    /// Makes a code with which an account of a channel becomes the owner's; an earlier one counts no more.
    ///
    /// # Errors
    ///
    /// A system without random bytes.
    pub fn pair(&self) -> Result<PairingCode, CallError> {
        self.core.pairing.begin()
    }

    /// How the last pairing stands, as soon as its code does not wait any more, or after `wait`.
    pub async fn pairing(&self, wait: Duration) -> PairingStatus {
        self.core.pairing.status(wait).await
    }

    /// Tells the owner something that is no answer, where they can be spoken to in private. `code` says for programs what
    /// it is about. Never waits.
    pub fn tell_owner(&self, code: &'static str, text: String) {
        notices::tell_owner(&self.core, code, text);
    }

    /// Stops it: no more inputs are taken, waiting ones are flushed and their senders told, running turns get
    /// `core.agent.drain_ms` and are then cut. Returns when it has stopped.
    pub async fn shutdown(&self) {
        lifecycle::shutdown(&self.core).await;
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The event loop holds the insides, not the handle.
        self.core.phase.send_replace(Phase::Stopped);
    }
}
