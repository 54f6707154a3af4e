//! Which triples say nothing certain.

use std::sync::LazyLock;

use regex::Regex;

use super::Triple;

/// Why a triple is not taken for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// It is of "he", "it", "this", and nobody knows of whom.
    Pronoun,
    /// The sentence asks.
    Question,
    /// The sentence says what would be if.
    Condition,
    /// It may or should be.
    Modal,
    /// Somebody else says it.
    Reported,
    /// Its words say nothing.
    Empty,
    /// Its parts are whole sentences.
    TooLong,
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern that is part of the program")
}

/// Why a triple of a sentence should not be kept, if there is a reason.
#[must_use]
pub fn doubt(triple: &Triple, sentence: &str) -> Option<Doubt> {
    static QUESTION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"[?？]|[吗么呢][。！!.\s]*$|是不是|有没有|能不能|会不会"));
    static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"(?i)如果|要是|假如|假设|假使|倘若|倘使|若是|万一|的话|除非|即使|就算|哪怕|想象|有朝一日|总有一天",
            // "等我有钱了，我要住在海边": what waits for something else is not so yet.
            r"|(?:^|[，,。！!；;：:\s])等[^了待级于][^，,。！!；;]{0,30}(?:了|后|时|时候|那天|那会儿)[，,]",
            r"|\b(?:if|unless|suppose|supposing|imagine|pretend|whether|wish|as though|someday|one day|provided)\b",
            r"|\b(?:once|when|as soon as) (?:i|we)\b[^.!?;]*\b(?:i|we)(?:'ll| will|'d| would|'m going to|'re going to| am going to| want to)\b",
        ))
    });
    static PRONOUN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:you|he|she|it|they|them|him|her|this|that|these|those|there|who|which|what|whom|one|ones|all|some|someone|somebody|something|anyone|anything|everyone|everything|nobody|nothing|others|another|his|hers|its|their|theirs|myself|yourself|himself|herself|itself|each|both|you guys|你|您|你们|他|她|它|他们|她们|它们|这|那|这个|那个|这些|那些|这里|那里|这儿|那儿|谁|什么|哪|哪里|自己|大家|别人|人家|有人|某人|之|其|此|怎么|如何|多少|几|一|一个|个)$",
        )
    });
    static WISH: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"我(?:也|真|很|好|就|一定|将来|以后|现在|特别)*(?:想要|要|想|打算|准备|希望|梦想)(?:去|到|能|可以|一直|搬|在)*(?:住|当|做|养|买|娶|嫁|结婚|定居|工作)",
        )
    });
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern("[“\"「『].*[”\"」』]"));
    if QUESTION.is_match(sentence) {
        return Some(Doubt::Question);
    }
    if CONDITION.is_match(sentence) {
        return Some(Doubt::Condition);
    }
    if triple.modal || WISH.is_match(sentence) {
        return Some(Doubt::Modal);
    }
    if triple.reported || QUOTED.is_match(sentence) {
        return Some(Doubt::Reported);
    }
    if PRONOUN.is_match(triple.subject.trim()) || PRONOUN.is_match(triple.object.trim()) {
        return Some(Doubt::Pronoun);
    }
    if is_empty(triple) {
        return Some(Doubt::Empty);
    }
    is_long(triple).then_some(Doubt::TooLong)
}

fn is_empty(triple: &Triple) -> bool {
    const EMPTY: &[&str] = &[
        "do", "does", "did", "be", "go", "get", "got", "let", "make", "makes", "seem", "seems", "mean", "means",
        "thank", "know", "guess", "think", "said", "say", "want", "see", "hope", "look", "做", "说", "觉得", "知道",
        "想", "看", "让", "使", "问", "听", "来", "去", "到", "感觉", "希望", "认为", "谢谢",
    ];
    let words = |text: &str| text.chars().any(char::is_alphabetic);
    let names = |text: &str| {
        text.chars().filter(|c| c.is_alphanumeric()).count() > 0 && !text.chars().all(|c| c.is_ascii_punctuation())
    };
    EMPTY.contains(&triple.predicate.to_lowercase().as_str())
        || !words(&triple.predicate)
        || !words(&triple.subject)
        || !names(&triple.object)
}

fn is_long(triple: &Triple) -> bool {
    let long = |text: &str, words: usize, characters: usize| {
        text.split_whitespace().count() > words || text.chars().count() > characters
    };
    long(&triple.subject, 8, 50) || long(&triple.predicate, 6, 40) || long(&triple.object, 10, 60)
}
