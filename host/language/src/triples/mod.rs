//! What a text states, as triples of subject, predicate and object, each with the sentence it stands in: the sentence is
//! parsed, triples are read off its tree, those that say nothing certain are dropped, and equal ones are counted as one.

mod extract;
mod fuse;
mod verify;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use extract::extract;
pub use fuse::{Fused, fuse};
pub use verify::{Doubt, doubt};

use crate::parse::{Language, Parser};
use crate::text;

/// One statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Triple {
    /// Of whom or what; `我` or `I` is whoever speaks.
    pub subject: String,
    /// What relates them, as it is written, with its preposition: `lives in`.
    pub predicate: String,
    /// To whom or what.
    pub object: String,
    /// That it is denied.
    pub negated: bool,
    /// That it is told of the past.
    pub past: bool,
    /// That it may, should or would be rather than is.
    pub modal: bool,
    /// That the subject is whoever speaks, or has a name.
    pub named: bool,
    /// That somebody in the text says it, rather than the text.
    pub reported: bool,
    /// The sentence it stands in: bytes of the text.
    pub span: Range<usize>,
}

/// How long a sentence may be, in characters; longer ones are tables and logs.
const LONGEST: usize = 500;

/// The statements of a text: parsed, extracted, verified and fused. Sentences that can't be parsed state nothing. Works on
/// the processor and belongs on a thread where that is allowed.
#[must_use]
pub fn triples(text: &str, parser: &dyn Parser) -> Vec<Fused> {
    let found = text::sentences(text).into_iter().flat_map(|sentence| {
        let start = (sentence.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let found = of_sentence(sentence, parser);
        found.into_iter().filter(|triple| doubt(triple, sentence).is_none()).map(move |mut triple| {
            triple.span = start..start + sentence.len();
            triple
        })
    });
    fuse(found)
}

/// What can be read off one sentence, verified or not.
#[must_use]
pub fn of_sentence(sentence: &str, parser: &dyn Parser) -> Vec<Triple> {
    if sentence.chars().nth(LONGEST).is_some() {
        return Vec::new();
    }
    parser.parse(sentence, Language::of(sentence)).map(|parsed| extract(&parsed, sentence)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
