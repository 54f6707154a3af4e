//! From the vectors of words to that of a text.

use std::fs;
use std::path::PathBuf;

use super::super::EmbedError;
use super::super::session::{Session, normalise};
use super::table::{Damaged, Table, Word};
use crate::text::{is_stop_word, words};

/// How many words a phrase of the table has at the most.
const PHRASE: usize = 3;
/// How much a word counts that any text may hold, where frequencies are not known.
const COMMON: f32 = 0.15;
/// The shortest beginning of a word by which an unknown one is known.
const BEGINNING: usize = 4;

/// Makes vectors of texts by a table.
pub(super) struct WordSession {
    table: Table,
    /// The table's file, where it can be made anew.
    file: Option<PathBuf>,
    damaged: bool,
}

impl WordSession {
    pub(super) fn new(table: Table, file: Option<PathBuf>) -> Self {
        Self { table, file, damaged: false }
    }

    /// The mean of a text's words, each weighted by its rarity; zeros where none is known.
    fn vector(&self, text: &str) -> Result<Vec<f32>, Damaged> {
        let words = words(text);
        let mut sum = vec![0.0; self.table.dimensions()];
        let mut at = 0;
        while at < words.len() {
            let (taken, found) = self.longest(&words[at..]);
            match found {
                Some(word) => {
                    let weight = if taken == 1 { self.weight(&words[at], word) } else { self.table.rarity(word) };
                    self.table.add(word, weight, &mut sum)?;
                }
                None => {
                    let parts = self.parts(&words[at]);
                    let share = 1.0 / parts.len().max(1) as f32;
                    for part in parts {
                        self.table.add(part, share * self.table.rarity(part), &mut sum)?;
                    }
                }
            }
            at += taken;
        }
        normalise(&mut sum);
        Ok(sum)
    }

    fn weight(&self, word: &str, found: Word) -> f32 {
        let common = if is_stop_word(word) { COMMON } else { 1.0 };
        self.table.rarity(found).min(common)
    }

    /// The longest phrase of the table that the words begin with: how many words it has, and where it is.
    fn longest(&self, words: &[String]) -> (usize, Option<Word>) {
        for taken in (1..=words.len().min(PHRASE)).rev() {
            let phrase = &words[..taken];
            let found = self.table.find(&phrase.join(" ")).or_else(|| {
                let together = taken > 1 && phrase.iter().all(|word| !word.is_ascii());
                together.then(|| self.table.find(&phrase.concat())).flatten()
            });
            if found.is_some() {
                return (taken, found);
            }
        }
        (1, None)
    }

    /// What an unknown word is made of: for Latin letters a beginning of it, for others the longest known pieces, down to
    /// single characters.
    fn parts(&self, word: &str) -> Vec<Word> {
        let ends: Vec<usize> = word.char_indices().map(|(at, character)| at + character.len_utf8()).collect();
        if word.is_ascii() {
            let beginnings = ends.iter().rev().skip(1).take_while(|end| **end >= BEGINNING && **end * 2 >= word.len());
            return beginnings.filter_map(|end| self.table.find(&word[..*end])).take(1).collect();
        }
        let mut found = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let further = ends.iter().rev().take_while(|end| **end > start);
            let piece = further.filter_map(|end| Some((*end, self.table.find(&word[start..*end])?))).next();
            let next = ends.iter().find(|end| **end > start).copied().unwrap_or(word.len());
            start = piece.map_or(next, |(end, _)| end);
            found.extend(piece.map(|(_, word)| word));
        }
        found
    }
}

impl Session for WordSession {
    fn encode(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors: Result<Vec<_>, Damaged> =
            if self.damaged { Err(Damaged) } else { texts.iter().map(|text| self.vector(text)).collect() };
        vectors.map_err(|Damaged| {
            self.damaged = true;
            // Whoever opens it next makes it anew.
            if let Some(file) = self.file.take() {
                let _ = fs::remove_file(file);
            }
            EmbedError("The table of word vectors is damaged.".to_owned())
        })
    }
}
