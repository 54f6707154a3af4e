//! What a message says: its pieces as text, mentions and media, with what was looked up put in.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fetch::Fetched;
use crate::field;
use crate::lookup::{Facts, Lookup};
use crate::segment::{Segment, is_address};

/// The longest text of one message, in characters.
const LONGEST: usize = 20_000;

/// As many pictures, sounds and files are taken along.
pub(crate) const MOST_MEDIA: usize = 16;

/// Forwards within forwards that are shown.
pub(crate) const DEEPEST: u8 = 3;

/// Messages of a forward that are shown, with those of forwards within.
const MOST_NODES: usize = 60;

/// What a message says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    /// Without mentions of ourselves, the ends trimmed.
    pub(crate) text: String,
    pub(crate) mentions_me: bool,
    /// The others who are mentioned, by account, or `all`.
    pub(crate) mentions: Vec<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) media: Vec<Medium>,
    /// Part of it was said elsewhere, by others.
    pub(crate) forwarded: bool,
    /// There is a card in it: its title and words are whoever's who made it.
    pub(crate) card: bool,
}

/// A picture, a sound, a film or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Medium {
    /// `image`, `audio`, `video` or `file`.
    pub(crate) kind: &'static str,
    pub(crate) name: Option<String>,
    pub(crate) url: String,
}

impl Medium {
    /// Its media type, by the name's ending.
    pub(crate) fn mime(&self) -> String {
        let place = self.name.as_deref().filter(|name| name.contains('.')).unwrap_or(&self.url);
        let place = place.split(['?', '#']).next().unwrap_or_default();
        let ending = place.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        let ending = ending.map(str::to_ascii_lowercase).unwrap_or_default();
        let known = MIMES.iter().find(|(known, _)| *known == ending).map(|(_, mime)| *mime);
        let general = match self.kind {
            "image" => "image/*",
            "audio" => "audio/*",
            "video" => "video/*",
            _ => "application/octet-stream",
        };
        let fits = |mime: &&str| self.kind == "file" || mime.starts_with(self.kind);
        known.filter(fits).unwrap_or(general).to_owned()
    }

    /// The file that a record of one describes, where it says where it is.
    pub(crate) fn file(file: &Value) -> Option<Self> {
        let url = file["url"].as_str().filter(|url| is_address(url))?.to_owned();
        Some(Self { kind: "file", name: field::name(&file["name"]), url })
    }
}

const MIMES: [(&str, &str); 20] = [
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("m4a", "audio/mp4"),
    ("amr", "audio/amr"),
    ("silk", "audio/silk"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("json", "application/json"),
    ("zip", "application/zip"),
];

/// What makes up a message while it is being read.
struct Reader<'a> {
    facts: &'a Facts,
    /// The account that received it.
    me: &'a str,
    content: Content,
    wanted: BTreeSet<Lookup>,
    /// Messages of forwards that may still be shown.
    nodes: usize,
    depth: u8,
}

/// Reads pieces; also, what would have to be looked up to say more.
pub(crate) fn read(segments: &[Segment], me: &str, facts: &Facts) -> (Content, BTreeSet<Lookup>) {
    let content = Content::default();
    let mut reader = Reader { facts, me, content, wanted: BTreeSet::new(), nodes: MOST_NODES, depth: 0 };
    let text = reader.text(segments);
    let (text, is_cut) = field::cut(text.trim(), LONGEST);
    let mut content = reader.content;
    content.text = text.to_owned();
    if is_cut {
        content.text.push_str("[…后面的内容太长，未显示]");
    }
    (content, reader.wanted)
}

