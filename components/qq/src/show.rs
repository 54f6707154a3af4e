//! Answers that are sent paragraph by paragraph while they are being written.

use std::collections::BTreeMap;

use homeagent_sdk::DeltaContent;

use crate::ring::Ring;

/// Answers that are being written at a time.
const MOST: usize = 64;

/// A shorter beginning is not sent alone, in characters.
const SHORTEST: usize = 20;

/// The answers that are being written, and what becomes of their paragraphs.
#[derive(Debug)]
pub(crate) struct Streams {
    /// By turn.
    written: Ring<Stream>,
    /// Answers whose last words are on their way behind paragraphs, by the ticket of those words.
    ended: BTreeMap<u64, Shown>,
}

/// One answer.
#[derive(Debug, Default)]
struct Stream {
    /// What was sent of this round's text, as it was written.
    sent: String,
    /// What was not.
    rest: String,
    shown: Shown,
    /// A paragraph is missing: nothing more is sent before the final text.
    given_up: bool,
}

/// What became of an answer's paragraphs.
#[derive(Debug, Default)]
struct Shown {
    /// Messages that the client has confirmed.
    sent: usize,
    /// The tickets of what it has not answered.
    open: Vec<u64>,
}

/// An answer of which a paragraph was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Messages of it that were sent.
    pub(crate) sent: usize,
    /// The tickets of its other paragraphs that the client has not answered.
    pub(crate) open: Vec<u64>,
    /// The ticket of its last words, where they are on their way.
    pub(crate) last: Option<u64>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { written: Ring::new(MOST), ended: BTreeMap::new() }
    }
}

impl Stream {
    fn give_up(&mut self) -> Shown {
        std::mem::replace(self, Self { given_up: true, ..Self::default() }).shown
    }
}

impl Shown {
    /// Takes in the outcome of a paragraph: the messages that were sent of it. True: it is one of these.
    fn settle(&mut self, ticket: u64, sent: Option<usize>) -> bool {
        let Some(at) = self.open.iter().position(|open| *open == ticket) else { return false };
        self.open.remove(at);
        self.sent += sent.unwrap_or_default();
        true
    }

    fn missing(self, last: Option<u64>) -> Missing {
        Missing { sent: self.sent, open: self.open, last }
    }
}

impl Streams {
    /// Takes in a piece; what comes out are whole paragraphs to be sent, and whether they begin the answer.
    pub(crate) fn add(&mut self, run: &str, content: &DeltaContent) -> Option<(String, bool)> {
        if self.written.get(run).is_none() {
            self.written.keep(run, Stream::default());
        }
        let stream = self.written.get_mut(run)?;
        match content {
            DeltaContent::Text(_) if stream.given_up => return None,
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

    /// Paragraphs of an answer are on their way.
    pub(crate) fn posted(&mut self, run: &str, ticket: u64) {
        if let Some(stream) = self.written.get_mut(run) {
            stream.shown.open.push(ticket);
        }
    }

    /// Whether there are paragraphs of an answer that the client has not answered.
    pub(crate) fn is_open(&self, run: &str) -> bool {
        self.written.get(run).is_some_and(|stream| !stream.shown.open.is_empty())
    }

    /// The last words of an answer are on their way, behind its paragraphs.
    pub(crate) fn end(&mut self, run: &str, ticket: u64) {
        let stream = self.written.get_mut(run).map(std::mem::take);
        if let Some(stream) = stream.filter(|stream| !stream.shown.open.is_empty()) {
            self.ended.insert(ticket, stream.shown);
        }
    }

    /// Takes in what became of anything that was on its way: how many messages were sent, or nothing where it failed.
    /// What comes out is the answer that is not whole for it; of one whose last words are still to come, those will be
    /// its whole text.
    pub(crate) fn settle(&mut self, ticket: u64, sent: Option<usize>) -> Option<Missing> {
        self.ended.remove(&ticket);
        if let Some(stream) = self.written.values_mut().find_map(|it| it.shown.settle(ticket, sent).then_some(it)) {
            return sent.is_none().then(|| stream.give_up().missing(None));
        }
        let last = self.ended.iter_mut().find_map(|(last, shown)| shown.settle(ticket, sent).then_some(*last))?;
        if sent.is_some() {
            return None;
        }
        self.ended.remove(&last).map(|shown| shown.missing(Some(last)))
    }

    /// A paragraph could not even be posted: the final text brings all of them.
    pub(crate) fn give_up(&mut self, run: &str) -> Option<Missing> {
        self.written.get_mut(run).map(|stream| stream.give_up().missing(None))
    }

    /// Forgets what was sent of an answer: its final text goes whole.
    pub(crate) fn forget(&mut self, run: &str) {
        if let Some(stream) = self.written.get_mut(run) {
            *stream = Stream::default();
        }
    }

    /// What of a turn's final text has not been sent, and whether that is all of it.
    pub(crate) fn rest<'a>(&self, run: &str, text: &'a str) -> (&'a str, bool) {
        let sent = self.written.get(run).map(|stream| stream.sent.trim()).filter(|sent| !sent.is_empty());
        // Where the final text is another one, it is sent whole.
        let rest = sent.and_then(|sent| text.trim_start().strip_prefix(sent));
        rest.map_or((text, true), |rest| (rest, false))
    }
}

/// Where the last whole paragraph ends that is long enough to be sent, outside of code and before any medium: in the final
/// text a medium is no longer written out, but sent.
fn finished(text: &str) -> Option<usize> {
    let text = text.find("](media:").map_or(text, |at| &text[..text[..at].rfind('[').unwrap_or(at)]);
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
    fn nothing_is_sent_from_a_medium_on() {
        let mut streams = Streams::default();
        let sent = streams.add("r", &text(&format!("{FIRST}看：![一只猫](media:2cf24dba5fb0a30e)\n\n还有别的。\n\n")));
        assert_eq!(sent, Some((FIRST.to_owned(), true)));
        assert_eq!(streams.add("r", &text("再来一段，也有足够多的字可以单独发送出去。\n\n")), None);
        let text = format!("{FIRST}看：一只猫\n\n还有别的。");
        assert_eq!(streams.rest("r", &text), ("\n\n看：一只猫\n\n还有别的。", false));
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
