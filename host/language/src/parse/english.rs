//! Parts of speech of English, by a small lexicon, endings and what stands before.

use unicode_segmentation::UnicodeSegmentation as _;

use super::words::{
    ADJECTIVES, ADVERBS, AUXILIARIES, COORDINATORS, DETERMINERS, IRREGULAR, PREPOSITIONS, PRONOUNS, SUBORDINATORS,
    VERBS, is_in,
};
use super::{Tagged, Upos};

/// The words of a sentence.
pub(super) fn tag(sentence: &str) -> Vec<Tagged> {
    let mut words: Vec<Tagged> = Vec::new();
    for (at, word) in sentence.split_word_bound_indices() {
        if word.trim().is_empty() {
            continue;
        }
        for (offset, part) in parts(word) {
            let start = at + offset;
            let upos = upos(part, words.last(), &words);
            words.push(Tagged { span: start..start + part.len(), text: part.to_owned(), upos });
        }
    }
    let mut words = joined(sentence, words);
    settle(&mut words);
    words
}

/// What hyphens and abbreviations' full stops tie together is one word: Attorney-General, Mr.
fn joined(sentence: &str, words: Vec<Tagged>) -> Vec<Tagged> {
    let mut joined: Vec<Tagged> = Vec::new();
    for word in words {
        let titles = ["Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Jr", "Sr"];
        let Some(last) = joined.last_mut().filter(|last| last.span.end == word.span.start && last.text != "-") else {
            joined.push(word);
            continue;
        };
        let hyphen = (word.text == "-" && last.upos != Upos::Punct) || last.text.ends_with('-');
        let title = word.text == "." && titles.contains(&last.text.as_str());
        if !(hyphen || title) {
            joined.push(word);
            continue;
        }
        if word.upos != Upos::Punct {
            last.upos = if matches!(word.upos, Upos::Verb | Upos::Adp) { Upos::Adj } else { word.upos };
        }
        last.span.end = word.span.end;
        last.text = sentence.get(last.span.clone()).unwrap_or_default().to_owned();
    }
    joined
}

