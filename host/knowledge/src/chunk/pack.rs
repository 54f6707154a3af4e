//! Blocks put together to chunks.

use std::ops::Range;
use std::sync::Arc;

use homeagent_language::text::sentences;
use unicode_segmentation::UnicodeSegmentation as _;

use super::blocks::{Block, Kind, trim};
use super::{Chunk, Sizes, column, columns};

/// How many headings above a chunk are kept. Markdown has no more levels.
const LEVELS: usize = 6;

/// Something that is not cut.
#[derive(Clone)]
struct Atom {
    range: Range<usize>,
    columns: usize,
    /// The number of the block that it is of, or a part of.
    block: usize,
    /// It is one sentence of several.
    is_sentence: bool,
    is_heading: bool,
    /// It stays whole even where its chunk becomes larger than usual.
    is_stiff: bool,
    lead: Option<Range<usize>>,
}

pub(super) fn pack(text: &str, blocks: impl Iterator<Item = Block>, sizes: Sizes) -> Vec<Chunk> {
    let mut packer = Packer {
        text,
        sizes,
        chunks: Vec::new(),
        above: Vec::new(),
        headings: Arc::from([]),
        held: Vec::new(),
        columns: 0,
        common: None,
    };
    for (number, block) in blocks.enumerate() {
        if let Kind::Heading { level, title } = &block.kind {
            packer.turn_to(*level, title);
        }
        for atom in atoms(text, &block, number, sizes) {
            packer.add(atom);
        }
    }
    packer.cut();
    packer.chunks
}

struct Packer<'a> {
    text: &'a str,
    sizes: Sizes,
    chunks: Vec<Chunk>,
    /// The headings above this place, with their levels.
    above: Vec<(u8, String)>,
    headings: Arc<[String]>,
    /// What the next chunk is made of.
    held: Vec<Atom>,
    columns: usize,
    /// The last sentence of the chunk before, which the next one begins with where it goes on in the same paragraph.
    common: Option<Atom>,
}

impl Packer<'_> {
    /// Goes on below a heading. Headings without a text between them share a chunk with what follows.
    fn turn_to(&mut self, level: u8, title: &str) {
        if self.held.iter().any(|atom| !atom.is_heading) {
            self.cut();
        }
        self.common = None;
        self.above.retain(|(other, _)| *other < level);
        self.above.push((level, title.to_owned()));
        let titles = self.above.iter().map(|(_, title)| title.clone()).filter(|title| !title.is_empty());
        self.headings = titles.take(LEVELS).collect();
    }

    fn add(&mut self, atom: Atom) {
        let most = if atom.is_stiff { self.sizes.cap } else { self.sizes.target };
        let has_other_head = |last: &Atom| last.block != atom.block && (last.lead.is_some() || atom.lead.is_some());
        let of_another_table = self.held.last().is_some_and(has_other_head);
        if !self.held.is_empty() && (self.columns + self.gap(&atom) + atom.columns > most || of_another_table) {
            self.cut();
        }
        if let Some(common) = self.common.take()
            && self.held.is_empty()
            && common.block == atom.block
        {
            self.hold(common);
            if self.columns + self.gap(&atom) + atom.columns > self.sizes.target {
                self.held.clear();
                self.columns = 0;
            }
        }
        let ends_here = ends_chunks(self.text.get(atom.range.clone()).unwrap_or_default());
        let is_heading = atom.is_heading;
        self.hold(atom);
        // A place where a chunk ends whatever stood before: see the module above.
        if self.columns >= self.sizes.target / 2 && ends_here && !is_heading {
            self.cut();
        }
    }

    fn hold(&mut self, atom: Atom) {
        self.columns += self.gap(&atom) + atom.columns;
        self.held.push(atom);
    }

    /// The columns between what is held and an atom.
    fn gap(&self, atom: &Atom) -> usize {
        let between = self.held.last().and_then(|last| self.text.get(last.range.end..atom.range.start));
        columns(between.unwrap_or_default())
    }

    fn cut(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.columns = 0;
        let (Some(first), Some(last)) = (held.first(), held.last()) else { return };
        self.chunks.push(Chunk {
            range: first.range.start..last.range.end,
            lines: (0, 0),
            headings: Arc::clone(&self.headings),
            lead: first.lead.clone(),
        });
        let is_short = last.columns <= self.sizes.target / 5;
        self.common = (last.is_sentence && is_short && held.len() > 1).then(|| last.clone());
    }
}

