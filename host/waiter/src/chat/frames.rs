//! The frames of a chat: JSON in text frames. The plugin `cli` is at the other end.

use serde::{Deserialize, Serialize};

/// The code of a notice: it could not be begun yet, and is tried again.
const WAITING: &str = "waiting";

/// The code of a notice that asks the owner whether a tool may run.
const QUESTION: &str = "question";

/// The code of a notice: a plugin refused it.
const REFUSED: &str = "refused";

/// What the chat says to the plugin.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum ToServer<'a> {
    /// Somebody says something.
    Say {
        /// What.
        text: &'a str,
        /// Comes back in [`FromServer::Accepted`].
        id: &'a str,
    },
    /// Says something to the turn that runs.
    Interrupt {
        /// What.
        text: &'a str,
        /// As for [`ToServer::Say`].
        id: &'a str,
    },
    /// Ends the turn that runs.
    Stop,
}

impl ToServer<'_> {
    pub(crate) fn to_json(&self) -> String {
        // Texts are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the plugin says to the chat.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum FromServer {
    /// The first frame.
    Hello { conversation: String },
    /// An input is in the journal.
    Accepted {
        input: String,
        /// What the chat called it.
        #[serde(default)]
        id: Option<String>,
    },
    /// Somebody else says something in the same conversation.
    Said { text: String, by: String },
    /// A piece of an answer.
    Delta {
        run: String,
        kind: Kind,
        #[serde(default)]
        text: String,
    },
    /// The final text of a turn.
    Reply {
        #[serde(default)]
        run: Option<String>,
        text: String,
    },
    /// Sent by a tool in the middle of a turn.
    Message {
        #[serde(default)]
        run: Option<String>,
        text: String,
    },
    /// A turn ended without a reply, or an input could not be taken.
    Notice {
        #[serde(default)]
        run: Option<String>,
        code: String,
        text: String,
    },
    /// What became of a stop.
    Stopped { running: bool },
    /// A frame of ours could not be used.
    Error {
        text: String,
        /// What the chat called what the frame said.
        #[serde(default)]
        id: Option<String>,
    },
    /// A frame this version does not know.
    #[serde(other)]
    Unknown,
}

/// What a piece of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A piece of the text.
    Text,
    /// A piece of what the model thinks.
    Reasoning,
    /// A tool starts, by name.
    ToolStarted,
    /// A tool ended, by name.
    ToolEnded,
    /// What was shown of this round's text is void.
    Void,
    /// A kind this version does not know.
    #[serde(other)]
    Unknown,
}

impl FromServer {
    /// Reads a frame; one that can't be read is an error of the other side, told as such.
    pub(crate) fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|error| Self::Error {
            text: format!("a frame of the daemon can't be read: {error}"),
            id: None,
        })
    }

    /// The turn it belongs to.
    pub(crate) fn run(&self) -> Option<&str> {
        match self {
            Self::Delta { run, .. } => Some(run),
            Self::Reply { run, .. } | Self::Message { run, .. } | Self::Notice { run, .. } => run.as_deref(),
            _ => None,
        }
    }

    /// Whether somebody who waits for an answer has got it.
    pub(crate) fn ends_waiting(&self) -> bool {
        match self {
            Self::Reply { .. } | Self::Error { .. } => true,
            Self::Notice { code, .. } => code != WAITING && code != QUESTION,
            Self::Stopped { running } => !running,
            _ => false,
        }
    }

    /// Whether the turn of this id waits for the owner's word.
    pub(crate) fn asks(&self) -> bool {
        matches!(self, Self::Notice { run: Some(_), code, .. } if code == QUESTION)
    }

    /// Whether it may be about an interrupt alone, and the turn that it names goes on.
    pub(crate) fn may_leave_the_turn(&self) -> bool {
        matches!(self, Self::Notice { run: Some(_), code, .. } if code == REFUSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_written_as_the_protocol_says() {
        let say = ToServer::Say { text: "你好\n", id: "1" };
        assert_eq!(say.to_json(), r#"{"type":"say","text":"你好\n","id":"1"}"#);
        let interrupt = ToServer::Interrupt { text: "wait", id: "2" };
        assert_eq!(interrupt.to_json(), r#"{"type":"interrupt","text":"wait","id":"2"}"#);
        assert_eq!(ToServer::Stop.to_json(), r#"{"type":"stop"}"#);
    }

    #[test]
    fn frames_are_read_whatever_else_they_hold() {
        let delta = r#"{"type":"delta","run":"r","kind":"tool-started","text":"calc","more":1}"#;
        assert_eq!(
            FromServer::read(delta),
            FromServer::Delta { run: "r".into(), kind: Kind::ToolStarted, text: "calc".into() }
        );
        let accepted = r#"{"type":"accepted","input":"i","id":"1"}"#;
        assert_eq!(FromServer::read(accepted), FromServer::Accepted { input: "i".into(), id: Some("1".into()) });
        assert_eq!(FromServer::read(r#"{"type":"dance"}"#), FromServer::Unknown);
        assert!(matches!(FromServer::read("not json"), FromServer::Error { .. }));
        assert!(matches!(
            FromServer::read(r#"{"type":"delta","run":"r","kind":"smell"}"#),
            FromServer::Delta { kind: Kind::Unknown, .. }
        ));
    }

    #[test]
    fn an_answer_that_is_still_to_come_is_waited_for() {
        let message = |run: Option<&str>| FromServer::Message { run: run.map(str::to_owned), text: "x".into() };
        assert!(!message(Some("r")).ends_waiting() && !message(None).ends_waiting());
        assert!(!FromServer::Stopped { running: true }.ends_waiting());
        let notice = |code: &str| FromServer::Notice { run: None, code: code.into(), text: "x".into() };
        assert!(!notice("waiting").ends_waiting() && !notice("question").ends_waiting());
        assert!(notice("shutting-down").ends_waiting());
    }
}