impl Reader<'_> {
    fn text(&mut self, segments: &[Segment]) -> String {
        let mut text = String::new();
        for segment in segments {
            text.push_str(&self.piece(segment));
            // A piece may hold a whole forward; what is far beyond the limit is not made at all.
            if text.len() > 8 * LONGEST {
                break;
            }
        }
        text
    }

    fn piece(&mut self, segment: &Segment) -> String {
        let field = |key: &str| segment.string(key).map(|text| field::one_line(&text, 200));
        let of = |what: &str, keys: &[&str]| {
            let details: Vec<String> = keys.iter().filter_map(|key| field(key)).collect();
            if details.is_empty() { format!("[{what}]") } else { format!("[{what}:{}]", details.join(" ")) }
        };
        self.content.card |= matches!(segment.kind.as_str(), "share" | "music" | "xml" | "json");
        match segment.kind.as_str() {
            "text" => segment.string("text").unwrap_or_default(),
            "markdown" => segment.string("content").unwrap_or_default(),
            "face" => of("表情", &["id"]),
            "mface" | "marketface" | "bface" => of("表情", &["summary", "text", "name"]),
            "at" => self.mention(segment),
            "reply" => self.reply(segment),
            "image" | "flash" | "cardimage" => self.medium(segment, "image", "图片"),
            "record" | "voice" | "audio" => self.medium(segment, "audio", "语音"),
            "video" => self.medium(segment, "video", "视频"),
            "file" | "onlinefile" => self.medium(segment, "file", "文件"),
            "rps" => of("猜拳", &["result", "value"]),
            "dice" => of("骰子", &["result", "value"]),
            "shake" => "[窗口抖动]".to_owned(),
            "poke" => of("戳一戳", &["name"]),
            "share" => of("分享", &["title", "content", "url"]),
            "contact" if segment.string("type").as_deref() == Some("group") => of("推荐群", &["id"]),
            "contact" => of("推荐好友", &["id"]),
            "location" => of("位置", &["title", "content", "lat", "lon"]),
            "music" => of("音乐", &["title", "content", "type", "id", "url"]),
            "forward" => self.forward(segment),
            "node" => self.nodes(std::slice::from_ref(&Value::from(segment.data.clone()))),
            "xml" => format!("[卡片:{}]", segment.string("data").map(|xml| xml_words(&xml)).unwrap_or_default()),
            "json" => format!("[卡片:{}]", segment.data.get("data").map(card_words).unwrap_or_default()),
            "anonymous" => String::new(),
            other => of(&format!("未知内容 {}", field::one_line(other, 40)), &["text", "title", "summary", "name"]),
        }
    }

    fn mention(&mut self, segment: &Segment) -> String {
        let Some(who) = segment.id("qq").or_else(|| segment.id("user_id")) else { return String::new() };
        let is_outer = self.depth == 0;
        if who == self.me {
            self.content.mentions_me |= is_outer;
            return if is_outer { String::new() } else { "@我".to_owned() };
        }
        if is_outer && !self.content.mentions.contains(&who) {
            self.content.mentions.push(who.clone());
        }
        if who == "all" {
            return "@全体成员".to_owned();
        }
        let told = segment.data.get("name").and_then(field::name);
        let name = told.or_else(|| self.facts.names.get(&who).cloned());
        if name.is_none() && is_outer {
            self.wanted.insert(Lookup::Name(who.clone()));
        }
        let name = name.unwrap_or(who);
        format!("@{}", name.trim_start_matches('@'))
    }

    fn reply(&mut self, segment: &Segment) -> String {
        if self.depth == 0
            && let Some(id) = segment.id("id").or_else(|| segment.id("message_id"))
        {
            self.content.reply_to.get_or_insert(id);
        }
        String::new()
    }

    /// A medium is taken along where it says where it is; else it is named in the text.
    fn medium(&mut self, segment: &Segment, kind: &'static str, what: &str) -> String {
        let file = segment.string("file");
        let name = segment.data.get("name").or_else(|| segment.data.get("file")).and_then(field::name);
        let name = name.filter(|name| !is_address(name) && !name.starts_with("base64:") && !name.starts_with("file:"));
        let looked_up = file.as_ref().and_then(|file| self.facts.files.get(file).cloned());
        // What was looked up is better than what was said: a voice comes as a format that hardly anything plays.
        let url = looked_up.or_else(|| segment.address("url")).or_else(|| segment.address("file"));
        if self.depth == 0
            && let Some(file) = &file
            && !self.facts.files.contains_key(file)
        {
            match kind {
                "audio" => _ = self.wanted.insert(Lookup::Voice(file.clone())),
                "image" if url.is_none() => _ = self.wanted.insert(Lookup::Image(file.clone())),
                _ => {}
            }
        }
        let named = name.as_deref().map_or_else(|| format!("[{what}]"), |name| format!("[{what}:{name}]"));
        let fetched = url.as_ref().and_then(|url| self.facts.pictures.get(url));
        let note = match (&url, fetched) {
            (Some(_), Some(Fetched::Gone)) => "取不到了",
            (Some(_), Some(Fetched::TooLarge)) => "太大，只附上地址",
            (Some(url), None) if !is_reachable(url) => "在客户端的机器上，取不到",
            _ => "",
        };
        let named = if note.is_empty() { named } else { format!("{}，{note}]", named.trim_end_matches(']')) };
        match url {
            Some(url)
                if self.content.media.len() < MOST_MEDIA
                    && !matches!(fetched, Some(Fetched::Gone))
                    && (fetched.is_some() || is_reachable(&url)) =>
            {
                let is_file = kind == "file";
                let name = if kind == "audio" { name.map(|name| playable(&name, &url)) } else { name };
                self.content.media.push(Medium { kind, name, url });
                if is_file || self.depth > 0 || !note.is_empty() { named } else { String::new() }
            }
            _ => named,
        }
    }

    fn forward(&mut self, segment: &Segment) -> String {
        self.content.forwarded = true;
        let id = segment.id("id").or_else(|| segment.id("resid"));
        if let Some(nodes) = segment.data.get("content").and_then(Value::as_array).filter(|nodes| !nodes.is_empty()) {
            return self.nodes(nodes);
        }
        let facts = self.facts;
        match id {
            Some(id) => match facts.forwards.get(&id) {
                Some(nodes) => self.nodes(nodes),
                None => {
                    if self.depth < DEEPEST {
                        self.wanted.insert(Lookup::Forward(id));
                    }
                    "[合并转发]".to_owned()
                }
            },
            None => "[合并转发]".to_owned(),
        }
    }

    /// The messages of a forward, one on a line.
    fn nodes(&mut self, nodes: &[Value]) -> String {
        if self.depth >= DEEPEST {
            return "[合并转发:太深，未展开]".to_owned();
        }
        self.content.forwarded = true;
        self.depth += 1;
        let indent = "  ".repeat(usize::from(self.depth));
        let mut text = "[合并转发:".to_owned();
        for (shown, node) in nodes.iter().enumerate() {
            if self.nodes == 0 {
                text.push_str(&format!("\n{indent}…另有{}条未显示", nodes.len() - shown));
                break;
            }
            self.nodes -= 1;
            let (name, segments) = read_node(node);
            let said = self.text(&segments).replace('\n', &format!("\n{indent}"));
            text.push_str(&format!("\n{indent}{name}: {}", said.trim()));
        }
        self.depth -= 1;
        text + "\n" + &"  ".repeat(usize::from(self.depth)) + "]"
    }
}

