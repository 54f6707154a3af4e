//! What is handed to the agent of a message or a notice.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use homeagent_sdk::inputs::Submission;
use homeagent_sdk::{Media, MediaSource, Payload, Peer};

use crate::content::{self, Content, Medium};
use crate::event::{Message, Place};
use crate::fetch::{self, Fetched};
use crate::field;
use crate::lookup::Facts;
use crate::notice::Notice;
use crate::outbound::Route;
use crate::segment::is_address;

/// The longest quotation, in characters.
const LONGEST_QUOTE: usize = 500;

/// The longest quotation of a forward, in characters.
const LONGEST_FORWARD: usize = 8_000;

/// As many bytes of pictures and sounds go with one input: all of it has at most 1 MiB.
const MOST_BYTES: usize = fetch::LARGEST;

/// The input that a message makes. `background`: what was said in the group before, as a block.
pub(crate) fn submission(message: &Message, content: &Content, facts: &Facts, background: Option<&str>) -> Submission {
    let quoted = facts.quoted.as_ref().map(|quoted| content::read(&quoted.segments, &message.self_id, facts).0);
    let quote = quoted.as_ref().and_then(|content| quote(message, facts, content));
    let words = match content.text.as_str() {
        "" if content.media.is_empty() => "[叫了你一声]".to_owned(),
        "" => media_words(&content.media),
        text => text.to_owned(),
    };
    let before = [background, quote.as_deref()].into_iter().flatten();
    // A command is found by its first character.
    let is_command = words.starts_with('/');
    let before: Vec<&str> = before.filter(|_| !is_command).collect();
    let text = before.iter().copied().chain([words.as_str()]).collect::<Vec<_>>().join("\n");
    let route =
        Route { account: message.self_id.clone(), group: message.reply_group.clone(), message: message.id.clone() };
    let mut meta = vec![
        ("account".to_owned(), message.self_id.clone()),
        ("platform_role".to_owned(), message.platform_role.to_owned()),
        ("mentions_me".to_owned(), content.mentions_me.to_string()),
    ];
    let mut add = |key: &str, value: Option<String>| meta.extend(value.map(|value| (key.to_owned(), value)));
    add("message_id", message.id.clone());
    add("mentions", some(content.mentions.join(",")));
    add("mentioned_names", some(content::names(content, &facts.names)).filter(|names| names.contains('=')));
    add("reply_to", content.reply_to.clone());
    add("reply_group", message.reply_group.clone());
    let is_of_others = |content: &Content| content.forwarded || content.card;
    let is_forwarded = is_of_others(content) || (!is_command && quoted.as_ref().is_some_and(is_of_others));
    add("forwarded", is_forwarded.then(|| "true".to_owned()));
    // What the person said is the last of the text; the block before it is for nobody's memory.
    add("text", (text != content.text).then(|| content.text.clone()));
    add("background", background.filter(|_| !is_command).map(str::to_owned));
    let mut room = MOST_BYTES;
    // Who replies to a picture asks about it.
    let all_media = content.media.iter().chain(quoted.iter().flat_map(|quoted| &quoted.media));
    Submission {
        platform_id: platform_id(message),
        display_name: message.name.clone(),
        media: all_media.take(content::MOST_MEDIA).filter_map(|medium| media(medium, facts, &mut room)).collect(),
        reply_route: serde_json::to_string(&route).ok(),
        received_at: message.time.map(milliseconds),
        payload: Payload::Text(text),
        meta,
        ..Submission::text(peer(&message.place), message.user.clone(), "")
    }
}

