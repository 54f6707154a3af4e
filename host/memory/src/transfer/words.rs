//! Words that are to go, however they are written: in capitals or not, and as they stand inside JSON inside a text.

use std::collections::{BTreeSet, HashMap};

use homeagent_journal::FORGOTTEN;
use serde_json::Value;

/// Texts that are looked for without regard to capitals.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// By their first letters, the longest first: of a text and a part of it the whole goes.
    needles: HashMap<char, Vec<Vec<char>>>,
}

impl Words {
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let spellings: BTreeSet<String> = texts.into_iter().flat_map(spellings).collect();
        let mut needles: HashMap<char, Vec<Vec<char>>> = HashMap::new();
        for text in spellings {
            let needle: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
            if let Some(first) = needle.first() {
                needles.entry(*first).or_default().push(needle);
            }
        }
        needles.values_mut().for_each(|needles| needles.sort_by_key(|needle| std::cmp::Reverse(needle.len())));
        Self { needles }
    }

    /// Whether any of them stands in a text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        text.char_indices().any(|(at, _)| self.length_at(text.get(at..).unwrap_or_default()).is_some())
    }

    /// Adds each as it is spelt in a text; false: none of them stands in it.
    pub(super) fn collect(&self, text: &str, spelt: &mut BTreeSet<String>) -> bool {
        let mut any = false;
        for (at, _) in text.char_indices() {
            let rest = text.get(at..).unwrap_or_default();
            if let Some(found) = self.length_at(rest).and_then(|length| rest.get(..length)) {
                any = true;
                spelt.insert(found.to_owned());
            }
        }
        any
    }

    /// The text with [`FORGOTTEN`] in their places; none where none of them stands in it.
    pub(super) fn strike(&self, text: &str) -> Option<String> {
        let (mut struck, mut rest, mut found) = (String::with_capacity(text.len()), text, false);
        while let Some(first) = rest.chars().next() {
            let length = self.length_at(rest);
            if length.is_some() {
                struck.push_str(FORGOTTEN);
                found = true;
            } else {
                struck.push(first);
            }
            rest = rest.get(length.unwrap_or(first.len_utf8())..).unwrap_or_default();
        }
        found.then_some(struck)
    }

    /// Strikes them out of all strings of a document; false: none of them is in it.
    pub(super) fn strike_in(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.strike(text) {
                Some(struck) => {
                    *text = struck;
                    true
                }
                None => false,
            },
            Value::Array(list) => list.iter_mut().fold(false, |found, one| self.strike_in(one) | found),
            Value::Object(fields) => fields.values_mut().fold(false, |found, one| self.strike_in(one) | found),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// How many bytes one of them takes at the beginning of a text.
    fn length_at(&self, text: &str) -> Option<usize> {
        let first = text.chars().next()?.to_lowercase().next()?;
        self.needles.get(&first)?.iter().find_map(|needle| {
            let mut wanted = needle.iter();
            for (at, char) in text.char_indices() {
                if wanted.as_slice().is_empty() {
                    return Some(at);
                }
                if !char.to_lowercase().all(|lower| wanted.next() == Some(&lower)) {
                    return None;
                }
            }
            wanted.as_slice().is_empty().then_some(text.len())
        })
    }
}

/// A text, and how it is written in the arguments of tools: as JSON, and as JSON in ASCII.
fn spellings(text: &str) -> [String; 3] {
    let quoted = Value::from(text).to_string();
    let escaped = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let mut ascii = String::with_capacity(escaped.len());
    for char in escaped.chars() {
        if char.is_ascii() {
            ascii.push(char);
        } else {
            char.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}")));
        }
    }
    [text.to_owned(), escaped, ascii]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_they_are_written() {
        let words = Words::new(["Zan\"zibar", "团子"]);
        assert_eq!(words.strike("to ZAN\"ZIBAR and zan\\\"zibar"), Some("to [forgotten] and [forgotten]".to_owned()));
        assert_eq!(words.strike("我的猫叫团子 \\u56E2\\u5b50"), Some("我的猫叫[forgotten] [forgotten]".to_owned()));
        assert_eq!(words.strike("Zan zibar 团"), None);
        let mut spelt = BTreeSet::new();
        assert!(Words::new(["ann"]).collect("Ann, ANN", &mut spelt));
        assert_eq!(spelt.into_iter().collect::<Vec<_>>(), ["ANN", "Ann"]);
        let (empty, long) = (Words::new(["", "aa"]), "a".repeat(3));
        assert_eq!(empty.strike(&long), Some("[forgotten]a".to_owned()));
    }
}
