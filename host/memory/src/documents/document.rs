//! A document: what was said and left the context, or what was written down. One JSON file each.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use homeagent_types::model::Message;
use homeagent_types::{Audience, lenient};
use serde::{Deserialize, Serialize};

use crate::context::{Entry, texts_of};
use crate::durable;

/// The version of the file's shape.
const VERSION: u32 = 1;

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Exchanges that left a conversation's window.
    Talk,
    /// Something that was written down.
    Note,
    /// What the graph knows of somebody or something, written by the memory itself and made anew from the graph.
    Known,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Talk => "talk",
            Self::Note => "note",
            Self::Known => "known",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "note" => Self::Note,
            "known" => Self::Known,
            _ => Self::Talk,
        }
    }
}

/// Which turn took a document's events back into its conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// The run.
    pub run: String,
    /// Where it ran.
    pub conversation: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A document, as its file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The version of the file's shape: 1.
    pub version: u32,
    /// Its name: the file is `<id>.json`.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// What a note is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a note says; empty in a document of talk.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Where it was said or written.
    pub conversation: String,
    /// Who may see it, in the text form of [`Audience`].
    pub audience: String,
    /// Others may have written some of it.
    #[serde(default)]
    pub foreign: bool,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// When the first of it was said.
    pub from_ms: i64,
    /// When the last of it was said.
    pub to_ms: i64,
    /// How often it was read.
    #[serde(default)]
    pub reads: u32,
    /// When it was read last; when it was made, where it never was.
    pub read_ms: i64,
    /// The turn that took its events back, until it is known that they are safe there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
    /// What was said, with its times.
    #[serde(default)]
    pub events: Vec<Entry>,
}

/// What a result of a tool becomes whose output is not kept outside the journal.
const NOT_KEPT: &str = "[the output of a terminal; it is not kept here]";

impl Document {
    /// Documents of exchanges that left a window: one for each conversation and audience among them.
    #[must_use]
    pub fn of_exchanges(exchanges: Vec<Vec<Entry>>, now_ms: i64) -> Vec<Self> {
        let mut groups: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
        for mut exchange in exchanges {
            let Some(first) = exchange.first() else { continue };
            let key = (first.conversation.clone(), first.audience.clone());
            exchange.iter_mut().for_each(leave_out_terminals);
            groups.entry(key).or_default().extend(exchange);
        }
        let document = |((conversation, audience), events): (_, Vec<Entry>)| Self {
            version: VERSION,
            id: uuid::Uuid::now_v7().simple().to_string(),
            kind: Kind::Talk,
            title: None,
            text: String::new(),
            conversation,
            audience,
            foreign: events.iter().any(|event| event.foreign),
            created_ms: now_ms,
            from_ms: events.first().map_or(now_ms, |event| event.at_ms),
            to_ms: events.last().map_or(now_ms, |event| event.at_ms),
            reads: 0,
            read_ms: now_ms,
            consumed: None,
            events: events.into_iter().map(|event| Entry { document: None, ..event }).collect(),
        };
        groups.into_iter().map(document).collect()
    }

    /// A note.
    #[must_use]
    pub fn note(title: Option<String>, text: String, conversation: String, audience: &Audience, now_ms: i64) -> Self {
        Self {
            version: VERSION,
            id: uuid::Uuid::now_v7().simple().to_string(),
            kind: Kind::Note,
            title,
            text,
            conversation,
            audience: audience.to_string(),
            foreign: false,
            created_ms: now_ms,
            from_ms: now_ms,
            to_ms: now_ms,
            reads: 0,
            read_ms: now_ms,
            consumed: None,
            events: Vec::new(),
        }
    }

    /// Its exchanges: what a person said, and what follows it.
    #[must_use]
    pub fn exchanges(&self) -> Vec<&[Entry]> {
        let starts: Vec<usize> = (0..self.events.len()).filter(|at| self.events[*at].is_said()).collect();
        let ends = starts.iter().copied().skip(1).chain([self.events.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| &self.events[start..end]).collect()
    }

    /// The texts by which it is found.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.title.iter().cloned().collect();
        texts.extend((!self.text.is_empty()).then(|| self.text.clone()));
        texts.extend(self.exchanges().into_iter().flat_map(texts_of));
        texts
    }

    /// The bytes that its events and its text hold, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len() + self.events.iter().map(Entry::bytes).sum::<usize>()
    }

    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let document: Self = lenient::from_slice(&fs::read(path)?)?;
        if document.version > VERSION {
            let why = format!("it has version {}, and this program knows versions up to {VERSION}", document.version);
            return Err(io::Error::other(why));
        }
        Ok(document)
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        durable::replace(path, &serde_json::to_vec(self)?)
    }
}

/// What a terminal printed is not kept, what was said in one is.
fn leave_out_terminals(entry: &mut Entry) {
    if let Message::Tool { name, content, .. } = &mut entry.message {
        let is_terminal =
            |tool: &str| name == tool || name.strip_prefix(tool).is_some_and(|rest| rest.starts_with('_'));
        if ["pty", "agentcli"].into_iter().any(is_terminal) {
            *content = vec![homeagent_types::model::ContentPart::Text(NOT_KEPT.to_owned())];
        }
    }
}
