//! What the daemon knows of itself, for the API to show.

use homeagent_gateway::LoggedProblem;
use homeagent_settings::Secrets;
use tracing_appender::non_blocking::ErrorCounter;

use crate::logging::{Log, Problems};
use crate::meters::{self, Meters};

/// See [`homeagent_gateway::Monitor`].
pub(crate) struct Monitor {
    problems: Problems,
    dropped: ErrorCounter,
    meters: Meters,
    secrets: Secrets,
}

impl Monitor {
    pub(crate) fn new(log: &Log, meters: Meters, secrets: Secrets) -> Self {
        Self { problems: log.problems.clone(), dropped: log.dropped.clone(), meters, secrets }
    }
}

impl homeagent_gateway::Monitor for Monitor {
    fn problems(&self) -> Vec<LoggedProblem> {
        self.problems.list(&self.secrets)
    }

    fn counted(&self) -> String {
        meters::log_lines_dropped(self.dropped.dropped_lines());
        self.meters.render()
    }
}
