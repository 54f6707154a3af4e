//! What comes with messages and results, and what goes out with answers: kept in the store, mentioned by address.

use futures::StreamExt as _;
use futures::stream;
use homeagent_media::{Error, Hold, Reader, Store};
use homeagent_types::model::{ContentPart, Message, ModelMedia};
use homeagent_types::{ChannelDefinition, Media, MediaKind, MediaSource, Output, OutputCapabilities};
use tokio::time::{Instant, timeout_at};

use crate::outputs;

/// The key under which a medium says why it is not kept.
const NOT_KEPT: &str = "not-kept";

/// The key under which a medium that is not kept says that its address is anybody's all the same.
const REACHABLE: &str = "reachable";

/// What stands before an address in a prompt.
pub(crate) const MENTIONED: &str = "media:";

/// The most of one output that is handed to a channel as bytes: frames of connections hold a MiB, and bytes are written
/// there in Base64. The rest are links.
const MOST_INLINE: usize = 700 << 10;

/// Media of one message or result that are fetched; whoever writes more addresses does not mean them to be looked at.
const MOST_FETCHED: usize = 32;

/// Media of one message or result that are fetched at once: each may be as large as a medium can be.
const FETCHED_AT_ONCE: usize = 2;

/// Why a medium is not fetched any more.
const LATE: &str = "there was no time left for it";

/// Takes out what only the host says of a medium, of media that come from elsewhere.
pub(crate) fn receive(media: &mut [Media]) {
    for medium in media {
        medium.meta.retain(|(key, _)| key != NOT_KEPT && key != REACHABLE);
    }
}

/// The addresses elsewhere at which these media lie.
pub(crate) fn addresses(media: &[Media]) -> Vec<String> {
    let address = |medium: &Media| match &medium.source {
        MediaSource::Url(url) => Some(url.clone()),
        MediaSource::Inline(_) | MediaSource::Stored(_) => None,
    };
    media.iter().filter_map(address).collect()
}

/// Leaves those out of what is fetched and shown whose address may not be asked: who names an address is told by it of
/// what the daemon does, and must be one that could have asked there itself.
pub(crate) fn forbid(media: &mut [Media], may_ask: impl Fn(&str) -> bool) {
    for medium in media {
        if matches!(&medium.source, MediaSource::Url(url) if !may_ask(url)) {
            not_kept(medium, "the plugin that names its address may not reach the network".to_owned());
        }
    }
}

fn not_kept(medium: &mut Media, reason: String) {
    medium.meta.retain(|(key, _)| key != NOT_KEPT && key != REACHABLE);
    medium.meta.push((NOT_KEPT.to_owned(), reason));
}

/// Keeps what came as bytes: from here on it is its address. What can't be kept says why.
pub(crate) async fn keep(store: &Store, media: &mut [Media]) -> Vec<Hold> {
    let mut holds = Vec::new();
    for medium in media {
        let kept = match &mut medium.source {
            MediaSource::Inline(bytes) => store.put(std::mem::take(bytes), &medium.mime).await,
            // One that could not be kept.
            MediaSource::Stored(address) if address.is_empty() => continue,
            MediaSource::Stored(address) => {
                let hold = store.find(address).ok().and_then(|address| store.hold(address));
                match hold {
                    Some(hold) => {
                        *address = hold.address().to_string();
                        holds.push(hold);
                        continue;
                    }
                    None => Err(Error::Missing),
                }
            }
            MediaSource::Url(_) => continue,
        };
        take(medium, kept, &mut holds);
    }
    holds
}

/// Keeps all, also what came as an address at which it is fetched.
pub(crate) async fn fetch(store: &Store, media: &mut [Media]) -> Vec<Hold> {
    let mut holds = keep(store, media).await;
    let (mut wanted, mut fetched) = (Vec::new(), Vec::new());
    // All of them together have as long as one: a turn waits for them.
    let until = Instant::now() + store.limits().fetch;
    for (at, medium) in media.iter_mut().enumerate() {
        match &medium.source {
            MediaSource::Url(url) if reason(medium).is_none() => {
                if wanted.len() < MOST_FETCHED {
                    let (url, mime) = (url.clone(), medium.mime.clone());
                    fetched.push(async move {
                        let late = |_| Error::Fetch { reason: LATE.to_owned(), is_public: false };
                        timeout_at(until, store.fetch(&url, &mime)).await.map_err(late)?
                    });
                    wanted.push(at);
                } else {
                    not_kept(medium, format!("of one message, at most {MOST_FETCHED} are fetched"));
                }
            }
            _ => {}
        }
    }
    let fetched: Vec<_> = stream::iter(fetched).buffered(FETCHED_AT_ONCE).collect().await;
    for (at, kept) in wanted.into_iter().zip(fetched) {
        take(&mut media[at], kept, &mut holds);
    }
    holds
}

