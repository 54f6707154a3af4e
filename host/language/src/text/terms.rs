//! What an index is fed with, and what it is asked for.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation as _;

use super::words::{Run, bare, han_words, is_han, parts, runs};
use super::{fold, is_stop_word};

/// The version of what [`index_terms`] answers. An index that was fed with another one's terms is to be fed anew.
pub const LEXICON: u32 = 1;

/// The terms under which a text is found, in its order: stems of English words, Chinese words and the words in them, each
/// two neighbouring Han characters, and each Han character, so that 猫 finds 小猫. A term holds neither space nor
/// punctuation at its ends. What is a word and a pair of characters at once counts once.
#[must_use]
pub fn index_terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let folded = fold(text);
    let mut terms = Vec::new();
    for run in runs(&folded) {
        match run {
            Run::Han(run) => han_terms(run, &mut terms),
            Run::Other(text) => terms.extend(text.unicode_words().filter_map(|word| stem(&stemmer, word))),
        }
    }
    terms
}

/// The terms a question is looked up by: those of [`index_terms`] without words that any text may hold, such as "the",
/// 的 or 什么, and without pairs of characters that reach into such a word. When nothing else is left, all of them. Each
/// term once, in the order of the question.
#[must_use]
pub fn query_terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let folded = fold(text);
    let mut terms = Vec::new();
    for run in runs(&folded) {
        match run {
            Run::Han(run) => {
                for run in content_runs(run) {
                    han_terms(&run, &mut terms);
                }
            }
            Run::Other(text) => {
                let words = text.unicode_words().filter(|word| !is_stop_word(&bare(word)));
                terms.extend(words.filter_map(|word| stem(&stemmer, word)));
            }
        }
    }
    if terms.is_empty() {
        terms = index_terms(text);
    }
    let mut seen = std::collections::HashSet::new();
    terms.retain(|term| seen.insert(term.clone()));
    terms
}

/// The stretches of Han text between words that say nothing.
fn content_runs(run: &str) -> Vec<String> {
    let mut runs = vec![String::new()];
    for word in han_words(run) {
        match runs.last_mut() {
            Some(last) if !is_stop_word(word) => last.push_str(word),
            _ => runs.push(String::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn han_terms(run: &str, terms: &mut Vec<String>) {
    let mut pairs = std::collections::HashSet::new();
    for word in han_words(run) {
        let inner = parts(word);
        for term in std::iter::once(word).chain(inner) {
            // Single characters come below, each once.
            if term.chars().nth(1).is_some() {
                terms.push(term.to_owned());
                pairs.insert(term);
            }
        }
    }
    let mut characters = run.chars().peekable();
    while let Some(first) = characters.next() {
        terms.push(first.to_string());
        if let Some(second) = characters.peek().filter(|second| is_han(**second)) {
            let pair: String = [first, *second].iter().collect();
            if !pairs.contains(pair.as_str()) {
                terms.push(pair);
            }
        }
    }
}

fn stem(stemmer: &Stemmer, word: &str) -> Option<String> {
    let word = bare(word);
    let stem = if word.is_ascii() { stemmer.stem(&word).into_owned() } else { word };
    (!stem.is_empty()).then_some(stem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_inflected_word_and_a_part_of_a_chinese_word_are_found() {
        let indexed = index_terms("Caroline was painting sunrises. 小猫在北京大学图书馆睡觉");
        for question in ["Did she paint a sunrise?", "猫在哪里？", "北京有什么", "图书馆"] {
            let asked = query_terms(question);
            assert!(asked.iter().any(|term| indexed.contains(term)), "{question}: {asked:?} in {indexed:?}");
        }
    }

    #[test]
    fn a_question_is_what_it_asks_for() {
        assert_eq!(query_terms("When did Caroline go to the support group?"), ["carolin", "go", "support", "group"]);
        assert_eq!(query_terms("我的猫的名字是什么？"), ["猫", "名字", "名", "字"]);
        assert_eq!(query_terms("who are you"), ["who", "are", "you"]);
    }

    proptest! {
        #[test]
        fn terms_of_any_text_are_plain_and_a_text_is_found_by_itself(text in any::<String>()) {
            let indexed = index_terms(&text);
            prop_assert!(indexed.iter().all(|term| !term.is_empty() && !term.contains(char::is_whitespace)));
            prop_assert!(query_terms(&text).iter().all(|term| indexed.contains(term)) || text.chars().any(is_han));
        }
    }
}
