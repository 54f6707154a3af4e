//! The frames: WebSocket text frames, each of them one JSON object with a `type`.

use homeagent_sdk::sockets::Frame;
use homeagent_sdk::{Delta, DeltaContent, Error, Output, OutputKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest frame that is read, in bytes.
pub(crate) const LONGEST: usize = 256 << 10;

/// What a terminal says.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Heard {
    /// A message, which waits its turn.
    Say(Words),
    /// A message that does not wait.
    Interrupt(Words),
    /// The turn that runs is to end.
    Stop,
}

/// A message, and what the terminal calls it.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) id: Option<Value>,
}

/// A shorter id may be one that many terminals use, such as a number that they count up.
const SHORTEST_UNIQUE_ID: usize = 16;

impl Words {
    /// The id, where it is one that no other message has: the same message is then taken once, however often it comes.
    pub(crate) fn platform_id(&self) -> Option<String> {
        let id = self.id.as_ref()?.as_str()?;
        (id.len() >= SHORTEST_UNIQUE_ID).then(|| id.to_owned())
    }
}

/// What a terminal is told.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Spoken<'a> {
    /// The connection is open, in this conversation.
    Hello { conversation: &'a str },
    /// What was said is in the journal under this input.
    Accepted {
        input: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Value>,
    },
    /// Someone else of the same conversation said something.
    Said { text: &'a str, by: &'a str },
    /// A piece of an answer that is still being written.
    Delta { run: &'a str, kind: &'static str, text: &'a str },
    /// The final text of a turn.
    Reply(Message<'a>),
    /// Sent by a tool in the middle of a turn.
    Message(Message<'a>),
    /// A turn ended without a reply, or an input could not be taken.
    Notice { run: Option<&'a str>, code: &'a str, text: &'a str },
    /// The answer to a stop.
    Stopped { running: bool },
    /// A frame was not understood, or what it asks for could not be done.
    Error {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Value>,
    },
}

/// The words of a reply or a message.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    run: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Box<RawValue>>,
}

/// Reads a frame; the error is what the terminal is told.
pub(crate) fn hear(frame: &Frame) -> Result<Heard, String> {
    let Frame::Text(text) = frame else { return Err("binary frames are not understood; send text".to_owned()) };
    if text.len() > LONGEST {
        return Err(format!("the frame has {} bytes; {LONGEST} are the most", text.len()));
    }
    let heard = serde_json::from_str(text).map_err(|error| format!("the frame is not understood: {error}"))?;
    match &heard {
        Heard::Say(words) | Heard::Interrupt(words) if words.text.trim().is_empty() => {
            Err("`text` is empty".to_owned())
        }
        _ => Ok(heard),
    }
}

impl<'a> Spoken<'a> {
    /// An error that is about no message.
    pub(crate) fn error(text: &'a str) -> Self {
        Self::Error { text, id: None }
    }

    /// What an output is for a terminal.
    pub(crate) fn output(output: &'a Output) -> Result<Self, Error> {
        let run = output.run.as_deref();
        let structured = output.structured.clone().map(RawValue::from_string).transpose()?;
        let message = Message { run, text: &output.text, structured };
        Ok(match &output.kind {
            OutputKind::Reply => Self::Reply(message),
            OutputKind::Message | OutputKind::Other(_) => Self::Message(message),
            OutputKind::Notice(code) => Self::Notice { run, code, text: &output.text },
        })
    }

    /// What a delta is for a terminal; nothing, where it is of a kind that can't be shown.
    pub(crate) fn delta(delta: &'a Delta) -> Option<Self> {
        let (kind, text) = match &delta.content {
            DeltaContent::Text(text) => ("text", text.as_str()),
            DeltaContent::Reasoning(text) => ("reasoning", text.as_str()),
            DeltaContent::ToolStarted(name) => ("tool-started", name.as_str()),
            DeltaContent::ToolEnded(name) => ("tool-ended", name.as_str()),
            DeltaContent::Void => ("void", ""),
            DeltaContent::Other(_) => return None,
        };
        Some(Self::Delta { run: &delta.run, kind, text })
    }

    /// The frame.
    pub(crate) fn frame(&self) -> Frame {
        // Strings, numbers and checked JSON always serialise.
        Frame::Text(serde_json::to_string(self).unwrap_or_default())
    }
}
