//! What a prompt shows, as the source that is asked takes it in.

use std::collections::{BTreeMap, BTreeSet};

use homeagent_media::{Address, Error, Reader, Store};
use homeagent_settings::{SourceLine, SourceRecord};
use homeagent_types::MediaKind;
use homeagent_types::model::{AdapterDescriptor, ContentPart, Message, ModelMedia, ModelRequest};
use homeagent_types::ports::Sight;

use super::Providers;
use super::attempt::Route;

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

    /// Puts in what the prompt shows, and words in the place of what this source does not take in or what is gone.
    pub(super) async fn show_media(&self, route: &Route, request: &mut ModelRequest) {
        let takes = Takes::of(&route.descriptor, &route.record.options);
        let as_link = route.record.options.get(GIVEN_AS).is_some_and(|given| given.trim() == "link");
        let mut left = together(&route.record.options);
        // The newest first: the room is theirs.
        for message in request.prompt.messages.iter_mut().rev() {
            if let Message::User(parts) | Message::Tool { content: parts, .. } = message {
                for part in parts.iter_mut().rev() {
                    if let Some(medium) = part.as_medium() {
                        let is_taken = takes.takes(MediaKind::of(&medium.mime));
                        let shown = if is_taken {
                            self.shown(medium, as_link, &mut left).await
                        } else {
                            Err("that this model can't take in".to_owned())
                        };
                        *part = match shown {
                            Ok(shown) => ContentPart::medium(shown),
                            Err(why) => ContentPart::Text(format!("[{} {why}]", medium.mime)),
                        };
                    }
                }
            }
        }
    }

    /// A medium as it is handed to an adapter, or why it is not.
    async fn shown(&self, medium: &ModelMedia, as_link: bool, left: &mut usize) -> Result<ModelMedia, String> {
        let Some(address) = medium.in_store() else { return Ok(medium.clone()) };
        let missing = |error: Error| format!("that can't be shown: {error}");
        let address: Address = address.parse().map_err(|_| missing(Error::Missing))?;
        let store = self.media.as_ref().ok_or_else(|| missing(Error::Missing))?;
        if as_link && let Some(url) = store.link(&address, Reader::Here) {
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
            descriptor.map(|descriptor| Takes::of(&descriptor, &record.options).known()).unwrap_or_default()
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
            descriptor.is_some_and(|descriptor| Takes::of(&descriptor, &record.options).known().contains(&kind))
        });
        sources
    }
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
    fn of(adapter: &AdapterDescriptor, options: &BTreeMap<String, String>) -> Self {
        if let Some(listed) = options.get(TAKES) {
            let words = || listed.split(',').map(|word| word.trim().trim_end_matches('s'));
            let known = MediaKind::ALL.into_iter().filter(|kind| words().any(|word| word == kind.as_str()));
            return Self { known: known.collect(), is_open: false };
        }
        let features = [("images", MediaKind::Image), ("audio", MediaKind::Audio)];
        // What the adapter is told of its model holds here, too.
        let is_on = |name: &str| match options.get(name).map(|set| set.trim()) {
            Some("off" | "false" | "no") => false,
            Some("on" | "true" | "yes") => true,
            _ => adapter.has(name),
        };
        let known = features.into_iter().filter(|(name, _)| is_on(name)).map(|(_, kind)| kind);
        Self { known: known.collect(), is_open: true }
    }

    fn takes(&self, kind: MediaKind) -> bool {
        self.known.contains(&kind) || (self.is_open && matches!(kind, MediaKind::Video | MediaKind::File))
    }

    fn known(self) -> BTreeSet<MediaKind> {
        self.known
    }
}
