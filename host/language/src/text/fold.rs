//! One spelling for what people take for the same text.

use unicode_normalization::UnicodeNormalization as _;

/// The text in the spelling in which it is compared: compatibility forms made plain (NFKC, so full-width letters and
/// digits become ordinary ones), lower case, without characters that show nothing; control characters become spaces and
/// curly apostrophes straight ones. Folding twice changes nothing more.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        let plain = text.bytes().map(|byte| if byte.is_ascii_control() { ' ' } else { char::from(byte) });
        return plain.map(|c| c.to_ascii_lowercase()).collect();
    }
    let shown = text.chars().filter(|c| !is_invisible(*c));
    let lower: String = shown.nfkc().flat_map(char::to_lowercase).collect();
    // Lower case can leave a letter and its accent apart.
    lower.nfkc().filter(|c| !is_invisible(*c)).map(plain).collect()
}

fn plain(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{02bc}' => '\'',
        c if c.is_control() => ' ',
        c => c,
    }
}

/// Whether a character shows nothing and parts nothing: soft hyphens, joiners, direction marks, variation selectors, tags.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_case_and_invisible_characters_make_no_difference() {
        assert_eq!(fold("Ｈｅｌｌｏ\u{200b}　Ｗorld１２３"), "hello world123");
        assert_eq!(fold("我\u{feff}家\0的ＷＩＦＩ"), "我家 的wifi");
        assert_eq!(fold("Mel’s İ ﬁn"), "mel's i\u{307} fin");
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(text in any::<String>()) {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
