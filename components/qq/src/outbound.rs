//! The agent's words as messages for QQ.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use homeagent_sdk::{Error, Media, MediaSource, Output};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::Place;
use crate::outbox::Call;
use crate::segment::{Segment, is_address};
use crate::settings::Settings;
use crate::split::split;
use crate::{cq, field, markdown};

/// Messages of one forward; a longer list is refused by QQ.
const MOST_NODES: usize = 90;

/// The largest file that goes into a frame, in bytes: base64 makes a third more of it, and a frame has at most 1 MiB.
const LARGEST_INLINE: usize = 700 << 10;

/// Kinds of segments that a structured message may have.
const SENDABLE: [&str; 19] = [
    "text", "face", "mface", "image", "record", "video", "at", "rps", "dice", "shake", "poke", "share", "contact",
    "location", "music", "reply", "json", "xml", "markdown",
];

/// Fields that say where a file is.
const PLACES: [&str; 8] = ["file", "url", "path", "cover", "thumb", "audio", "image", "cache"];

/// The way back to where an input came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) account: String,
    /// The group of a temporary session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// The message that is being answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) route: Route,
}

impl Target {
    /// The name of the lane in which messages to it follow each other.
    pub(crate) fn lane(&self) -> String {
        format!("{}/{}", self.route.account, self.place.name())
    }

    /// Where a message goes, as parameters.
    fn address(&self) -> Value {
        match &self.place {
            Place::Group(group) => json!({ "group_id": field::number(group) }),
            Place::Private(user) => match &self.route.group {
                Some(group) => json!({ "user_id": field::number(user), "group_id": field::number(group) }),
                None => json!({ "user_id": field::number(user) }),
            },
        }
    }

    fn action(&self, group: &str, private: &str) -> String {
        if self.place.group().is_some() { group.to_owned() } else { private.to_owned() }
    }

    /// A request with these parameters besides the address.
    fn call(&self, (group, private): (&str, &str), more: Value) -> Call {
        let mut params = self.address();
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            params.extend(more);
        }
        Call::new(&self.action(group, private), params)
    }

    /// One message.
    fn message(&self, segments: &[Segment], settings: &Settings) -> Call {
        let message = written(segments, settings);
        self.call(("send_group_msg", "send_private_msg"), json!({ "message": message }))
    }

    /// A list of messages, shown as one that can be opened.
    fn forward(&self, nodes: &[Value]) -> Call {
        self.call(("send_group_forward_msg", "send_private_forward_msg"), json!({ "messages": nodes }))
    }

    /// A message of a forward. Clients disagree about the names of the fields.
    fn node(&self, name: &str, segments: &[Segment], settings: &Settings) -> Value {
        let id = field::number(&self.route.account);
        let data =
            json!({ "name": name, "nickname": name, "uin": id, "user_id": id, "content": written(segments, settings) });
        json!({ "type": "node", "data": data })
    }
}

/// Segments in the form that the client takes.
fn written(segments: &[Segment], settings: &Settings) -> Value {
    if settings.as_string { Value::from(cq::write(segments)) } else { json!(segments) }
}

/// The requests that send an output. `text` is what of its text is still to be sent.
pub(crate) fn calls(output: &Output, text: &str, target: &Target, settings: &Settings) -> Result<Vec<Call>, Error> {
    let text = markdown::plain(text);
    let is_long = settings.forward_above > 0 && text.chars().count() > settings.forward_above;
    // Beside a list or a message of its own make, pictures are messages by themselves.
    let is_apart = is_long || output.structured.is_some();
    let mut messages = messages(&text, settings.message_size);
    if !is_apart {
        attach_images(&mut messages, &output.media)?;
    }
    let mut forward = None;
    match output.structured.as_deref().map(|json| structured(json, target, settings)).transpose()? {
        Some(Structured::Message(segments)) => messages.push(segments),
        Some(Structured::Forward(nodes)) => forward = Some(target.forward(&nodes)),
        None => {}
    }
    if let Some(first) = messages.first_mut() {
        first.splice(0..0, opening(output, target, settings)?);
    }
    let singly: Vec<Call> = messages.iter().map(|segments| target.message(segments, settings)).collect();
    let mut calls = if is_long { forwards(&messages, target, &singly, settings) } else { singly };
    calls.extend(forward);
    for media in output.media.iter().filter(|media| is_apart || !is_image(media)) {
        calls.push(medium(media, target, settings)?);
    }
    Ok(calls)
}

/// Text in pieces, one message each.
fn messages(text: &str, size: usize) -> Vec<Vec<Segment>> {
    let pieces = split(text, size);
    let pieces = pieces.iter().map(|piece| piece.trim_matches('\n').trim_end()).filter(|piece| !piece.is_empty());
    pieces.map(|piece| vec![Segment::text(piece)]).collect()
}

/// The quotation and the mentions with which the first message begins.
fn opening(output: &Output, target: &Target, settings: &Settings) -> Result<Vec<Segment>, Error> {
    let meta = |name: &str| output.meta.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    let quoted = match meta("reply_to") {
        Some(id) => Some(id.to_owned()).filter(|id| !id.is_empty()),
        None if settings.quote && target.place.group().is_some() => target.route.message.clone(),
        None => None,
    };
    let mut segments: Vec<Segment> = quoted.map(|id| Segment::new("reply").with("id", id)).into_iter().collect();
    for who in meta("at").unwrap_or_default().split(',').map(str::trim).filter(|who| !who.is_empty()) {
        if who != "all" && !who.chars().all(|c| c.is_ascii_digit()) {
            return Err(Error::invalid(format!("`at` holds account numbers joined by commas, or all; not {who:?}")));
        }
        segments.push(Segment::new("at").with("qq", who));
        segments.push(Segment::text(" "));
    }
    Ok(segments)
}