/// A word with a short form of another behind it, as two: do|n't, Anna|'s.
fn parts(word: &str) -> Vec<(usize, &str)> {
    let lower = word.to_lowercase();
    if lower.len() != word.len() {
        return vec![(0, word)];
    }
    for ending in ["n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "n’t", "’s", "’re", "’ve", "’ll", "’d", "’m"]
    {
        let Some(stem) = lower.strip_suffix(ending).filter(|stem| !stem.is_empty()) else { continue };
        if let (Some(first), Some(second)) = (word.get(..stem.len()), word.get(stem.len()..)) {
            return vec![(0, first), (stem.len(), second)];
        }
    }
    vec![(0, word)]
}

fn upos(word: &str, before: Option<&Tagged>, sofar: &[Tagged]) -> Upos {
    let lower = word.to_lowercase().replace('’', "'");
    let previous = before.map(|before| before.text.to_lowercase()).unwrap_or_default();
    let previous_tag = before.map(|before| before.upos);
    let noun_before = previous_tag.is_some_and(Upos::is_nominal);
    if !word.chars().any(char::is_alphanumeric) && !lower.starts_with('\'') {
        return Upos::Punct;
    }
    if word.chars().next().is_some_and(|c| c.is_ascii_digit()) {
        return Upos::Num;
    }
    if lower == "'s" {
        let verb = previous_tag == Some(Upos::Pron) || previous == "that" || previous == "there";
        return if verb { Upos::Aux } else { Upos::Part };
    }
    if matches!(lower.as_str(), "n't" | "not") {
        return Upos::Part;
    }
    if lower == "that" {
        return if noun_before || previous_tag == Some(Upos::Verb) { Upos::Sconj } else { Upos::Det };
    }
    if matches!(lower.as_str(), "who" | "which" | "whom" | "whose" | "what") {
        return Upos::Pron;
    }
    let after_verb_word = matches!(
        previous.as_str(),
        "to" | "not" | "n't" | "do" | "does" | "did" | "i" | "we" | "they" | "you" | "really" | "also" | "always"
    );
    if lower == "like" && after_verb_word {
        return Upos::Verb;
    }
    let closed = [
        (AUXILIARIES, Upos::Aux),
        (PRONOUNS, Upos::Pron),
        (DETERMINERS, Upos::Det),
        (COORDINATORS, Upos::Cconj),
        (SUBORDINATORS, Upos::Sconj),
        (PREPOSITIONS, Upos::Adp),
        (ADVERBS, Upos::Adv),
    ];
    if let Some((_, tag)) = closed.iter().find(|(list, _)| is_in(list, &lower)) {
        return if lower == "her" && noun_before { Upos::Pron } else { *tag };
    }
    open_class(word, &lower, &previous, previous_tag, sofar.is_empty())
}

/// Nouns, verbs and adjectives.
fn open_class(word: &str, lower: &str, previous: &str, previous_tag: Option<Upos>, first: bool) -> Upos {
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    let after_noun_word = matches!(previous_tag, Some(Upos::Det | Upos::Adj | Upos::Num)) || previous == "'s";
    let numbers = " one two three four five six seven eight nine ten hundred thousand million billion ";
    if is_in(numbers, lower) {
        return Upos::Num;
    }
    if is_in(ADJECTIVES, lower) {
        return Upos::Adj;
    }
    let verb = is_verb(lower);
    if capital && !(first && (verb || lower.ends_with("ly"))) {
        return Upos::Propn;
    }
    if after_noun_word {
        let describes = ["ed", "ing", "ous", "ful", "ive", "able", "ible", "less", "ical", "ese", "ish"]
            .iter()
            .any(|end| lower.ends_with(end))
            && !lower.ends_with("ding");
        return if describes && !verb_is_noun(lower) { Upos::Adj } else { Upos::Noun };
    }
    if matches!(previous_tag, Some(Upos::Aux)) || previous == "to" && verb {
        let state = ["ous", "ful", "ive", "able", "ible", "less", "al", "ic"].iter().any(|end| lower.ends_with(end));
        return if verb && !state {
            Upos::Verb
        } else if state {
            Upos::Adj
        } else {
            unknown(lower)
        };
    }
    if verb {
        return Upos::Verb;
    }
    unknown(lower)
}

fn verb_is_noun(lower: &str) -> bool {
    [
        "building", "meeting", "king", "ring", "wedding", "painting", "evening", "morning", "spring", "thing",
        "training", "bed", "seed",
    ]
    .contains(&lower)
}

fn unknown(lower: &str) -> Upos {
    let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    if ends(&["ly"]) {
        Upos::Adv
    } else if lower.len() > 4 && ends(&["ed", "ized", "ised"]) {
        Upos::Verb
    } else if ends(&["ous", "ful", "ive", "able", "ible", "less", "ical", "ish"]) {
        Upos::Adj
    } else {
        Upos::Noun
    }
}

/// Whether a word is a form of a known verb.
fn is_verb(lower: &str) -> bool {
    if is_in(VERBS, lower) || is_in(IRREGULAR, lower) {
        return true;
    }
    let stems = [
        ("ies", "y"),
        ("ied", "y"),
        ("es", ""),
        ("s", ""),
        ("ed", ""),
        ("ed", "e"),
        ("ing", ""),
        ("ing", "e"),
        ("d", ""),
    ];
    stems.iter().any(|(ending, put)| {
        lower.strip_suffix(ending).is_some_and(|stem| {
            let doubled = stem.chars().rev().take(2).collect::<Vec<_>>();
            let single = doubled.first() == doubled.get(1) && stem.len() > 2;
            is_in(VERBS, &format!("{stem}{put}"))
                || (single && is_in(VERBS, stem.get(..stem.len().saturating_sub(1)).unwrap_or_default()))
        })
    })
}

/// What only the words behind decide: a verb's form before a noun is no verb when a finite one follows; "that" before a noun
/// is a determiner.
fn settle(words: &mut [Tagged]) {
    for at in 0..words.len() {
        let after = words.get(at + 1).map(|word| word.upos);
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|word| word.upos);
        let Some(word) = words.get_mut(at) else { continue };
        let lower = word.text.to_lowercase();
        let auxiliary_alone = matches!(lower.as_str(), "have" | "has" | "had" | "do" | "does" | "did");
        if word.upos == Upos::Aux
            && auxiliary_alone
            && !matches!(after, Some(Upos::Verb | Upos::Aux | Upos::Part | Upos::Adv))
        {
            word.upos = Upos::Verb;
        }
        if word.upos == Upos::Adp && lower == "to" && after == Some(Upos::Verb) {
            word.upos = Upos::Part;
        }
        if word.upos == Upos::Verb && before == Some(Upos::Adp) && !lower.ends_with("ing") {
            word.upos = Upos::Noun;
        }
        if word.upos == Upos::Verb
            && matches!(after, Some(Upos::Verb | Upos::Aux))
            && matches!(before, Some(Upos::Noun | Upos::Propn))
            && lower.ends_with('s')
        {
            word.upos = Upos::Noun;
        }
    }
}
