//! From text formats to the table.
//!
//! fastText: a first line `words dimensions`, then a line a word: the word and its numbers, separated by blanks, the most
//! frequent first. Numberbatch: the same, in the order of the alphabet; words are `/c/en/new_york` in the file of all
//! languages and `new_york` in that of one.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::super::EmbedError;
use super::super::hash::stable_hash;
use super::table::{DIGESTED, ENTRY, HEADER, MAGIC, check};
use crate::text::fold;

/// The longest line; a longer one is no vector.
const LINE: u64 = 1 << 20;
/// The most dimensions.
const DIMENSIONS: usize = 4_096;
/// By so many words is seen in which order they stand.
const SAMPLE: usize = 1_000;
/// The languages that are taken from a file of many.
const LANGUAGES: [&str; 2] = ["zh", "en"];

/// Which file a table was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) bytes: u64,
    pub(super) modified_ms: u64,
}

impl Origin {
    pub(super) fn of(path: &Path) -> Result<Self, EmbedError> {
        let looked = fs::metadata(path).and_then(|found| Ok((found.len(), found.modified()?)));
        let (bytes, modified) = looked.map_err(|error| failed(path, &error))?;
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self { bytes, modified_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX) })
    }
}

/// Makes the table of a file. It is written beside its place and put there whole.
pub(super) fn convert(text: &Path, origin: Origin, table: &Path) -> Result<(), EmbedError> {
    let file = File::open(text).map_err(|error| failed(text, &error))?;
    let packed = text.extension().is_some_and(|ending| ending == "gz");
    let reader: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let partial = table.with_extension("partial");
    let made = Writer::create(&partial).map_err(|error| failed(&partial, &error)).and_then(|mut writer| {
        read(BufReader::with_capacity(1 << 18, reader), text, &mut writer)?;
        if writer.entries.is_empty() {
            return Err(EmbedError(format!("{} holds no vector of a Chinese or English word.", text.display())));
        }
        writer.finish(origin).map_err(|error| failed(&partial, &error))
    });
    let placed = made.and_then(|()| place(&partial, table).map_err(|error| failed(table, &error)));
    if placed.is_err() {
        // It is of no use, and large.
        let _ = fs::remove_file(&partial);
    }
    placed
}

fn place(partial: &Path, table: &Path) -> io::Result<()> {
    fs::rename(partial, table)?;
    match table.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn failed(path: &Path, error: &io::Error) -> EmbedError {
    EmbedError(format!("{}: {error}.", path.display()))
}

fn read(mut reader: impl BufRead, text: &Path, writer: &mut Writer) -> Result<(), EmbedError> {
    let mut line = Vec::new();
    let mut vector = Vec::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    loop {
        line.clear();
        let read = reader.by_ref().take(LINE).read_until(b'\n', &mut line).map_err(|error| failed(text, &error))?;
        if read == 0 {
            break;
        }
        number += 1;
        // Some words of the published files are cut within a character; their vectors are of no use.
        let whole = std::str::from_utf8(&line).ok().map(str::trim_end).filter(|line| !line.is_empty());
        if number == 1 && whole.is_some_and(is_head) {
            continue;
        }
        match whole.and_then(|line| parse(line, writer.dimensions, &mut vector)) {
            Some(word) => writer.put(word, &vector).map_err(|error| failed(text, &error))?,
            None => bad += 1,
        }
        if bad > 100 && bad > number / 100 {
            let message = format!("{}, line {number}: this is no word with its vector.", text.display());
            return Err(EmbedError(message));
        }
    }
    if bad > 0 {
        tracing::warn!(file = %text.display(), lines = bad, "lines that hold no vector were passed over");
    }
    Ok(())
}

/// The first line of most files: how many words, and how many dimensions.
fn is_head(line: &str) -> bool {
    let mut parts = line.split_ascii_whitespace();
    let numbers = parts.by_ref().take(2).filter(|part| part.parse::<u64>().is_ok()).count();
    numbers == 2 && parts.next().is_none()
}

/// The word of a line, its numbers put into `vector`; a word may hold blanks, so the numbers are counted from the end.
fn parse<'a>(line: &'a str, dimensions: Option<usize>, vector: &mut Vec<f32>) -> Option<&'a str> {
    let dimensions = dimensions.unwrap_or_else(|| line.split(' ').count() - 1);
    vector.clear();
    let mut rest = line;
    for _ in 0..dimensions {
        let (before, number) = rest.rsplit_once(' ')?;
        vector.push(number.parse().ok().filter(|number: &f32| number.is_finite())?);
        rest = before;
    }
    vector.reverse();
    ((1..=DIMENSIONS).contains(&dimensions) && !rest.trim().is_empty()).then_some(rest)
}

