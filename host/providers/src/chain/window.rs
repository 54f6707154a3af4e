//! What a source's model can be shown at once, and a prompt kept within it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homeagent_settings::{Settings, SourceRecord};
use homeagent_types::fit::{TooLong, fit};
use homeagent_types::model::{AssistantAnswer, FailureClass, Prompt};
use homeagent_types::ports::LineRequest;
use homeagent_types::tokens;
use tokio::time::Instant;

use super::attempt::{Route, failure};
use super::show::Show;
use super::{Providers, media, request};
use crate::cost::LimitInTheWay;

/// Options of a source that tell its model's window, in tokens: everybody's, and Ollama's.
const OPTIONS: [&str; 2] = ["context", "num_ctx"];

/// The window where neither an option nor the setting can be read.
const USUAL: u64 = 32_768;

/// Windows of vendors' own models in tokens, by how their names begin; the first that fits counts. The smallest of a
/// family stands for it. Dated November 2026.
const KNOWN: [(&str, u64); 12] = [
    ("claude-", 200_000),
    ("gemini-", 1_000_000),
    ("gpt-6", 400_000),
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("deepseek-", 128_000),
    ("qwen-", 128_000),
    ("qwen3", 128_000),
    ("glm-", 128_000),
    ("kimi-", 128_000),
    ("moonshot-v1-128k", 128_000),
];

/// A prompt below this tells nothing of how well estimates do: what vendors put around it weighs too much.
const TELLING: u64 = 500;

/// Estimates in thousandths: how much they are raised at most. They are high as they are, and some vendors count wrongly.
const HIGHEST: u64 = 1_500;

/// What a vendor found too long is not believed to be too long below this, in tokens.
const LEAST_WINDOW: u64 = 2_048;

/// How long a source is kept to what it could take when it last said that a prompt was too long.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// What calls have taught about sources, by their name and model.
#[derive(Default)]
pub(super) struct Windows {
    learnt: Mutex<HashMap<(String, String), Learnt>>,
}

#[derive(Clone, Copy)]
struct Learnt {
    /// What the vendor counts for a thousand estimated tokens; never less.
    per_thousand: u64,
    /// The most that is asked, in estimated tokens, until then.
    most: Option<(u64, Instant)>,
}

/// Room for a prompt, in estimated tokens.
#[derive(Clone, Copy)]
struct Room {
    /// What a prompt is shortened to.
    budget: u64,
    /// What there is where nothing of what was learnt is believed.
    whole: u64,
    /// The window is known, rather than taken to be of the usual size.
    sure: bool,
    /// What is kept free for the answer.
    answer: u32,
}

impl Room {
    /// The prompt as short as it has to be. What must stay is refused only where the window is known to be too small.
    fn fit(self, prompt: &Prompt) -> Result<Cow<'_, Prompt>, TooLong> {
        match fit(prompt, self.budget).or_else(|_| fit(prompt, self.whole)) {
            Err(too_long) if !self.sure => fit(prompt, too_long.least),
            fitted => fitted,
        }
    }
}

impl Windows {
    /// How much room there is for a prompt, with `answer` tokens kept free.
    fn room(&self, settings: &Settings, record: &SourceRecord, answer: Option<u32>) -> Room {
        let known = size(record);
        let set = || settings.integer("core.model.context_tokens").ok().and_then(|size| u64::try_from(size).ok());
        let window = known.or_else(set).unwrap_or(USUAL);
        // Of a small window, an answer takes no more than half.
        let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
        let answer = answer.unwrap_or(0).min(half);
        let whole = window - u64::from(answer);
        let learnt = self.learnt().get(&key(record)).copied().unwrap_or_default();
        let most = learnt.most.filter(|(_, until)| Instant::now() < *until).map_or(u64::MAX, |(most, _)| most);
        let budget = (whole.saturating_mul(1000) / learnt.per_thousand).min(most);
        Room { budget, whole, sure: known.is_some(), answer }
    }

    /// Where the vendor counted more than was estimated, later estimates for this model are raised.
    fn counted(&self, record: &SourceRecord, estimate: u64, counted: u64) {
        let per_thousand = counted.saturating_mul(1000) / estimate.max(1);
        if estimate < TELLING || per_thousand <= 1000 {
            return;
        }
        let mut learnt = self.learnt();
        let known = learnt.entry(key(record)).or_default();
        known.per_thousand = known.per_thousand.max(per_thousand.min(HIGHEST));
    }

    /// The vendor found so much too long. Returns what it is asked from now on.
    fn overflowed(&self, record: &SourceRecord, estimate: u64) -> u64 {
        let most = (estimate / 4 * 3).max(LEAST_WINDOW);
        self.learnt().entry(key(record)).or_default().most = Some((most, Instant::now() + REMEMBERED));
        most
    }

