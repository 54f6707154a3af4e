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
#[derive(Default)]
pub(super) struct Limited(BTreeMap<String, LimitInTheWay>);

impl Limited {
    /// Notes that a source can't be asked. What it is called among the others' failures is answered.
    pub(super) fn note(&mut self, route: &Route, limit: LimitInTheWay) -> Failure {
        let failure = failure(FailureClass::Unfunded, limit.sentence().to_owned());
        self.0.insert(route.record.name.clone(), limit);
        failure
    }

    /// Where a limit kept a source from being asked, that is said first, and then what became of the others.
    pub(super) fn explain(mut self, mut failure: ModelsFailure) -> ModelsFailure {
        let others = failure.tried.iter().filter(|(name, _)| !self.0.contains_key(name)).cloned().collect::<Vec<_>>();
        let Some((_, limit)) = self.0.pop_first() else { return failure };
        let limit = limit.say();
        failure.sentence = match others.as_slice() {
            [] => limit,
            _ => format!("{limit} {}", sentence::all_failed(others, None, None).sentence),
        };
        failure
    }
}
