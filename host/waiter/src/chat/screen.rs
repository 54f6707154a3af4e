//! What a chat shows: frames in, text for the terminal out.

use nu_ansi_term::{Color, Style};

use super::frames::{FromServer, Kind};
use crate::plain::{plain, plain_line};

/// What the last, unfinished line on the screen is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Reasoning,
}

/// The screen of a chat, as far as what comes next depends on it.
pub(crate) struct Screen {
    coloured: bool,
    open: Open,
    /// The text of this round that is shown. The final text is shown again only where it differs.
    shown: String,
}

impl Screen {
    pub(crate) fn new(coloured: bool) -> Self {
        Self { coloured, open: Open::Nothing, shown: String::new() }
    }

    /// What a frame adds to the screen.
    pub(crate) fn show(&mut self, frame: &FromServer) -> String {
        match frame {
            FromServer::Delta { kind, text, .. } => self.piece(*kind, text),
            FromServer::Reply { text, .. } => self.reply(text),
            FromServer::Message { text, .. } => {
                let text = plain(text.trim_end());
                self.line(&text)
            }
            FromServer::Notice { code, text, .. } => {
                self.shown.clear();
                let text = plain_line(&format!("[{code}] {text}"));
                let text = self.paint(Color::Yellow.into(), &text);
                self.line(&text)
            }
            FromServer::Said { text, by } => {
                let text = self.dim(&plain(&format!("{by}: {}", text.trim_end())));
                self.line(&text)
            }
            FromServer::Stopped { running: false } => {
                let text = self.dim("nothing was running");
                self.line(&text)
            }
            FromServer::Error { text, .. } => {
                let text = self.paint(Color::Red.into(), &plain(text));
                self.line(&text)
            }
            FromServer::Hello { .. }
            | FromServer::Accepted { .. }
            | FromServer::Stopped { running: true }
            | FromServer::Unknown => String::new(),
        }
    }

    /// A remark of the chat's own.
    pub(crate) fn remark(&mut self, text: &str) -> String {
        let text = self.dim(&plain(text));
        self.line(&text)
    }

    /// Ends an unfinished line, so that something else can begin.
    pub(crate) fn break_line(&mut self) -> &'static str {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => "",
            Open::Text | Open::Reasoning => "\n",
        }
    }

    fn piece(&mut self, kind: Kind, text: &str) -> String {
        match kind {
            Kind::Text => {
                let broken = self.turn_to(Open::Text);
                self.shown.push_str(text);
                format!("{broken}{}", plain(text))
            }
            Kind::Reasoning => {
                let broken = self.turn_to(Open::Reasoning);
                format!("{broken}{}", self.dim(&plain(text)))
            }
            Kind::ToolStarted => {
                self.shown.clear();
                let text = self.dim(&plain_line(&format!("· {text} …")));
                self.line(&text)
            }
            Kind::ToolEnded => {
                let text = self.dim(&plain_line(&format!("· {text} is done")));
                self.line(&text)
            }
            Kind::Void if self.shown.is_empty() => String::new(),
            Kind::Void => {
                self.shown.clear();
                self.remark("(what stands above is void, the answer begins afresh)")
            }
            Kind::Unknown => String::new(),
        }
    }

    fn reply(&mut self, text: &str) -> String {
        let shown = std::mem::take(&mut self.shown);
        if self.open != Open::Reasoning && !shown.is_empty() && shown.trim() == text.trim() {
            return self.break_line().to_owned();
        }
        if text.trim().is_empty() {
            return self.break_line().to_owned();
        }
        let text = plain(text.trim_end());
        self.line(&text)
    }

    fn turn_to(&mut self, open: Open) -> &'static str {
        let broken = if self.open == open { "" } else { self.break_line() };
        self.open = open;
        broken
    }

    fn line(&mut self, text: &str) -> String {
        format!("{}{text}\n", self.break_line())
    }

    fn dim(&self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.coloured && !text.is_empty() { style.paint(text).to_string() } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen_of(frames: &[FromServer], coloured: bool) -> String {
        let mut screen = Screen::new(coloured);
        frames.iter().map(|frame| screen.show(frame)).collect()
    }

    fn delta(kind: Kind, text: &str) -> FromServer {
        FromServer::Delta { run: "r".into(), kind, text: text.into() }
    }

    fn reply(text: &str) -> FromServer {
        FromServer::Reply { run: Some("r".into()), text: text.into() }
    }

    #[test]
    fn what_was_streamed_is_not_said_twice() {
        let frames = [
            delta(Kind::Reasoning, "he asks "),
            delta(Kind::Reasoning, "for a sum"),
            delta(Kind::Text, "Let me see."),
            delta(Kind::ToolStarted, "calc"),
            delta(Kind::ToolEnded, "calc"),
            delta(Kind::Text, "It is "),
            delta(Kind::Text, "5."),
            reply("It is 5."),
        ];
        insta::assert_snapshot!(screen_of(&frames, false), @r"
        he asks for a sum
        Let me see.
        · calc …
        · calc is done
        It is 5.
        ");
    }

    #[test]
    fn a_rewritten_answer_is_shown_in_full() {
        let frames = [delta(Kind::Text, "my key is 1234"), reply("my key is ****")];
        insta::assert_snapshot!(screen_of(&frames, false), @r"
        my key is 1234
        my key is ****
        ");
    }

    #[test]
    fn what_is_void_is_said_to_be() {
        let frames = [
            delta(Kind::Void, ""),
            delta(Kind::Text, "Half an ans"),
            delta(Kind::Void, ""),
            delta(Kind::Text, "A whole answer"),
            reply("A whole answer"),
        ];
        insta::assert_snapshot!(screen_of(&frames, false), @r"
        Half an ans
        (what stands above is void, the answer begins afresh)
        A whole answer
        ");
    }

    #[test]
    fn others_notices_and_errors_have_lines_of_their_own() {
        let frames = [
            FromServer::Hello { conversation: "cli:owner".into() },
            FromServer::Said { text: "hi".into(), by: "the other terminal".into() },
            delta(Kind::Text, "I was say"),
            FromServer::Notice { run: None, code: "stopped".into(), text: "you stopped it".into() },
            FromServer::Stopped { running: false },
            FromServer::Error { text: "what?".into(), id: None },
        ];
        insta::assert_snapshot!(screen_of(&frames, false), @r"
        the other terminal: hi
        I was say
        [stopped] you stopped it
        nothing was running
        what?
        ");
    }

    #[test]
    fn a_model_cannot_command_the_terminal() {
        let frames = [delta(Kind::Text, "\u{1b}[2J\u{1b}]0;pwned\u{7}"), delta(Kind::ToolStarted, "x\n\u{1b}[1A")];
        let shown = screen_of(&frames, false);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'));
        let coloured = screen_of(&frames, true);
        assert_eq!(coloured.matches("\u{1b}[").count(), 2, "our own only: {coloured:?}");
    }
}