/// Whether others can fetch what is there.
fn is_reachable(url: &str) -> bool {
    is_address(url) || url.starts_with("data:")
}

/// A voice that was turned into another format has that format's name.
fn playable(name: &str, url: &str) -> String {
    let is_mp3 = url.starts_with("data:audio/mpeg") || url.split(['?', '#']).next().unwrap_or("").ends_with(".mp3");
    if is_mp3 { format!("{}.mp3", name.rsplit_once('.').map_or(name, |(stem, _)| stem)) } else { name.to_owned() }
}

/// Who said a message of a forward, and what; clients disagree about where that stands.
fn read_node(node: &Value) -> (String, Vec<Segment>) {
    let data = if node["data"].is_object() { &node["data"] } else { node };
    let sender = &data["sender"];
    let names = [&sender["card"], &sender["nickname"], &data["nickname"], &data["name"]];
    let name = names.into_iter().find_map(field::name);
    let ids = [&data["user_id"], &data["uin"], &sender["user_id"]];
    let name = name.or_else(|| ids.into_iter().find_map(field::party)).unwrap_or_else(|| "?".to_owned());
    let message = ["message", "content"].into_iter().map(|key| &data[key]).find(|message| !message.is_null());
    (name, message.map(crate::segment::read).unwrap_or_default())
}

/// The words of a card that people see.
fn card_words(data: &Value) -> String {
    let parsed = data.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let card = parsed.as_ref().unwrap_or(data);
    let mut words = Vec::new();
    let mut add = |value: &Value| {
        if let Some(text) = value.as_str().map(|text| field::one_line(text, 200)).filter(|text| !text.is_empty())
            && !words.contains(&text)
        {
            words.push(text);
        }
    };
    add(&card["prompt"]);
    for detail in card["meta"].as_object().into_iter().flat_map(|meta| meta.values()).take(4) {
        for key in ["tag", "title", "desc", "qqdocurl", "jumpUrl", "url"] {
            add(&detail[key]);
        }
    }
    add(&card["desc"]);
    words.join(" ")
}

/// The words of an XML card: what its attributes for people say.
fn xml_words(xml: &str) -> String {
    let attribute = |name: &str| {
        let (_, rest) = xml.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| field::one_line(value, 200)).filter(|value| !value.is_empty())
    };
    ["brief", "title", "url"].into_iter().filter_map(attribute).collect::<Vec<_>>().join(" ")
}

/// The names of those who are mentioned, as far as they are known.
pub(crate) fn names(content: &Content, facts: &BTreeMap<String, String>) -> String {
    let one = |who: &String| facts.get(who).map_or_else(|| who.clone(), |name| format!("{who}={name}"));
    content.mentions.iter().map(one).collect::<Vec<_>>().join(",")
}
