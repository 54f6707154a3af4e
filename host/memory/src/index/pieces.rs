//! Long texts in pieces that can each be found, embedded and shown.

use homeagent_language::text::sentences;

/// A text up to this long stays whole, in characters. Sentence models read some 500 tokens.
const WHOLE: usize = 1_500;

/// How long a piece of a longer text is at most, in characters.
const PIECE: usize = 1_000;

/// The text in pieces of whole sentences where they are short enough. Nothing of it is lost but space between pieces.
pub(super) fn pieces(text: &str) -> Vec<String> {
    if text.chars().nth(WHOLE).is_none() {
        return vec![text.to_owned()];
    }
    let mut pieces: Vec<String> = Vec::new();
    let (mut last, mut length) = (String::new(), 0);
    for sentence in sentences(text) {
        let count = sentence.chars().count();
        if length > 0 && length + count > PIECE {
            pieces.push(std::mem::take(&mut last));
            length = 0;
        }
        if length > 0 {
            last.push('\n');
        }
        for (at, c) in sentence.chars().enumerate() {
            if at > 0 && at % PIECE == 0 {
                pieces.push(std::mem::take(&mut last));
                length = 0;
            }
            last.push(c);
            length += 1;
        }
    }
    if !last.is_empty() || pieces.is_empty() {
        pieces.push(last);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_short_and_hold_every_letter(text in "([a-z猫 ]{0,90}[.。\n]?){0,90}") {
            let pieces = pieces(&text);
            prop_assert!(pieces.iter().all(|piece| piece.chars().count() <= WHOLE));
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(letters(&pieces.concat()), letters(&text));
        }
    }
}
