//! Text as sentences.

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] =
    &["mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "vs", "etc", "e.g", "i.e", "a.m", "p.m", "no", "inc", "ltd"];

/// The sentences of a text, without the space around them, in their order; none is empty. A line's end ends a sentence
/// too. Closing quotation marks and brackets belong to the sentence they close.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let ends = match c {
            '\n' | '\r' | '\u{2029}' => true,
            '。' | '！' | '？' | '!' | '?' | '；' | '…' | '｡' => true,
            '.' => ends_at_full_stop(text.get(start..at).unwrap_or_default(), characters.peek().map(|(_, next)| *next)),
            _ => false,
        };
        if !ends {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((at, next)) = characters.next_if(|(_, next)| belongs_to_the_end(*next)) {
            end = at + next.len_utf8();
        }
        push(&mut sentences, text.get(start..end));
        start = end;
    }
    push(&mut sentences, text.get(start..));
    sentences
}

fn push<'a>(sentences: &mut Vec<&'a str>, sentence: Option<&'a str>) {
    let sentence = sentence.unwrap_or_default().trim();
    if sentence.chars().any(char::is_alphanumeric) {
        sentences.push(sentence);
    }
}

fn belongs_to_the_end(c: char) -> bool {
    matches!(
        c,
        '。' | '！' | '？' | '!' | '?' | '…' | '.' | '"' | '\'' | '”' | '’' | '」' | '』' | ')' | '）' | '》' | '】'
    )
}

/// Whether a full stop after `before` ends a sentence: not within a number or an address, after an initial or an
/// abbreviation.
fn ends_at_full_stop(before: &str, next: Option<char>) -> bool {
    if next.is_some_and(|next| !next.is_whitespace() && !belongs_to_the_end(next)) {
        return false;
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    !initial && !ABBREVIATIONS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_end_where_people_end_them() {
        let text = "Dr. Li paid 3.50 at example.com. Really?! \"Yes.\" Fine\n今天很好。“走吧！”他说…好；行";
        insta::assert_debug_snapshot!(sentences(text), @r#"
        [
            "Dr. Li paid 3.50 at example.com.",
            "Really?!",
            "\"Yes.\"",
            "Fine",
            "今天很好。",
            "“走吧！”",
            "他说…",
            "好；",
            "行",
        ]
        "#);
    }

    proptest! {
        #[test]
        fn sentences_of_any_text_are_its_parts_in_order(text in any::<String>()) {
            let mut rest = text.as_str();
            for sentence in sentences(&text) {
                let at = rest.find(sentence);
                prop_assert!(at.is_some());
                rest = rest.get(at.unwrap_or_default() + sentence.len()..).unwrap_or_default();
            }
            prop_assert!(!rest.chars().any(char::is_alphanumeric));
        }
    }
}