/// A word as it is looked up; none where it is of another language.
fn key(word: &str) -> Option<String> {
    let word = match word.strip_prefix("/c/") {
        Some(concept) => {
            let mut parts = concept.split('/');
            let language = parts.next()?;
            LANGUAGES.contains(&language).then_some(())?;
            parts.next()?
        }
        None => word,
    };
    let folded = fold(&word.replace('_', " "));
    let folded = folded.trim();
    (!folded.is_empty()).then(|| folded.to_owned())
}

/// Writes rows as they come and the index at the end.
struct Writer {
    file: BufWriter<File>,
    dimensions: Option<usize>,
    entries: Vec<(u64, u32, u32, f32)>,
    known: HashSet<u64>,
    /// The last of the first words, while they stand in the order of the alphabet.
    sorted: Option<String>,
    by_frequency: bool,
}

impl Writer {
    fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        file.write_all(&[0; HEADER])?;
        let sorted = Some(String::new());
        Ok(Self { file, dimensions: None, entries: Vec::new(), known: HashSet::new(), sorted, by_frequency: false })
    }

    fn put(&mut self, word: &str, vector: &[f32]) -> io::Result<()> {
        self.dimensions = Some(vector.len());
        self.look_at_the_order(word);
        let Some(word) = key(word) else { return Ok(()) };
        let hash = stable_hash(word.as_bytes());
        let Ok(row) = u32::try_from(self.entries.len()) else {
            return Err(io::Error::other("there are more words than a table holds"));
        };
        // The first of several spellings is the most frequent one.
        if !self.known.insert(hash) {
            return Ok(());
        }
        let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        let bytes: Vec<u8> = vector.iter().map(|value| ((value / scale).round() as i8).cast_unsigned()).collect();
        self.entries.push((hash, row, check(&bytes), scale));
        self.file.write_all(&bytes)
    }

    /// Words in the order of the alphabet tell nothing of their frequency.
    fn look_at_the_order(&mut self, word: &str) {
        if let Some(last) = self.sorted.take_if(|_| self.entries.len() < SAMPLE) {
            if last.as_str() <= word {
                self.sorted = Some(word.to_owned());
            } else {
                self.by_frequency = true;
            }
        }
    }

    fn finish(mut self, origin: Origin) -> io::Result<()> {
        self.entries.sort_unstable_by_key(|(hash, ..)| *hash);
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&u32::try_from(self.dimensions.unwrap_or(0)).map_err(io::Error::other)?.to_le_bytes());
        header.extend_from_slice(&u32::from(self.by_frequency).to_le_bytes());
        header.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        header.extend_from_slice(&origin.bytes.to_le_bytes());
        header.extend_from_slice(&origin.modified_ms.to_le_bytes());
        debug_assert_eq!(header.len(), DIGESTED);
        let mut sum = Sha256::new();
        sum.update(&header);
        for (hash, row, check, scale) in &self.entries {
            let mut entry = [0; ENTRY];
            entry[..8].copy_from_slice(&hash.to_le_bytes());
            entry[8..12].copy_from_slice(&row.to_le_bytes());
            entry[12..16].copy_from_slice(&check.to_le_bytes());
            entry[16..].copy_from_slice(&scale.to_le_bytes());
            sum.update(entry);
            self.file.write_all(&entry)?;
        }
        header.extend_from_slice(&sum.finalize());
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}
