//! The blocks of a Markdown text: headings, paragraphs, items of lists, code, tables.

use std::ops::Range;

use pulldown_cmark::{Event, OffsetIter, Options, Parser, Tag, TagEnd};

/// The longest heading that is kept, in characters.
const LONGEST_TITLE: usize = 120;

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading of this level.
    Heading { level: u8, title: String },
    /// A paragraph, an item of a list, a quotation: sentences.
    Prose,
    /// Code or markup: lines.
    Code,
    /// A table. Its first lines, up to this byte, say what its columns are.
    Table { head: usize },
}

/// A block. Neither its first nor its last character is space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

/// Goes through the blocks of a text, in its order. Together they hold all of it but space.
pub(super) fn blocks(text: &str) -> Blocks<'_> {
    Blocks { text, events: Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter(), at: 0, next: None }
}

pub(super) struct Blocks<'a> {
    text: &'a str,
    events: OffsetIter<'a>,
    /// Up to where blocks were given.
    at: usize,
    /// One that was found behind something that is no block.
    next: Option<Block>,
}

impl Iterator for Blocks<'_> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        if let Some(block) = self.next.take() {
            return Some(block);
        }
        loop {
            let Some(block) = self.read() else {
                let rest = self.at..self.text.len();
                self.at = self.text.len();
                return self.trimmed(Kind::Prose, rest);
            };
            // What no event tells of, such as the addresses that links refer to.
            let between = self.at..block.range.start.max(self.at);
            let start = between.end;
            self.at = block.range.end.max(self.at);
            let between = self.trimmed(Kind::Prose, between);
            let block = self.trimmed(block.kind, start..self.at);
            match (between, block) {
                (Some(between), block) => {
                    self.next = block;
                    return Some(between);
                }
                (None, Some(block)) => return Some(block),
                (None, None) => {}
            }
        }
    }
}

impl Blocks<'_> {
    /// The next block as the events tell it. Lists are told item by item.
    fn read(&mut self) -> Option<Block> {
        loop {
            let (event, range) = self.events.next()?;
            return Some(match event {
                Event::Start(Tag::List(_)) | Event::End(TagEnd::List(_)) => continue,
                Event::Start(Tag::Heading { level, .. }) => {
                    let title = self.title();
                    Block { kind: Kind::Heading { level: level as u8, title }, range }
                }
                Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => self.skip(Kind::Code, range),
                Event::Start(Tag::Table(_)) => {
                    let head = self.table_head(range.start);
                    Block { kind: Kind::Table { head }, range }
                }
                Event::Start(_) => self.skip(Kind::Prose, range),
                // A rule, or what the parser leaves alone between blocks.
                _ => Block { kind: Kind::Prose, range },
            });
        }
    }

    /// Goes to the end of what began.
    fn skip(&mut self, kind: Kind, range: Range<usize>) -> Block {
        self.inside(|_, _| {});
        Block { kind, range }
    }

    /// Goes to the end of what began, and looks at all within.
    fn inside(&mut self, mut look: impl FnMut(&Event<'_>, &Range<usize>)) {
        let mut depth = 1_usize;
        for (event, range) in self.events.by_ref() {
            look(&event, &range);
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn title(&mut self) -> String {
        let mut title = String::new();
        self.inside(|event, _| match event {
            Event::Text(text) | Event::Code(text) => title.push_str(text),
            Event::SoftBreak | Event::HardBreak => title.push(' '),
            _ => {}
        });
        let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
        words.chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect()
    }

    /// The end of a table's first line and the line below it.
    fn table_head(&mut self, start: usize) -> usize {
        let mut head = start;
        self.inside(|event, range| {
            if matches!(event, Event::End(TagEnd::TableHead)) {
                head = range.end;
            }
        });
        let below = self.text.get(head..).unwrap_or_default();
        let mut lines = below.split_inclusive('\n');
        // The head's range may or may not hold its line's end.
        let mut length = 0;
        for line in lines.by_ref() {
            length += line.len();
            if !line.trim().is_empty() {
                break;
            }
        }
        head + length
    }

    /// A block without the space around it; nothing where it is all space.
    fn trimmed(&self, kind: Kind, range: Range<usize>) -> Option<Block> {
        let range = trim(self.text, range)?;
        Some(Block { kind, range })
    }
}

/// A range without the space around it; nothing where it is all space.
pub(super) fn trim(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let trimmed = part.trim();
    let before = part.len() - part.trim_start().len();
    (!trimmed.is_empty()).then(|| range.start + before..range.start + before + trimmed.len())
}
