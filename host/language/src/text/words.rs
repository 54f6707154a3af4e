//! Text as words.

use std::sync::LazyLock;

use jieba_rs::Jieba;
use unicode_segmentation::UnicodeSegmentation as _;

use super::fold;

/// Loaded when the first Chinese text is cut.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// A longer run of Han characters is cut in pieces of this many: a dictionary's work grows with what it looks at.
const RUN: usize = 400;

/// Longer words are cut off: encoded data is nothing that somebody looks for.
const LONGEST: usize = 64;

/// The words of a text, folded, in their order: Chinese as jieba's dictionary knows it, anything else by Unicode's rules.
/// An English possessive ending is left out.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut words = Vec::new();
    for run in runs(&folded) {
        match run {
            Run::Han(text) => words.extend(JIEBA.cut(text, true).into_iter().map(|token| token.word.to_owned())),
            Run::Other(text) => words.extend(text.unicode_words().map(bare).filter(|word| !word.is_empty())),
        }
    }
    words
}

/// A stretch of text in one way of writing.
pub(super) enum Run<'a> {
    /// Han characters only, at most [`RUN`].
    Han(&'a str),
    /// Anything else.
    Other(&'a str),
}

/// Cuts text where the way of writing changes.
pub(super) fn runs(text: &str) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    let (mut start, mut length, mut han) = (0, 0, false);
    for (at, c) in text.char_indices() {
        let now = is_han(c);
        if length > 0 && (now != han || (han && length == RUN)) {
            push(&mut runs, text.get(start..at), han);
            (start, length) = (at, 0);
        }
        (han, length) = (now, length + 1);
    }
    push(&mut runs, text.get(start..), han);
    runs
}

fn push<'a>(runs: &mut Vec<Run<'a>>, text: Option<&'a str>, han: bool) {
    match text {
        None | Some("") => {}
        Some(text) if han => runs.push(Run::Han(text)),
        Some(text) => runs.push(Run::Other(text)),
    }
}

/// The dictionary's words in a stretch of Han characters. Unlike in [`words`], none is guessed: a guess depends on what
/// stands around it, and a question and its answer would be cut differently.
pub(super) fn han_words(run: &str) -> Vec<&str> {
    JIEBA.cut(run, false).into_iter().map(|token| token.word).collect()
}

/// The words of a text as they are written, with jieba's part-of-speech tags; anything that is not Chinese is `x`, `eng` or
/// `m`. Joined, they are the text.
pub(crate) fn tagged_words(text: &str) -> Vec<(&str, &str)> {
    JIEBA.tag(text, true).into_iter().map(|tagged| (tagged.word, tagged.tag)).collect()
}

/// The dictionary's words inside a word of more than two characters, such as 北京 and 大学 in 北京大学.
pub(super) fn parts(word: &str) -> Vec<&str> {
    if word.chars().nth(2).is_none() {
        return Vec::new();
    }
    let parts = JIEBA.cut_for_search(word, false).into_iter().map(|token| token.word);
    parts.filter(|part| part.len() < word.len()).collect()
}

/// A word without a possessive ending, not without end, and without the space that an accent on its own stands on.
pub(super) fn bare(word: &str) -> String {
    let word = word.trim_matches(char::is_whitespace);
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix('\'')).unwrap_or(word);
    word.chars().filter(|c| !c.is_whitespace()).take(LONGEST).collect()
}

/// Whether a character is Han: ideographs of every plane, and the mark that repeats one.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '々' | '〇')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn chinese_and_english_in_one_sentence_are_cut_as_people_read_them() {
        assert_eq!(words("我喜欢北京大学的WiFi！"), ["我", "喜欢", "北京大学", "的", "wifi"]);
        assert_eq!(
            words("Melanie’s kids don't like 3.5 apples 🎉"),
            ["melanie", "kids", "don't", "like", "3.5", "apples"]
        );
        assert_eq!(words("上周五我们去了颐和园"), ["上周五", "我们", "去", "了", "颐和园"]);
    }

    proptest! {
        #[test]
        fn any_text_has_words_and_they_stay_when_cut_again(text in any::<String>()) {
            for word in words(&text) {
                prop_assert!(!word.is_empty() && word.chars().count() <= RUN);
            }
        }

        #[test]
        fn han_of_any_length_is_lost_nowhere(text in "[你我他家猫狗吃喝玩乐]{0,900}") {
            prop_assert_eq!(words(&text).concat(), text);
        }
    }
}