fn take(medium: &mut Media, kept: Result<homeagent_media::Kept, Error>, holds: &mut Vec<Hold>) {
    match kept {
        Ok(kept) => {
            medium.mime = kept.mime;
            medium.source = MediaSource::Stored(kept.address.to_string());
            holds.push(kept.hold);
        }
        Err(error) => {
            tracing::info!(%error, mime = medium.mime, "a medium is not kept");
            let reachable = matches!(error, Error::Fetch { is_public: true, .. });
            not_kept(medium, error.to_string());
            if reachable {
                medium.meta.push((REACHABLE.to_owned(), "true".to_owned()));
            }
            if !matches!(medium.source, MediaSource::Url(_)) {
                medium.source = MediaSource::Stored(String::new());
            }
        }
    }
}

/// Holds what these messages show.
pub(crate) fn holds<'a>(store: &Store, messages: impl Iterator<Item = &'a Message>) -> Vec<Hold> {
    let parts = messages.flat_map(|message| match message {
        Message::User(parts) | Message::Tool { content: parts, .. } => parts.as_slice(),
        Message::System(_) | Message::Assistant { .. } => &[],
    });
    let stored = parts.filter_map(|part| part.as_medium()?.in_store()?.parse().ok());
    stored.filter_map(|address| store.hold(address)).collect()
}

/// Why a medium is not kept.
pub(crate) fn reason(medium: &Media) -> Option<&str> {
    medium.meta.iter().find(|(key, _)| key == NOT_KEPT).map(|(_, reason)| reason.as_str())
}

/// The digits by which a medium is mentioned; nothing for one that is not kept.
pub(crate) fn mentioned(medium: &Media) -> Option<String> {
    match &medium.source {
        MediaSource::Stored(address) => address.parse::<homeagent_media::Address>().ok().map(|address| address.short()),
        MediaSource::Inline(_) | MediaSource::Url(_) => None,
    }
}

/// A medium as a model is shown it; nothing, where it can't be had.
pub(crate) fn part(medium: &Media) -> Option<ContentPart> {
    let shown = match &medium.source {
        MediaSource::Stored(address) if !address.is_empty() => {
            ModelMedia::stored(&medium.mime, medium.name.clone(), address)
        }
        MediaSource::Url(url) if reason(medium).is_none() || medium.meta.iter().any(|(key, _)| key == REACHABLE) => {
            ModelMedia {
                mime: medium.mime.clone(),
                name: medium.name.clone(),
                data: Vec::new(),
                url: Some(url.clone()),
            }
        }
        _ => return None,
    };
    Some(ContentPart::medium(shown))
}

/// Whether a medium of the store is mentioned in these messages.
pub(crate) fn are_mentioned<'a>(mut messages: impl Iterator<Item = &'a Message>) -> bool {
    messages.any(|message| match message {
        Message::User(parts) | Message::Tool { content: parts, .. } => {
            parts.iter().any(|part| matches!(part, ContentPart::Text(text) if text.contains(MENTIONED)))
        }
        Message::System(_) | Message::Assistant { .. } => false,
    })
}

/// What a channel has to be able to carry for this kind of medium, the best first.
fn carriers(kind: MediaKind) -> &'static [OutputCapabilities] {
    match kind {
        MediaKind::Image => &[OutputCapabilities::IMAGE, OutputCapabilities::FILE],
        MediaKind::Audio => &[OutputCapabilities::AUDIO, OutputCapabilities::FILE],
        MediaKind::Video | MediaKind::File => &[OutputCapabilities::FILE],
    }
}

/// Whether a channel carries a medium of this type.
pub(crate) fn carries(channel: &ChannelDefinition, mime: &str) -> bool {
    carriers(MediaKind::of(mime)).iter().any(|needed| channel.capabilities.contains(*needed))
}

