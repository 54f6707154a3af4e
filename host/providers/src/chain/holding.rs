//! What is set aside before a source is asked, and sources that a limit keeps from being asked.

use std::collections::BTreeMap;

use homeagent_types::model::{Failure, FailureClass, ModelRequest, SourceLine};
use homeagent_types::ports::ModelsFailure;
use homeagent_types::{Cause, tokens};

use super::attempt::{Route, failure};
use super::{Providers, sentence};
use crate::cost::{Asking, Held, LimitInTheWay};

/// How long an answer is taken to be where nothing limits it, in tokens.
const USUAL_ANSWER: u32 = 4_096;

impl Providers {
    /// Sets aside what a request may cost; nothing where nobody keeps the costs.
    pub(super) async fn hold(
        &self,
        route: &Route,
        line: SourceLine,
        cause: Option<&Cause>,
        request: &ModelRequest,
    ) -> Result<Option<Held>, LimitInTheWay> {
        let answer = request.max_tokens.unwrap_or(USUAL_ANSWER);
        self.hold_tokens(route, line, cause, (tokens::of_prompt(&request.prompt), answer.into())).await
    }

    /// The same, for so many tokens of a prompt and of its answer.
    pub(super) async fn hold_tokens(
        &self,
        route: &Route,
        line: SourceLine,
        cause: Option<&Cause>,
        (input, output): (u64, u64),
    ) -> Result<Option<Held>, LimitInTheWay> {
        let Some(costs) = &self.costs else { return Ok(None) };
        let (source, offline) = (&route.record, route.descriptor.offline);
        costs.reserve(Asking { source, offline, line, cause, input, output }).await.map(Some)
    }
}

/// The sources of one request that a limit is in the way of, with what is said of it.
#[derive(Debug, Default)]
pub(super) struct Limited(BTreeMap<String, String>);

impl Limited {
    /// Notes that a source can't be asked. What it is called among the others' failures is answered.
    pub(super) fn note(&mut self, route: &Route, limit: LimitInTheWay) -> Failure {
        let failure = failure(FailureClass::Unfunded, limit.sentence.clone());
        self.0.insert(route.record.name.clone(), limit.sentence);
        failure
    }

    /// Where a limit kept a source from being asked, that is said first, and then what became of the others.
    pub(super) fn explain(self, mut failure: ModelsFailure) -> ModelsFailure {
        let Some(limit) = self.0.values().next() else { return failure };
        let others = failure.tried.iter().filter(|(name, _)| !self.0.contains_key(name)).cloned().collect::<Vec<_>>();
        failure.sentence = match others.as_slice() {
            [] => limit.clone(),
            _ => format!("{limit} {}", sentence::all_failed(others, None, None).sentence),
        };
        failure
    }
}
