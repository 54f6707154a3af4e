//! What the full-text index is fed with.

use std::collections::HashMap;

use homeagent_language::text::index_terms;

use super::Passage;

/// Ends the mark of a term that a passage holds more than once. Folding leaves no such character in a term.
const REPEATED: char = '²';

/// A passage's terms.
pub(super) struct Fed {
    /// Each term once, with whether it is there more than once.
    pub(super) terms: Vec<(String, bool)>,
    /// How many there are in all.
    pub(super) length: u16,
}

impl Fed {
    pub(super) fn of(speaker: &str, text: &str) -> Self {
        let all = index_terms(&Passage::searched(speaker, text));
        let length = u16::try_from(all.len()).unwrap_or(u16::MAX);
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for term in &all {
            *counts.entry(term).or_default() += 1;
        }
        let mut terms: Vec<(String, bool)> = counts.into_iter().map(|(term, n)| (term.to_owned(), n > 1)).collect();
        terms.sort_unstable();
        Self { terms, length }
    }

    /// The terms as the index is given them: parted by spaces, repeated ones also under their mark.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (term, repeated) in &self.terms {
            text.push_str(term);
            text.push(' ');
            if *repeated {
                text.push_str(&mark(term));
                text.push(' ');
            }
        }
        text
    }
}

/// The term under which the passages stand that hold `term` more than once.
pub(super) fn mark(term: &str) -> String {
    format!("{term}{REPEATED}")
}
