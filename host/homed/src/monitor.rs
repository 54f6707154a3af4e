//! What the daemon knows of itself, for the API to show.

use homeagent_gateway::LoggedProblem;
use homeagent_settings::Secrets;

use crate::logging::{Log, Problems};

/// See [`homeagent_gateway::Monitor`].
pub(crate) struct Monitor {
    problems: Problems,
    secrets: Secrets,
}

impl Monitor {
    pub(crate) fn new(log: &Log, secrets: Secrets) -> Self {
        Self { problems: log.problems.clone(), secrets }
    }
}

impl homeagent_gateway::Monitor for Monitor {
    fn problems(&self) -> Vec<LoggedProblem> {
        let mut problems = self.problems.list();
        for problem in &mut problems {
            problem.text = self.secrets.redact(&problem.text).into_owned();
        }
        problems
    }
}
