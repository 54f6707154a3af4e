//! Answers that are sent paragraph by paragraph while they are being written.

use homeagent_sdk::DeltaContent;

use crate::ring::Ring;

/// Answers that are being written at a time.
const MOST: usize = 64;

/// A shorter beginning is not sent alone, in characters.
const SHORTEST: usize = 20;

/// The answers that are being written, by turn.
#[derive(Debug)]
pub(crate) struct Streams(Ring<Stream>);

/// One answer.
#[derive(Debug, Default)]
struct Stream {
    /// What was sent of this round's text, as it was written.
    sent: String,
    /// What was not.
    rest: String,
}

impl Default for Streams {
    fn default() -> Self {
        Self(Ring::new(MOST))
    }
}

impl Streams {
    /// Takes in a piece; what comes out are whole paragraphs to be sent, and whether they begin the answer.
    pub(crate) fn add(&mut self, run: &str, content: &DeltaContent) -> Option<(String, bool)> {
        if self.0.get(run).is_none() {
            self.0.keep(run, Stream::default());
        }
        let stream = self.0.get_mut(run)?;
        match content {
            DeltaContent::Text(text) => stream.rest.push_str(text),
            // What a round says before its tools, or what is void, is no beginning of the answer.
            DeltaContent::Void | DeltaContent::ToolStarted(_) => *stream = Stream::default(),
            _ => return None,
        }
        let end = finished(&stream.rest)?;
        let rest = stream.rest.split_off(end);
        let paragraphs = std::mem::replace(&mut stream.rest, rest);
        let is_first = stream.sent.is_empty();
        stream.sent.push_str(&paragraphs);
        Some((paragraphs, is_first))
    }

    /// Forgets what was sent of an answer: its final text is on its way, or is to be sent whole.
    pub(crate) fn forget(&mut self, run: &str) {
        if let Some(stream) = self.0.get_mut(run) {
            *stream = Stream::default();
        }
    }

    /// What of a turn's final text has not been sent, and whether that is all of it.
    pub(crate) fn rest<'a>(&self, run: &str, text: &'a str) -> (&'a str, bool) {
        let sent = self.0.get(run).map(|stream| stream.sent.trim()).filter(|sent| !sent.is_empty());
        // Where the final text is another one, it is sent whole.
        let rest = sent.and_then(|sent| text.trim_start().strip_prefix(sent));
        rest.map_or((text, true), |rest| (rest, false))
    }
}

/// Where the last whole paragraph ends that is long enough to be sent, outside of code.
fn finished(text: &str) -> Option<usize> {
    let mut end = None;
    let mut in_code = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        in_code ^= trimmed.starts_with("```");
        at += line.len();
        if trimmed.is_empty() && line.ends_with('\n') && !in_code {
            end = Some(at);
        }
    }
    end.filter(|end| text[..*end].trim().chars().count() >= SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> DeltaContent {
        DeltaContent::Text(text.to_owned())
    }

    const FIRST: &str = "第一段有足够多的字所以可以单独发送出去了。\n\n";

    #[test]
    fn whole_paragraphs_are_sent_and_then_the_rest() {
        let mut streams = Streams::default();
        assert_eq!(streams.add("r", &text(&FIRST[..FIRST.len() - 1])), None);
        assert_eq!(streams.add("r", &text("\n第二")), Some((FIRST.to_owned(), true)));
        assert_eq!(streams.add("r", &text("段。")), None);
        assert_eq!(streams.rest("r", &format!("{FIRST}第二段。")), ("\n\n第二段。", false));
        streams.forget("r");
        assert_eq!(streams.rest("r", "又一次"), ("又一次", true));
        assert_eq!(streams.rest("other", "全部"), ("全部", true));
    }

    #[test]
    fn code_is_not_cut_and_short_beginnings_wait() {
        let mut streams = Streams::default();
        assert_eq!(streams.add("r", &text("好的。\n\n")), None);
        assert_eq!(streams.add("r", &text("下面是代码，有很多很多行，请看：\n```\na\n\nb\n")), None);
        assert!(streams.add("r", &text("```\n\n")).is_some_and(|(sent, _)| sent.ends_with("```\n\n")));
    }

    #[test]
    fn a_final_text_of_its_own_is_sent_whole() {
        let mut streams = Streams::default();
        assert!(streams.add("r", &text(FIRST)).is_some());
        assert_eq!(streams.rest("r", "改过的全文"), ("改过的全文", true));
        assert!(streams.add("r", &text(FIRST)).is_some());
        assert_eq!(streams.add("r", &DeltaContent::Void), None);
        assert_eq!(streams.rest("r", FIRST), (FIRST, true));
    }
}