/// A line in the place of a medium for those who can't be given it: a link, or how to come by it.
pub(crate) fn in_words(store: &Store, medium: &Media, reader: Reader) -> String {
    let what = medium.name.as_deref().unwrap_or(&medium.mime);
    let address = match &medium.source {
        MediaSource::Url(url) => return format!("{what}: {url}"),
        MediaSource::Inline(_) => None,
        MediaSource::Stored(address) => address.parse().ok(),
    };
    let Some(address) = address else { return format!("[{what} can't be shown here]") };
    match store.link(&address, reader) {
        Some(link) => format!("{what}: {link}"),
        None => format!("[{what} can't be shown here; at home, `waiter media get {}` saves it]", address.short()),
    }
}

/// Who reads what goes out through a channel.
pub(crate) fn reader(channel: &str) -> Reader {
    if channel == outputs::TERMINAL.0 { Reader::Here } else { Reader::Others }
}

/// What goes with an output, as its channel takes it: what it can't carry becomes a line of the text.
pub(crate) fn fit(store: &Store, output: &mut Output, channel: &ChannelDefinition) {
    let (carried, rest): (Vec<Media>, Vec<Media>) =
        std::mem::take(&mut output.media).into_iter().partition(|medium| carries(channel, &medium.mime));
    output.media = carried;
    let reader = reader(&channel.name);
    for medium in &rest {
        add_line(&mut output.text, &in_words(store, medium, reader));
    }
}

/// The same for a client that only gets a text: it is on this machine, or knows how to get here.
pub(crate) fn add_links(store: &Store, text: &mut String, media: &[Media]) {
    for medium in media {
        add_line(text, &in_words(store, medium, Reader::Here));
    }
}

/// The same with the bytes of what lies in the store: no channel can look there. What is too much goes as a link that its
/// readers can follow.
pub(crate) async fn load(store: &Store, output: &mut Output) {
    let mut lost = Vec::new();
    let inline = |medium: &Media| match &medium.source {
        MediaSource::Inline(bytes) => bytes.len(),
        MediaSource::Stored(_) | MediaSource::Url(_) => 0,
    };
    let mut left = MOST_INLINE.saturating_sub(output.media.iter().map(inline).sum());
    let reader = reader(&output.conversation.channel);
    for medium in &mut output.media {
        let MediaSource::Stored(text) = &medium.source else { continue };
        let read = match text.parse() {
            Ok(address) => store.get(address).await,
            Err(_) => Err(Error::Missing),
        };
        match read {
            Ok(kept) if kept.bytes.len() <= left => {
                left -= kept.bytes.len();
                medium.source = MediaSource::Inline(kept.bytes.to_vec());
            }
            Ok(kept) => match store.link(&kept.address, reader) {
                Some(link) => medium.source = MediaSource::Url(link),
                None => lost.push(in_words(store, medium, reader)),
            },
            Err(error) => lost.push(format!("[{}: {error}]", medium.name.as_deref().unwrap_or(&medium.mime))),
        }
    }
    output.media.retain(|medium| !matches!(medium.source, MediaSource::Stored(_)));
    for line in lost {
        add_line(&mut output.text, &line);
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Takes the media out of a text that stand there as `[words](media:address)`, with their words left in their place.
/// What is not kept stays as it is written.
pub(crate) async fn attached(store: &Store, text: &str) -> (String, Vec<Media>) {
    let (mut rest, mut left, mut media) = (text, String::new(), Vec::new());
    while let Some(at) = rest.find("](media:") {
        let (before, from) = rest.split_at(at);
        let behind = &from["](".len()..];
        let label = before.rfind('[').filter(|start| !before[*start..].contains('\n'));
        let found = match (label, behind.find(')')) {
            (Some(start), Some(end)) => {
                medium(store, &before[start + 1..], &behind[..end]).await.map(|it| (start, end, it))
            }
            _ => None,
        };
        match found {
            Some((start, end, medium)) => {
                let words = &before[start + 1..];
                left.push_str(before[..start].trim_end_matches('!'));
                left.push_str(words);
                media.push(medium);
                rest = &behind[end + 1..];
            }
            None => {
                left.push_str(before);
                left.push_str("](");
                rest = behind;
            }
        }
    }
    left.push_str(rest);
    (left, media)
}

/// The medium of the store that is meant by `digits`, for sending.
pub(crate) async fn medium(store: &Store, name: &str, digits: &str) -> Option<Media> {
    let medium = store.get(store.find(digits).ok()?).await.ok()?;
    let name = Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
    let source = MediaSource::Stored(medium.address.to_string());
    Some(Media { mime: medium.mime, name, source, meta: Vec::new() })
}
