//! What a prompt shows, as the source that is asked takes it in.

use std::collections::{BTreeMap, BTreeSet};

use homeagent_media::{Address, Error, Reader, Store};
use homeagent_settings::{SourceLine, SourceRecord};
use homeagent_types::MediaKind;
use homeagent_types::model::{AdapterDescriptor, ContentPart, Message, ModelMedia, Prompt};
use homeagent_types::ports::Sight;

use super::Providers;
use super::attempt::Route;
use super::senses::{self, Senses};
use super::window::is_in_house;

/// The option of a source that lists what its model takes in.
const TAKES: &str = "media";

/// The option of a source that says how it is given that: `bytes`, or `link`.
const GIVEN_AS: &str = "media_as";

/// The option of a source that says how many MiB go along with one request.
const TOGETHER: &str = "media_mib";

/// The most of them, in bytes: what an adapter hands over has to have room for them in Base64.
const MOST_TOGETHER: usize = 20 << 20;

impl Providers {
    /// Gives it the store in which lies what prompts show.
    #[must_use]
    pub fn with_media(mut self, store: Store) -> Self {
        self.media = Some(store);
        self
    }

    /// Puts in what the prompt shows, and words in the place of what is gone or too much. What the source does not take in
    /// [is out](leave_out_untaken) by now.
    pub(super) async fn show_media(&self, route: &Route, prompt: &mut Prompt) {
        let mut left = together(&route.record.options);
        // The newest first: the room is theirs.
        for part in parts(prompt).rev() {
            if let Some(medium) = part.as_medium() {
                *part = match self.shown(&route.record, medium, &mut left).await {
                    Ok(shown) => ContentPart::medium(shown),
                    Err(why) => in_words(medium, &why),
                };
            }
        }
    }

    /// A medium as it is handed to an adapter, or why it is not.
    async fn shown(&self, record: &SourceRecord, medium: &ModelMedia, left: &mut usize) -> Result<ModelMedia, String> {
        let Some(address) = medium.in_store() else {
            // A server at home would fetch it from where the daemon itself would not.
            let is_distant = medium.data.is_empty() && medium.url.is_some();
            return match is_distant && is_in_house(record) {
                true => Err("that can't be shown: it is not kept".to_owned()),
                false => Ok(medium.clone()),
            };
        };
        let as_link = record.options.get(GIVEN_AS).is_some_and(|given| given.trim() == "link")
            && matches!(MediaKind::of(&medium.mime), MediaKind::Image | MediaKind::Video);
        let missing = |error: Error| format!("that can't be shown: {error}");
        let address: Address = address.parse().map_err(|_| missing(Error::Missing))?;
        let store = self.media.as_ref().ok_or_else(|| missing(Error::Missing))?;
        let reader = if is_in_house(record) { Reader::Program } else { Reader::Others };
        if as_link && let Some(url) = store.link(&address, reader) {
            // Whoever follows it finds the file there, or learns that it is gone.
            return Ok(ModelMedia { url: Some(url), ..medium.clone() });
        }
        let kept = store.get(address).await.map_err(missing)?;
        let rest = left.checked_sub(kept.bytes.len());
        *left = rest.ok_or("that is not shown: it would be too much for one request")?;
        Ok(ModelMedia { data: kept.bytes.to_vec(), url: None, ..medium.clone() })
    }

    pub(super) fn line_sight(&self) -> Sight {
        let taken = |record: &SourceRecord| {
            let descriptor = self.adapters.descriptor(&record.adapter);
            descriptor.map(|descriptor| Takes::of(&descriptor, record).known).unwrap_or_default()
        };
        let main = self.line(SourceLine::Main);
        let first = main.first().map(taken).unwrap_or_default();
        let any = main.iter().chain(&self.sources.line(SourceLine::Auxiliary)).flat_map(taken).collect();
        Sight { first, any }
    }

