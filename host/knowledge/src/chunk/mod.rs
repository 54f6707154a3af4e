//! Text cut into chunks: what is found, and what a vector is made of.
//!
//! A chunk never reaches over a heading, keeps the headings above it, and is of a size that says one thing: about 400
//! Chinese characters or 800 Latin ones. Code and tables stay whole where they fit, paragraphs and items of lists too;
//! what is longer is cut between sentences or lines, and in the end between characters.
//!
//! Where chunks end depends on the text around that place alone, not on how much stands before it (content-defined
//! chunking): what is put in at the beginning of a long text changes a few chunks and leaves the rest as they were, with
//! their vectors.

mod blocks;
mod pack;

use std::ops::Range;
use std::sync::Arc;

/// How large chunks are, in columns: a Chinese character takes two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// What is aimed at.
    pub(crate) target: usize,
    /// What none exceeds.
    pub(crate) cap: usize,
}

impl Sizes {
    pub(crate) const USUAL: Self = Self { target: 800, cap: 1200 };
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Its bytes. Two chunks of one paragraph may have a sentence in common.
    pub(crate) range: Range<usize>,
    /// Its first and last line, from 1.
    pub(crate) lines: (u32, u32),
    /// The headings above it, the outermost first.
    pub(crate) headings: Arc<[String]>,
    /// The lines at the head of the table that it was cut from.
    pub(crate) lead: Option<Range<usize>>,
}

/// A heading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// 1 to 6.
    pub(crate) level: u8,
    pub(crate) title: String,
    /// The bytes of its own line or lines.
    pub(crate) range: Range<usize>,
}

/// The chunks of a Markdown text, in its order. Each character that shows something is in one of them.
pub(crate) fn chunks(text: &str, sizes: Sizes) -> Vec<Chunk> {
    let mut chunks = pack::pack(text, blocks::blocks(text), sizes);
    let mut lines = Lines::of(text);
    for chunk in &mut chunks {
        chunk.lines = lines.of_range(&chunk.range);
    }
    chunks
}

/// The headings of a Markdown text, in its order.
pub(crate) fn headings(text: &str) -> Vec<Heading> {
    let of_block = |block: blocks::Block| match block.kind {
        blocks::Kind::Heading { level, title } => Some(Heading { level, title, range: block.range }),
        _ => None,
    };
    blocks::blocks(text).filter_map(of_block).collect()
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(column).sum()
}

fn column(c: char) -> usize {
    // From the radicals of Chinese on: Han, Kana, Hangul, full-width forms, emoji.
    if c >= '\u{2e80}' { 2 } else { 1 }
}

/// Counts lines while going through a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line, from 1, that a byte is in.
    pub(crate) fn of_byte(&mut self, at: usize) -> u32 {
        if at < self.at {
            // A sentence that two chunks have in common.
            let back = self.text.get(at..self.at).unwrap_or_default();
            self.line = self.line.saturating_sub(breaks(back));
        } else {
            self.line = self.line.saturating_add(breaks(self.text.get(self.at..at).unwrap_or_default()));
        }
        self.at = at;
        self.line
    }

    fn of_range(&mut self, range: &Range<usize>) -> (u32, u32) {
        let first = self.of_byte(range.start);
        let inside = breaks(self.text.get(range.clone()).unwrap_or_default());
        (first, first.saturating_add(inside))
    }
}

fn breaks(text: &str) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', text.as_bytes()).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
