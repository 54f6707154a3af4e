//! The table of word vectors: one file, mapped into memory, all numbers little-endian.
//!
//! | at | what |
//! |---|---|
//! | 0 | `HOMEVEC1` |
//! | 8 | dimensions, u32 |
//! | 12 | 1 where the words stand in the order of their frequency, u32 |
//! | 16 | number of words, u64 |
//! | 24 | size of the file it was made of, u64 |
//! | 32 | when that was last changed, in milliseconds since 1970, u64 |
//! | 40 | SHA-256 of bytes 0 to 39 and of the index |
//! | 72 | a row for each word, in the order of the file: `dimensions` times an i8 |
//! | after | the index, sorted by the first field: hash of the word u64, row u32, check u32, scale f32, each word |
//!
//! A word's vector is its row times its scale. The check is of the row's bytes, so that a damaged row is noticed when it
//! is looked up, without reading the whole file first.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use sha2::{Digest as _, Sha256};

use super::super::EmbedError;
use super::super::hash::stable_hash;
use super::convert::Origin;

pub(super) const MAGIC: &[u8; 8] = b"HOMEVEC1";
/// Where the rows begin.
pub(super) const HEADER: usize = 72;
/// What of the header goes into the digest.
pub(super) const DIGESTED: usize = 40;
/// What of the header says something of the vectors, not of the file they came from.
const CONTENT: usize = 24;
/// The size of an entry of the index.
pub(super) const ENTRY: usize = 20;

/// A table, open.
pub(super) struct Table {
    map: Mmap,
    dimensions: usize,
    count: usize,
    by_frequency: bool,
    origin: Origin,
    digest: String,
}

/// A word in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    row: usize,
    check: u32,
    scale: f32,
}

/// A row is not what was written.
#[derive(Debug)]
pub(super) struct Damaged;

impl Table {
    /// Opens a table and checks all but its rows.
    pub(super) fn open(path: &Path) -> Result<Self, EmbedError> {
        let name = path.display();
        let file = File::open(path).map_err(|error| EmbedError(format!("{name} can't be opened: {error}.")))?;
        let map = map(&file).map_err(|error| EmbedError(format!("{name} can't be mapped: {error}.")))?;
        Self::read(map).ok_or_else(|| EmbedError(format!("{name} is damaged, or no table of word vectors.")))
    }

    fn read(map: Mmap) -> Option<Self> {
        let header = map.get(..HEADER)?;
        let number = |at: usize| header[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let small = |at: usize| header[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if header[..8] != MAGIC[..] {
            return None;
        }
        let dimensions = usize::try_from(small(8)?).ok()?;
        let count = usize::try_from(number(16)?).ok()?;
        let size = count.checked_mul(dimensions.checked_add(ENTRY)?)?.checked_add(HEADER)?;
        if dimensions == 0 || count == 0 || map.len() != size {
            return None;
        }
        let index = &map[HEADER + count * dimensions..];
        let sum_from = |header: &[u8]| Sha256::new().chain_update(header).chain_update(index).finalize();
        if sum_from(&header[..DIGESTED])[..] != header[DIGESTED..] {
            return None;
        }
        let origin = Origin { bytes: number(24)?, modified_ms: number(32)? };
        let digest = sum_from(&header[..CONTENT]).iter().map(|byte| format!("{byte:02x}")).collect();
        let by_frequency = small(12)? == 1;
        Some(Self { dimensions, count, by_frequency, origin, digest, map })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// The SHA-256 of its vectors' index, checks of the vectors included, in hexadecimal digits.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Looks a word up.
    pub(super) fn find(&self, word: &str) -> Option<Word> {
        let hash = stable_hash(word.as_bytes());
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.entry(middle)?;
            let found = u64::from_le_bytes(*entry.first_chunk()?);
            match found.cmp(&hash) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let four = |at: usize| entry[at..].first_chunk::<4>().copied();
                    let row = usize::try_from(u32::from_le_bytes(four(8)?)).ok()?;
                    return (row < self.count).then_some(Word {
                        row,
                        check: u32::from_le_bytes(four(12)?),
                        scale: f32::from_le_bytes(four(16)?),
                    });
                }
            }
        }
        None
    }

    fn entry(&self, at: usize) -> Option<&[u8]> {
        let start = HEADER + self.count * self.dimensions + at * ENTRY;
        self.map.get(start..start + ENTRY)
    }

    /// Adds a word's vector, so many times, to a sum.
    pub(super) fn add(&self, word: Word, weight: f32, sum: &mut [f32]) -> Result<(), Damaged> {
        let start = HEADER + word.row * self.dimensions;
        let row = self.map.get(start..start + self.dimensions).ok_or(Damaged)?;
        if check(row) != word.check {
            return Err(Damaged);
        }
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += f32::from(value.cast_signed()) * word.scale * weight;
        }
        Ok(())
    }

    /// How rare a word is, between 0 and 1, by its place in the order of frequencies; 1 where they are not known.
    ///
    /// `a / (a + p)` with a = 0.001, after Arora, Liang and Ma, "A simple but tough-to-beat baseline for sentence
    /// embeddings" (2017); `p` by Zipf's law.
    pub(super) fn rarity(&self, word: Word) -> f32 {
        if !self.by_frequency {
            return 1.0;
        }
        let share = 1.0 / ((word.row + 1) as f32 * (self.count as f32 + 1.0).ln());
        0.001 / (0.001 + share)
    }
}

/// The check of a row.
pub(super) fn check(row: &[u8]) -> u32 {
    (stable_hash(row) >> 32) as u32
}

#[allow(
    unsafe_code,
    reason = "the file is only ever replaced by another one under its name, never changed in its place"
)]
fn map(file: &File) -> std::io::Result<Mmap> {
    unsafe { Mmap::map(file) }
}
