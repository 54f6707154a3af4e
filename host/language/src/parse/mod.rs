//! Sentences as trees: words with their parts of speech, and what each belongs to. The names are those of Universal
//! Dependencies, so that a parser with a model can take the place of the one by rules.

mod attach;
mod chinese;
mod english;
mod words;

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A language that can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Chinese, in simplified or traditional characters.
    Chinese,
    /// English, and whatever else is not Chinese.
    English,
}

impl Language {
    /// The language of a sentence: Chinese when a third of its letters are Han, as one character is about a word.
    #[must_use]
    pub fn of(sentence: &str) -> Self {
        let (mut han, mut letters) = (0_usize, 0_usize);
        for c in sentence.chars().filter(|c| c.is_alphabetic()) {
            letters += 1;
            han += usize::from(matches!(c, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}'));
        }
        if han > 0 && han * 3 >= letters { Self::Chinese } else { Self::English }
    }
}

/// Parts of speech, as Universal Dependencies has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum Upos {
    Adj,
    Adp,
    Adv,
    Aux,
    Cconj,
    Det,
    Intj,
    Noun,
    Num,
    Part,
    Pron,
    Propn,
    Punct,
    Sconj,
    Sym,
    Verb,
    X,
}

impl Upos {
    /// Whether it names somebody or something.
    #[must_use]
    pub fn is_nominal(self) -> bool {
        matches!(self, Self::Noun | Self::Propn | Self::Pron | Self::Num)
    }
}

/// A word in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Where it stands: bytes of the sentence.
    pub span: Range<usize>,
    /// The word as it is written.
    pub text: String,
    /// Its part of speech.
    pub upos: Upos,
    /// The word it belongs to; none for the root.
    pub head: Option<usize>,
    /// What it is to that word: `nsubj`, `obj`, `obl`, `root` ...
    pub deprel: String,
}

/// A sentence as a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parsed {
    /// The language it was read in.
    pub language: Language,
    /// Its words, in their order.
    pub tokens: Vec<Token>,
}

/// Why a sentence could not be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Longer than a parser takes.
    #[error("the sentence has {words} words, and at most {most} can be parsed")]
    TooLong {
        /// How many it has.
        words: usize,
        /// How many are taken.
        most: usize,
    },
    /// A model did not answer.
    #[error("the parser's model failed: {0}")]
    Model(String),
}

/// What makes trees of sentences. A call works on the processor and belongs on a thread where that is allowed.
pub trait Parser: Send + Sync {
    /// Parses one sentence.
    ///
    /// # Errors
    ///
    /// [`ParseError`] where there is no tree.
    fn parse(&self, sentence: &str, language: Language) -> Result<Parsed, ParseError>;
}

/// How many words a sentence may have for the rules.
const MOST_WORDS: usize = 200;

/// The parser by rules: parts of speech from jieba's dictionary or a small English lexicon, then groups of words and the
/// order in which they stand. It knows plain statements well, and little of what is nested deeper.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleParser;

impl Parser for RuleParser {
    fn parse(&self, sentence: &str, language: Language) -> Result<Parsed, ParseError> {
        let tagged = match language {
            Language::Chinese => chinese::tag(sentence),
            Language::English => english::tag(sentence),
        };
        if tagged.len() > MOST_WORDS {
            return Err(ParseError::TooLong { words: tagged.len(), most: MOST_WORDS });
        }
        Ok(Parsed { language, tokens: attach::tree(language, tagged) })
    }
}

/// A word before it belongs anywhere.
#[derive(Clone, Debug)]
struct Tagged {
    span: Range<usize>,
    text: String,
    upos: Upos,
}

#[cfg(test)]
mod tests;
