//! What the gateway needs of the agent.

use async_trait::async_trait;
use homeagent_agent::{ActiveRun, Agent, AgentStatus, Ask, Asked, ToolListing};
use homeagent_types::ports::Mind;
use homeagent_types::{CallError, Cause, Role, ToolOutput};

/// Whom tool calls over the API come from.
const CALLER: &str = "api";

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
        Mind::call_tool(self, CALLER, name, args, cause).await
    }
}