    fn learnt(&self) -> MutexGuard<'_, HashMap<(String, String), Learnt>> {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Learnt {
    fn default() -> Self {
        Learnt { per_thousand: 1000, most: None }
    }
}

fn key(record: &SourceRecord) -> (String, String) {
    (record.name.clone(), record.model.clone())
}

/// The window of a source's model, in tokens: what its options say, or what is known of the model.
pub(super) fn size(record: &SourceRecord) -> Option<u64> {
    for name in OPTIONS {
        let Some(value) = record.options.get(name) else { continue };
        match value.trim().parse::<u64>() {
            Ok(size) if size > 0 => return Some(size),
            _ => tracing::warn!(source = record.name, option = name, value, "option of a model source ignored"),
        }
    }
    known(record)
}

/// Whether a source is a server in the house, by its address: a private one, or a name that only the house knows.
pub(super) fn is_in_house(record: &SourceRecord) -> bool {
    let authority = record.base_url.split("//").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let host = authority.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let is_private = |address: Ipv4Addr| address.is_private() || address.is_loopback() || address.is_link_local();
    record.adapter == "ollama"
        || authority.starts_with('[')
        || host.parse().is_ok_and(is_private)
        || (!host.is_empty() && !host.contains('.'))
        || [".local", ".lan", ".home", ".internal", ".home.arpa"].iter().any(|end| host.ends_with(end))
}

/// A server in the house decides by itself how much of a model's window it offers, whatever the model's name.
fn known(record: &SourceRecord) -> Option<u64> {
    if is_in_house(record) {
        return None;
    }
    let model = record.model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    KNOWN.iter().find(|(begins, _)| model.starts_with(begins)).map(|(_, size)| *size)
}

impl Providers {
    /// Asks a source what of the prompt fits its model's window. What the vendor finds too long all the same is asked once
    /// more without its media, and then once more shortened. An error says that a limit on costs keeps it from being asked.
    pub(super) async fn ask_within(
        &self,
        route: &Route,
        asked: LineRequest<'_>,
        show: &mut Show<'_>,
    ) -> Result<AssistantAnswer, LimitInTheWay> {
        // What an earlier source has shown is not this one's, even where this one is never asked.
        show.begin();
        let mut request = request::build(&self.settings, route, asked.prompt);
        let mut whole = std::mem::take(&mut request.prompt);
        media::leave_out_untaken(route, &mut whole);
        let mut room = self.windows.room(&self.settings, &route.record, request.max_tokens);
        if room.sure {
            // A vendor adds the room that is asked for to the prompt.
            request.max_tokens = request.max_tokens.map(|most| most.min(room.answer));
        }
        let mut refused: Option<AssistantAnswer> = None;
        let mut is_shortened = false;
        loop {
            request.prompt = match room.fit(&whole) {
                Ok(fitted) => fitted.into_owned(),
                Err(too_long) => {
                    let unfit = || AssistantAnswer {
                        error: Some(failure(FailureClass::ContextOverflow, too_long.to_string())),
                        ..AssistantAnswer::default()
                    };
                    return Ok(refused.unwrap_or_else(unfit));
                }
            };
            let estimate = tokens::of_prompt(&request.prompt);
            let left_out = whole.messages.len() - request.prompt.messages.len();
            if left_out > 0 {
                tracing::debug!(source = route.record.name, left_out, estimate, room = room.budget, "prompt shortened");
            }
            self.show_media(route, &mut request.prompt).await;
            // What media weigh is the vendor's own affair: nothing of it tells how well texts are estimated.
            let shows = media::has_media(&request.prompt);
            let held = match (self.hold(route, asked.line, Some(asked.cause), &request).await, refused) {
                (Ok(held), _) => held,
                (Err(limit), None) => return Err(limit),
                (Err(_), Some(refused)) => return Ok(refused),
            };
            show.begin();
            let answer = self.ask(route, &request, held, show).await;
            if let Some(usage) = answer.usage.filter(|_| !shows) {
                self.windows.counted(&route.record, estimate, usage.input);
            }
            let overflowed = answer.error.as_ref().is_some_and(|error| error.class == FailureClass::ContextOverflow);
            if !overflowed || is_shortened {
                return Ok(answer);
            }
            if shows {
                media::leave_out_all(&mut whole);
                refused = Some(answer);
                continue;
            }
            is_shortened = true;
            room.budget = self.windows.overflowed(&route.record, estimate).min(room.budget);
            // Once more only if there is something that can be left out.
            if fit(&whole, room.budget).map_or(u64::MAX, |fitted| tokens::of_prompt(&fitted)) >= estimate {
                return Ok(answer);
            }
            refused = Some(answer);
        }
    }
}
