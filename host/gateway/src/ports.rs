//! What the gateway needs of the agent, and of whoever starts and stops it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_agent::{
    ActiveRun, Agent, AgentStatus, Ask, Asked, PairingCode, PairingStatus, Phase, Question, ToolListing,
};
use homeagent_providers::cost::CostNotice;
use homeagent_providers::{Providers, SourceState};
use homeagent_types::ports::{Adapters, KnowledgeAdmin, Listeners, PluginAdmin, PluginStatus};
use homeagent_types::{CallError, Cause, Principal, Role, Timestamp, ToolOutput};
use serde::Serialize;
use tokio::sync::broadcast;
use utoipa::ToSchema;

/// Whom tool calls over the API come from.
const CALLER: &str = "api";

/// What lives as long as the agent does: it is there from one start of the agent to the next stop.
pub struct Live {
    /// The agent.
    pub turns: Arc<dyn Turns>,
    /// The sources at work.
    pub providers: Arc<Providers>,
    /// The plugins.
    pub plugins: Arc<dyn PluginAdmin>,
    /// The adapters.
    pub adapters: Arc<dyn Adapters>,
    /// The listeners that plugins hold.
    pub listeners: Arc<dyn Listeners>,
    /// The knowledge base; none where it could not be opened.
    pub knowledge: Option<Arc<dyn KnowledgeAdmin>>,
}

/// Something about the daemon that is another way now, and is in no journal.
#[derive(Clone, Debug)]
pub enum Change {
    /// The agent started or stopped.
    Agent(Phase),
    /// A plugin's state is another one.
    Plugin(Box<PluginStatus>),
    /// A source failed, or answers again.
    Source(SourceState),
    /// A limit of what models may cost comes near or is reached.
    Cost(CostNotice),
    /// So many changes came too fast to be told.
    Missed(u64),
}

/// Starts and stops the agent inside the daemon. Both are finished once they have begun, even if nobody waits for them
/// any more.
#[async_trait]
pub trait Keeper: Send + Sync {
    /// What lives now; nothing while the agent is stopped. Not to be kept: what is held is not given back.
    fn live(&self) -> Option<Arc<Live>>;

    /// Where the agent is in its life.
    fn phase(&self) -> Phase;

    /// Tells of changes from now on. A receiver that falls behind gets `Lagged`.
    fn changes(&self) -> broadcast::Receiver<Change>;

    /// Starts the agent with its plugins and sources; nothing happens where it runs already.
    ///
    /// # Errors
    ///
    /// Why it can't start, in a sentence; it is stopped then.
    async fn start(&self) -> Result<(), String>;

    /// Ends the agent wholly: waiting inputs are told, running turns have their time, plugins end, caches go. Nothing
    /// happens where it is stopped already.
    async fn stop(&self);
}

/// A warning or an error that went into the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LoggedProblem {
    /// When.
    pub at: Timestamp,
    /// `warn` or `error`.
    pub level: String,
    /// The part of the daemon that logged it; `plugin` for the lines of plugins.
    pub origin: String,
    /// What it said.
    pub text: String,
    /// The turn it happened in, where it happened in one.
    pub run: Option<String>,
}

/// What the daemon knows of itself.
pub trait Monitor: Send + Sync {
    /// The last problems, the oldest first, without secrets.
    fn problems(&self) -> Vec<LoggedProblem>;

    /// What the process has counted since its start, in Prometheus's text format.
    fn counted(&self) -> String;
}

/// The agent, as the API sees it.
#[async_trait]
pub trait Turns: Send + Sync {
    /// Asks a question and follows what comes of it. Dropping what it answers does not stop the turn.
    async fn ask(&self, ask: Ask) -> Result<Asked, CallError>;

    /// Ends the turn of this id, or all; returns the ids of those that were ended.
    fn stop_run(&self, run: Option<&str>) -> Vec<String>;

    /// The turns that run.
    fn active(&self) -> Vec<ActiveRun>;

    /// How the agent is.
    fn status(&self) -> AgentStatus;

    /// The tools that somebody of this role has, sorted by name.
    fn tools(&self, role: Role) -> Vec<ToolListing>;

    /// Calls a tool with the rights of `cause.principal`. `args` is a JSON text.
    async fn call_tool(&self, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError>;

    /// Makes a code with which an account becomes the owner's.
    fn pair(&self) -> Result<PairingCode, CallError>;

    /// How the last pairing stands, as soon as its code does not wait any more, or after `wait`.
    async fn pairing(&self, wait: Duration) -> PairingStatus;

    /// The questions that wait for the owner.
    fn questions(&self) -> Vec<Question>;

    /// Answers a question in the owner's name; `None` where it does not wait any more.
    fn answer(&self, id: u64, allow: bool, by: &Principal) -> Option<Question>;
}

#[async_trait]
impl Turns for Agent {
    async fn ask(&self, ask: Ask) -> Result<Asked, CallError> {
        Agent::ask(self, ask).await
    }

    fn stop_run(&self, run: Option<&str>) -> Vec<String> {
        Agent::stop_run(self, run)
    }

    fn active(&self) -> Vec<ActiveRun> {
        Agent::active(self)
    }

    fn status(&self) -> AgentStatus {
        Agent::status(self)
    }

    fn tools(&self, role: Role) -> Vec<ToolListing> {
        Agent::tools(self, role)
    }

    async fn call_tool(&self, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError> {
        self.call_by_hand(CALLER, name, args, cause).await
    }

    fn pair(&self) -> Result<PairingCode, CallError> {
        Agent::pair(self)
    }

    async fn pairing(&self, wait: Duration) -> PairingStatus {
        Agent::pairing(self, wait).await
    }

    fn questions(&self) -> Vec<Question> {
        Agent::questions(self)
    }

    fn answer(&self, id: u64, allow: bool, by: &Principal) -> Option<Question> {
        Agent::answer(self, id, allow, by)
    }
}