/// Whether a text is one of every four behind which a chunk ends as soon as it is large enough.
fn ends_chunks(text: &str) -> bool {
    // FNV-1a: only that it is the same for the same text.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash >> 32) & 3 == 0
}

/// The parts of a block that are not cut.
fn atoms(text: &str, block: &Block, number: usize, sizes: Sizes) -> Vec<Atom> {
    let part = text.get(block.range.clone()).unwrap_or_default();
    let is_stiff = matches!(block.kind, Kind::Code | Kind::Table { .. });
    let whole = Atom {
        range: block.range.clone(),
        columns: columns(part),
        block: number,
        is_sentence: false,
        is_heading: matches!(block.kind, Kind::Heading { .. }),
        is_stiff,
        lead: None,
    };
    let most = if is_stiff { sizes.cap } else { sizes.target };
    if whole.columns <= most {
        return vec![whole];
    }
    let (starts, lead): (Vec<usize>, _) = match block.kind {
        Kind::Code => (line_starts(part), None),
        Kind::Table { head } => (line_starts(part), usable_lead(text, block.range.start..head, sizes)),
        _ => (sentence_starts(part), None),
    };
    let ends = starts.iter().skip(1).copied().chain([part.len()]);
    let pieces = starts.iter().zip(ends).map(|(start, end)| block.range.start + start..block.range.start + end);
    let pieces = pieces.filter_map(|piece| trim(text, piece));
    let pieces = pieces.flat_map(|piece| fitting(text, piece, sizes));
    pieces
        .map(|range| Atom {
            columns: columns(text.get(range.clone()).unwrap_or_default()),
            // What stands in the head itself needs no head.
            lead: lead.clone().filter(|lead| range.start >= lead.end),
            range,
            is_sentence: !is_stiff,
            is_stiff: false,
            ..whole.clone()
        })
        .collect()
}

/// The head of a table, where it is short enough to stand before each of its parts.
fn usable_lead(text: &str, head: Range<usize>, sizes: Sizes) -> Option<Range<usize>> {
    let head = trim(text, head)?;
    (columns(text.get(head.clone())?) <= sizes.target / 3).then_some(head)
}

fn line_starts(text: &str) -> Vec<usize> {
    let after = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    std::iter::once(0).chain(after).filter(|start| *start < text.len()).collect()
}

/// Where sentences begin; what stands before the first belongs to it.
fn sentence_starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    // Each is a part of the text, so where it lies says where it begins.
    let offset = |sentence: &str| (sentence.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    starts.extend(sentences(text).into_iter().skip(1).map(offset));
    starts.retain(|start| text.is_char_boundary(*start));
    starts
}

/// Pieces of a range, each within the cap: cut behind the last space or mark of the last quarter, else between characters.
fn fitting(text: &str, range: Range<usize>, sizes: Sizes) -> Vec<Range<usize>> {
    let part = text.get(range.clone()).unwrap_or_default();
    if columns(part) <= sizes.cap {
        return vec![range];
    }
    let most = sizes.target;
    let (mut pieces, mut start, mut taken, mut good) = (Vec::new(), 0, 0, None);
    for (at, cluster) in part.grapheme_indices(true) {
        // A cluster can be as long as one likes; such a one is cut, too.
        for (inner, c) in cluster.char_indices() {
            let (at, is_first) = (at + inner, inner == 0);
            if taken + column(c) > most && (is_first || taken + column(c) > sizes.cap) {
                let end = good.take().filter(|_| is_first).unwrap_or(at);
                pieces.push(range.start + start..range.start + end);
                start = end;
                taken = columns(part.get(start..at).unwrap_or_default());
            }
            taken += column(c);
            if taken > most / 4 * 3 && !c.is_alphanumeric() && inner + c.len_utf8() == cluster.len() {
                good = Some(at + c.len_utf8());
            }
        }
    }
    pieces.push(range.start + start..range.end);
    pieces.into_iter().filter_map(|piece| trim(text, piece)).collect()
}
