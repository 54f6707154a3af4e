//! The agent's life: it starts, runs, drains and has stopped.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::arrears;
use crate::core::Core;
use crate::intake;
use crate::interrupt::Stop;

/// How long turns that were cut have to say so.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Where the agent is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AgentPhase)]
pub enum Phase {
    /// It recovers; nothing is taken yet.
    Start,
    /// It works.
    Running,
    /// It takes no more inputs; running turns have their time.
    Draining,
    /// It is done.
    Stopped,
}

impl Phase {
    /// Every place in its life, in order.
    pub const ALL: [Self; 4] = [Self::Start, Self::Running, Self::Draining, Self::Stopped];

    /// Its name, as it is serialized.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }
}

/// Stops the agent: waiting inputs are flushed, running turns get their time and are then cut.
pub(crate) async fn shutdown(core: &Arc<Core>) {
    let first = core.phase.send_if_modified(|phase| {
        let working = matches!(phase, Phase::Start | Phase::Running);
        if working {
            *phase = Phase::Draining;
        }
        working
    });
    if !first {
        // Somebody else is at it: wait with them.
        let mut phase = core.phase.subscribe();
        let _ = phase.wait_for(|phase| *phase == Phase::Stopped).await;
        return;
    }
    let waiting = core.queue().close();
    tracing::info!(waiting = waiting.len(), running = core.turns().len(), "the agent is stopping");
    core.tasks.close();
    tokio::join!(intake::flush(core, waiting), drain(core));
    arrears::pay(core).await;
    core.context.flush().await;
    core.phase.send_replace(Phase::Stopped);
}

fn drain_time(core: &Core) -> Duration {
    core.settings.duration("core.agent.drain_ms").unwrap_or_default()
}

/// How long the agent's stop may take.
pub(crate) fn patience(core: &Core) -> Duration {
    drain_time(core) + LAST_WORDS
}

/// Gives the turns that run their time, then cuts them.
async fn drain(core: &Core) {
    if tokio::time::timeout(drain_time(core), core.tasks.wait()).await.is_err() {
        for turn in core.turns() {
            tracing::warn!(run = turn.run(), "a turn is cut because its time is over");
            turn.stop(Stop::ShuttingDown);
        }
        if tokio::time::timeout(LAST_WORDS, core.tasks.wait()).await.is_err() {
            tracing::warn!("some turns did not end in time; the next start closes them");
        }
    }
}
