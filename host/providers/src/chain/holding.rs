//! What is set aside before a source is asked, and sources that a limit keeps from being asked.

use std::collections::BTreeMap;

use homeagent_types::model::{
    ContentPart, Failure, FailureClass, Message, ModelMedia, ModelRequest, Prompt, SourceLine,
};
use homeagent_types::ports::ModelsFailure;
use homeagent_types::{Cause, MediaKind, tokens};

use super::attempt::{Route, failure};
use super::{Providers, sentence, window};
use crate::cost::{Asking, Held, LimitInTheWay};

/// Bytes of a sound, a film or any other file that make a token, at the least that vendors charge for much.
const BYTES_A_TOKEN: u64 = 32;

/// The same for documents, whose pages are charged as text and as pictures.
const BYTES_A_TOKEN_OF_PDF: u64 = 8;

/// The size that is taken for what is only told by its address, in bytes: it was too large to be kept.
const DISTANT: u64 = 20 << 20;

/// The largest window, in tokens, of models of which it is not known.
const LARGEST_WINDOW: u64 = 1_000_000;

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
        // More than its window holds, no model is charged for.
        let most = window::size(&route.record).unwrap_or(LARGEST_WINDOW);
        let input = tokens::of_prompt(&request.prompt) + above_estimate(&request.prompt).min(most);
        self.hold_tokens(route, line, cause, (input, answer.into())).await
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

/// What media of a prompt may cost above what they are estimated at for the window, in tokens.
fn above_estimate(prompt: &Prompt) -> u64 {
    let parts = prompt.messages.iter().flat_map(|message| match message {
        Message::User(parts) | Message::Tool { content: parts, .. } => parts.as_slice(),
        Message::System(_) | Message::Assistant { .. } => &[],
    });
    parts.filter_map(ContentPart::as_medium).map(|medium| weight(medium).saturating_sub(tokens::MEDIUM)).sum()
}

fn weight(medium: &ModelMedia) -> u64 {
    let bytes = match &medium.url {
        Some(_) if medium.data.is_empty() => DISTANT,
        _ => u64::try_from(medium.data.len()).unwrap_or(u64::MAX),
    };
    match MediaKind::of(&medium.mime) {
        MediaKind::Image => tokens::MEDIUM,
        MediaKind::File if medium.mime == "application/pdf" => bytes / BYTES_A_TOKEN_OF_PDF,
        MediaKind::File | MediaKind::Audio | MediaKind::Video => bytes / BYTES_A_TOKEN,
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