    /// Those sources of the main and then of the auxiliary line that take in media of this kind.
    pub(super) fn seeing(&self, kind: MediaKind) -> Vec<SourceRecord> {
        let mut sources = self.line(SourceLine::Main);
        sources.extend(self.sources.line(SourceLine::Auxiliary));
        sources.retain(|record| {
            let descriptor = self.adapters.descriptor(&record.adapter);
            descriptor.is_some_and(|descriptor| Takes::of(&descriptor, record).known.contains(&kind))
        });
        sources
    }
}

/// Puts words in the place of what this source does not take in.
pub(super) fn leave_out_untaken(route: &Route, prompt: &mut Prompt) {
    let takes = Takes::of(&route.descriptor, &route.record);
    for part in parts(prompt) {
        if let Some(medium) = part.as_medium().filter(|medium| !takes.takes(MediaKind::of(&medium.mime))) {
            *part = in_words(medium, "that this model can't take in");
        }
    }
}

/// Puts words in the place of all that is shown.
pub(super) fn leave_out_all(prompt: &mut Prompt) {
    for part in parts(prompt) {
        if let Some(medium) = part.as_medium() {
            *part = in_words(medium, "that is too large for this model");
        }
    }
}

/// Whether a prompt shows anything.
pub(super) fn has_media(prompt: &Prompt) -> bool {
    prompt.messages.iter().any(|message| match message {
        Message::User(parts) | Message::Tool { content: parts, .. } => {
            parts.iter().any(|part| part.as_medium().is_some())
        }
        Message::System(_) | Message::Assistant { .. } => false,
    })
}

/// The parts of messages that may show something.
fn parts(prompt: &mut Prompt) -> impl DoubleEndedIterator<Item = &mut ContentPart> {
    prompt.messages.iter_mut().flat_map(|message| match message {
        Message::User(parts) | Message::Tool { content: parts, .. } => parts.iter_mut(),
        Message::System(_) | Message::Assistant { .. } => [].iter_mut(),
    })
}

fn in_words(medium: &ModelMedia, why: &str) -> ContentPart {
    ContentPart::Text(format!("[{} {why}]", medium.mime))
}

fn together(options: &BTreeMap<String, String>) -> usize {
    let set = options.get(TOGETHER).and_then(|mib| mib.trim().parse::<usize>().ok());
    set.map_or(MOST_TOGETHER, |mib| mib.saturating_mul(1 << 20).min(MOST_TOGETHER))
}

/// What the model of a source takes in.
struct Takes {
    known: BTreeSet<MediaKind>,
    /// Nobody has said what it takes; its adapter knows of files and films.
    is_open: bool,
}

impl Takes {
    fn of(adapter: &AdapterDescriptor, record: &SourceRecord) -> Self {
        if let Some(listed) = record.options.get(TAKES) {
            let words = || listed.split(',').map(|word| word.trim().trim_end_matches('s'));
            let known = MediaKind::ALL.into_iter().filter(|kind| words().any(|word| word == kind.as_str()));
            return Self { known: known.collect(), is_open: false };
        }
        let senses = Senses::of(record);
        // What the adapter is told of its model holds here, too.
        let can = |name: &str, kind| {
            let usual = adapter.has(name) && senses.is_none_or(|senses| senses.has(kind));
            senses::switch(record, name).unwrap_or(usual)
        };
        let takes = |kind: &MediaKind| match kind {
            MediaKind::Image => can("images", *kind),
            MediaKind::Audio => can("audio", *kind),
            MediaKind::Video | MediaKind::File => senses.is_some_and(|senses| senses.has(*kind)),
        };
        Self { known: MediaKind::ALL.into_iter().filter(takes).collect(), is_open: senses.is_none() }
    }

    fn takes(&self, kind: MediaKind) -> bool {
        self.known.contains(&kind) || (self.is_open && matches!(kind, MediaKind::Video | MediaKind::File))
    }
}
