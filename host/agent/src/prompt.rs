//! What a model is shown, in an order that stays the same from call to call: persona, rules, tools sorted by name,
//! history, in which the times stand where they were told; what changes comes last.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use homeagent_journal::INPUT_ID;
use homeagent_memory::context::{AT, FOREIGN};
use homeagent_memory::said::{KIND, LEAD, SPEAKER};
use homeagent_types::model::{ContentPart, Message, Prompt, ToolChoice, ToolSpec};
use homeagent_types::{Input, Media, Payload, Peer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::media;

const DEFAULT_PERSONA: &str = include_str!("personal.md");
const RULES: &str = include_str!("rules.md");

/// The longest persona that is used, in bytes: it goes out with each model call.
const PERSONA_BYTES: usize = 64 << 10;

/// The longest name of somebody or something that a prompt repeats, in characters.
const LONGEST_LABEL: usize = 64;

/// The longest reason for which something attached is not kept, in characters.
const LONGEST_REASON: usize = 160;

/// How many attachments are named in a prompt, one by one.
const MOST_MENTIONED: usize = 32;

/// `personal.md` in the home folder.
pub(crate) struct Persona {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    stamp: Option<(SystemTime, u64)>,
    text: String,
}

impl Persona {
    /// Writes the default persona where there is none yet.
    pub(crate) fn open(home: &Path) -> std::io::Result<Self> {
        let path = home.join("personal.md");
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => std::io::Write::write_all(&mut file, DEFAULT_PERSONA.as_bytes())?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        Ok(Self { path, known: Mutex::default() })
    }

    /// The text as it stands in the file. Where it can't be read, the last one that could.
    pub(crate) fn text(&self) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = std::fs::metadata(&self.path).and_then(|meta| match meta.is_file() {
            true => Ok((meta.modified()?, meta.len())),
            // Reading from a pipe would hold up the turn for ever.
            false => Err(std::io::Error::other("it is not a file")),
        });
        match stamp {
            Ok(stamp) if known.stamp == Some(stamp) => {}
            Ok(stamp) => match self.read() {
                Ok(text) => {
                    if stamp.1 > PERSONA_BYTES as u64 {
                        tracing::warn!(bytes = stamp.1, most = PERSONA_BYTES, "personal.md is cut: it is too long");
                    }
                    *known = Known { stamp: Some(stamp), text };
                }
                Err(error) => self.warn(&error),
            },
            Err(error) => self.warn(&error),
        }
        if known.stamp.is_none() { DEFAULT_PERSONA.to_owned() } else { known.text.clone() }
    }

    fn warn(&self, error: &std::io::Error) {
        tracing::warn!(
            %error,
            path = %self.path.display(),
            "personal.md can't be read, so the text it had before is used, or the usual one; make it a text file in \
             UTF-8 that homed may read, or remove it: the next start writes the usual one"
        );
    }

    /// As much of the file as may be used.
    fn read(&self) -> std::io::Result<String> {
        let mut bytes = Vec::new();
        std::fs::File::open(&self.path)?.take(PERSONA_BYTES as u64).read_to_end(&mut bytes)?;
        String::from_utf8(bytes).or_else(|error| {
            let whole = error.utf8_error();
            // The limit may have gone through the middle of a character.
            let cut = whole
                .error_len()
                .is_none()
                .then(|| String::from_utf8_lossy(&error.as_bytes()[..whole.valid_up_to()]).into_owned());
            cut.ok_or_else(|| std::io::Error::other(whole))
        })
    }
}

/// The messages before the history, which stay the same from call to call: persona and rules. What is empty is left out.
#[must_use]
pub fn head(persona: &str) -> Vec<Message> {
    [persona, RULES]
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .map(|text| Message::System(text.to_owned()))
        .collect()
}

/// Puts a prompt together: `head`, then the `window`, then, where there are any, one message with what changes: `added`, the
/// system messages of this turn's handlers. `tools` come sorted by name.
#[must_use]
pub fn assemble(head: &[Message], window: Vec<Message>, tools: Vec<ToolSpec>, added: &[String]) -> Prompt {
    let mut messages = Vec::with_capacity(head.len() + window.len() + 1);
    messages.extend_from_slice(head);
    messages.extend(window);
    if !added.is_empty() {
        messages.push(Message::System(added.join("\n\n")));
    }
    Prompt { messages, tools, tool_choice: ToolChoice::Auto, max_tokens: None }
}

/// The present moment where the daemon runs, for the model.
pub(crate) fn time() -> String {
    jiff::Zoned::now().strftime("%A, %Y-%m-%d %H:%M:%S %:z (%Q)").to_string()
}

/// A short name of a text's content.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the model reads of an input, with `mark` before it; and how many bytes of it stand before the speaker's words.
pub(crate) fn user_message(input: &Input, mark: &str) -> (Message, usize) {
    let mut text = String::new();
    if !mark.is_empty() {
        text.push_str(mark);
        text.push(' ');
    }
    if input.kind != "message" {
        text.push_str(&format!("[{}] ", label(&input.kind)));
    } else if !matches!(input.conversation.peer, Peer::Person(_)) {
        let user = &input.principal.user;
        let name = input.principal.display_name.as_deref().unwrap_or(user);
        text.push_str(&format!("[{} ({})] ", label(name), label(user)));
    }
    let lead = text.len();
    match &input.payload {
        Payload::Text(said) => text.push_str(said),
        Payload::Structured(json) => text.push_str(json),
    }
    mention(&mut text, &input.media);
    let mut parts = vec![ContentPart::Text(text)];
    parts.extend(input.media.iter().filter_map(media::part));
    (Message::User(parts), lead)
}

/// What the journal keeps of an input beside its message, for whoever looks for words later.
pub(crate) fn about(input: &Input, lead: usize, foreign: bool) -> Value {
    json!({
        INPUT_ID: input.id,
        SPEAKER: input.principal,
        KIND: input.kind,
        LEAD: lead,
        FOREIGN: foreign,
        AT: time(),
    })
}

/// A word that somebody else chose, made fit for brackets: it must not end them, nor go on for ever.
pub(crate) fn label(word: &str) -> String {
    clean(word, LONGEST_LABEL)
}

fn clean(words: &str, longest: usize) -> String {
    words.chars().filter(|c| !matches!(c, '[' | ']') && !c.is_control()).take(longest).collect()
}

/// Adds a line for each of what is attached to a text.
pub(crate) fn mention(text: &mut String, media: &[Media]) {
    for medium in media.iter().take(MOST_MENTIONED) {
        let name = medium.name.as_deref().map_or_else(|| "without a name".to_owned(), label);
        let mime = label(&medium.mime);
        let place = match (media::mentioned(medium), media::reason(medium)) {
            (Some(digits), _) => format!(", {}{digits}", media::MENTIONED),
            (None, Some(reason)) => format!(", not kept: {}", clean(reason, LONGEST_REASON)),
            (None, None) => String::new(),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[attached: {mime} {name}{place}]"));
    }
    if media.len() > MOST_MENTIONED {
        text.push_str(&format!("\n[attached: {} more]", media.len() - MOST_MENTIONED));
    }
}

/// What a tool returned, marked as data.
pub(crate) fn as_data(tool: &str, text: &str) -> String {
    // The text can't close its own brackets.
    let text = text.replace("</data", "<\\/data");
    format!("<data from=\"{tool}\">\n{text}\n</data>")
}