/// Long text as forwards; where the client can't, as single messages.
fn forwards(messages: &[Vec<Segment>], target: &Target, singly: &[Call], settings: &Settings) -> Vec<Call> {
    let lists = messages.chunks(MOST_NODES).zip(singly.chunks(MOST_NODES));
    lists
        .map(|(messages, singly)| {
            let content = |message: &Vec<Segment>| -> Vec<Segment> {
                message.iter().filter(|segment| segment.kind != "reply").cloned().collect()
            };
            let nodes: Vec<Value> =
                messages.iter().map(|message| target.node("回复", &content(message), settings)).collect();
            target.forward(&nodes).or(singly.to_vec())
        })
        .collect()
}

fn is_image(media: &Media) -> bool {
    media.mime.starts_with("image/")
}

/// Pictures go into the last message of the text, so that text and picture are seen together.
fn attach_images(messages: &mut Vec<Vec<Segment>>, media: &[Media]) -> Result<(), Error> {
    let segments =
        media.iter().filter(|media| is_image(media)).map(|image| Ok(Segment::new("image").with("file", file(image)?)));
    let segments = segments.collect::<Result<Vec<_>, Error>>()?;
    match messages.last_mut() {
        Some(last) => last.extend(segments),
        None if segments.is_empty() => {}
        None => messages.push(segments),
    }
    Ok(())
}

/// A sound, a film or a file, each of which is a message of its own.
fn medium(media: &Media, target: &Target, settings: &Settings) -> Result<Call, Error> {
    let file = file(media)?;
    let kind = match media.mime.split('/').next() {
        Some("image") => "image",
        Some("audio") => "record",
        Some("video") => "video",
        _ => {
            let name = media.name.clone().unwrap_or_else(|| name_of(&file));
            let segment = Segment::new("file").with("file", file.clone()).with("name", name.clone());
            let upload = ("upload_group_file", "upload_private_file");
            let upload = target.call(upload, json!({ "file": file, "name": name }));
            return Ok(upload.or(vec![target.message(&[segment], settings)]));
        }
    };
    Ok(target.message(&[Segment::new(kind).with("file", file)], settings))
}

fn name_of(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let name = if is_address(path) { path.rsplit('/').next().unwrap_or_default() } else { "" };
    if name.is_empty() { "file".to_owned() } else { name.to_owned() }
}

/// A medium as clients take it.
fn file(media: &Media) -> Result<String, Error> {
    match &media.source {
        MediaSource::Url(url) if is_address(url) => Ok(url.clone()),
        MediaSource::Url(url) => {
            Err(Error::invalid(format!("{url} is no address that begins with https:// or http://")))
        }
        MediaSource::Inline(bytes) if bytes.len() <= LARGEST_INLINE => Ok(format!("base64://{}", BASE64.encode(bytes))),
        MediaSource::Inline(bytes) => Err(Error::invalid(format!(
            "a file of {} bytes can't be sent to QQ; {LARGEST_INLINE} are the most. Send its address instead",
            bytes.len()
        ))),
        MediaSource::Stored(_) => Err(Error::other("QQ can't be sent what lies in the host's store; send an address")),
    }
}

enum Structured {
    Message(Vec<Segment>),
    Forward(Vec<Value>),
}

/// A structured message: a list of segments, or `{"forward": [{"name", "content"}]}`.
fn structured(json: &str, target: &Target, settings: &Settings) -> Result<Structured, Error> {
    let value: Value = serde_json::from_str(json)?;
    let Some(nodes) = value.get("forward") else { return segments(&value).map(Structured::Message) };
    let nodes = nodes.as_array().filter(|nodes| (1..=MOST_NODES).contains(&nodes.len()));
    let wrong =
        || Error::invalid(format!("`forward` is a list of 1 to {MOST_NODES} messages with `name` and `content`"));
    let nodes = nodes.ok_or_else(wrong)?.iter().map(|node| {
        let name = field::name(&node["name"]).unwrap_or_else(|| "消息".to_owned());
        Ok(target.node(&name, &segments(&node["content"])?, settings))
    });
    nodes.collect::<Result<_, _>>().map(Structured::Forward)
}

/// Segments that the model wrote. A file of the client's own machine is not for it to send.
fn segments(value: &Value) -> Result<Vec<Segment>, Error> {
    // A string is text here, never codes.
    let segments = match value {
        Value::String(text) => vec![Segment::text(text)],
        Value::Array(_) | Value::Object(_) => crate::segment::read(value),
        _ => Vec::new(),
    };
    if segments.is_empty() {
        return Err(Error::invalid(
            "a structured message is a list of OneBot segments such as {\"type\": \"text\", \"data\": {\"text\": \"...\"}}",
        ));
    }
    for segment in &segments {
        if !SENDABLE.contains(&segment.kind.as_str()) {
            let known = SENDABLE.join(", ");
            return Err(Error::invalid(format!("a segment `{}` can't be sent; there are {known}", segment.kind)));
        }
        let is_own = |key: &&&str| segment.string(key).is_some_and(|text| !is_harmless(&text));
        if let Some(key) = PLACES.iter().find(is_own) {
            return Err(Error::invalid(format!(
                "`{key}` of the segment `{}` has to begin with https://, http:// or base64://",
                segment.kind
            )));
        }
    }
    Ok(segments)
}

/// Whether what stands where a file is named is no path: an address, bytes, a number, or a word.
fn is_harmless(text: &str) -> bool {
    let is_word = !text.contains(['/', '\\', ':', '%']) && !text.starts_with('.') && !text.starts_with('~');
    is_address(text) || text.starts_with("base64://") || is_word
}