/// The input that a notice makes, in the conversation with `place`.
pub(crate) fn notice(notice: &Notice, place: &Place, text: &str, name: Option<String>) -> Submission {
    let route = Route { account: notice.self_id.clone(), group: None, message: None };
    let mut meta = vec![("account".to_owned(), notice.self_id.clone()), ("notice".to_owned(), notice.what.to_owned())];
    // Somebody else's words, such as those with which a stranger asks to be let in.
    if *place != Place::Private(notice.user.clone()) {
        meta.push(("forwarded".to_owned(), "true".to_owned()));
    }
    if let Some(request) = &notice.request {
        meta.push(("request_type".to_owned(), request.kind.to_owned()));
        meta.push(("sub_type".to_owned(), request.sub_type.clone()));
        meta.push(("flag".to_owned(), request.flag.clone()));
    }
    let flag = notice.request.as_ref().map(|request| request.flag.as_str()).unwrap_or_default();
    let time = notice.time.map(|time| time.to_string()).unwrap_or_default();
    let id = [&notice.self_id, notice.what, &notice.place.name(), &notice.user, &time, flag].join(":");
    Submission {
        platform_id: notice.time.map(|_| id),
        display_name: name,
        kind: notice.kind().to_owned(),
        media: notice.media.iter().filter_map(|medium| media(medium, &Facts::default(), &mut 0)).collect(),
        reply_route: serde_json::to_string(&route).ok(),
        received_at: notice.time.map(milliseconds),
        meta,
        ..Submission::text(peer(place), notice.user.clone(), text)
    }
}

/// The id under which a message is taken once. Clients count messages anew when they lose their memory, so the time is
/// part of it.
pub(crate) fn platform_id(message: &Message) -> Option<String> {
    let time = message.time.map(|time| format!(":{time}")).unwrap_or_default();
    message.id.as_ref().map(|id| format!("{}:{id}{time}", message.self_id))
}

/// A message as a line of a group's background.
pub(crate) fn line(content: &Content) -> String {
    let media = media_words(&content.media);
    [content.text.as_str(), media.as_str()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The message that was replied to: on one line, unless it is a forward.
fn quote(message: &Message, facts: &Facts, content: &Content) -> Option<String> {
    let quoted = facts.quoted.as_ref()?;
    let text = match content.forwarded {
        true => field::cut(&content.text, LONGEST_FORWARD).0.to_owned(),
        false => field::one_line(&line(content), LONGEST_QUOTE),
    };
    let is_mine = quoted.user.as_ref() == Some(&message.self_id);
    let who = if is_mine { Some("我".to_owned()) } else { quoted.name.clone().or_else(|| quoted.user.clone()) };
    (!text.is_empty()).then(|| format!("[引用 {}: {text}]", who.unwrap_or_else(|| "?".to_owned())))
}

/// Media in words, for a message that is nothing else.
fn media_words(media: &[Medium]) -> String {
    let words = media.iter().map(|medium| match medium.kind {
        "image" => "[图片]",
        "audio" => "[语音]",
        "video" => "[视频]",
        _ => "[文件]",
    });
    words.collect::<Vec<_>>().join("")
}

/// A medium with its bytes, where they are known and there is room for them, else by its address; nothing, where it has
/// none either.
fn media(medium: &Medium, facts: &Facts, room: &mut usize) -> Option<Media> {
    let sound = medium.url.strip_prefix("data:audio/mpeg;base64,").and_then(|text| BASE64.decode(text).ok());
    let known = match facts.pictures.get(&medium.url) {
        Some(Fetched::Here(picture)) => Some((picture.mime, picture.bytes.clone())),
        _ => sound.map(|bytes| ("audio/mpeg", bytes)),
    };
    let (mime, source) = match known.filter(|(_, bytes)| bytes.len() <= *room) {
        Some((mime, bytes)) => {
            *room -= bytes.len();
            (mime.to_owned(), MediaSource::Inline(bytes))
        }
        None if is_address(&medium.url) => (medium.mime(), MediaSource::Url(medium.url.clone())),
        None => return None,
    };
    Some(Media { mime, name: medium.name.clone(), source, meta: vec![("kind".to_owned(), medium.kind.to_owned())] })
}

fn peer(place: &Place) -> Peer {
    match place {
        Place::Private(user) => Peer::Person(user.clone()),
        Place::Group(group) => Peer::Group(group.clone()),
    }
}

fn milliseconds(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000)
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
