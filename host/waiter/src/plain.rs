//! Text of models, tools and other people, made harmless for a terminal.
//!
//! A terminal obeys control characters: they move the cursor, rename the window, put text on the clipboard, and make a
//! line look like another one. None of them reaches it from here.

use std::fmt::Write as _;

/// The text with everything that a terminal would obey, or that would show it in another order than it is in, replaced
/// by a visible sign. Line ends and tabs stay.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter_map(harmless).collect()
}

/// The same on one line.
pub(crate) fn plain_line(text: &str) -> String {
    let one = text.trim().chars().map(|c| match c {
        '\n' | '\t' => ' ',
        c => c,
    });
    one.filter_map(harmless).collect()
}

fn harmless(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        // Line ends of other systems; alone it would let a line be overwritten.
        '\r' => None,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        c if obeyed(c) => Some(char::REPLACEMENT_CHARACTER),
        c => Some(c),
    }
}

/// The second set of control characters, and what turns the direction of writing or hides text.
fn obeyed(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{200e}' | '\u{200f}' | '\u{61c}'
        | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e007f}')
}

/// JSON with the same characters written as escapes: the same document, harmless where it is printed.
pub(crate) fn plain_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.trim().chars() {
        if c == '\u{7f}' || obeyed(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_for_a_terminal_to_obey() {
        assert_eq!(plain("a\u{1b}]52;c;aGk=\u{7}b"), "a␛]52;c;aGk=␇b");
        assert_eq!(plain("one\r\ntwo\rthree\tfour"), "one\ntwothree\tfour");
        assert_eq!(plain("\u{9b}2J \u{7f} \u{202e}cod.exe"), "�2J ␡ �cod.exe");
        assert_eq!(plain("你好，👩‍👩‍👧"), "你好，👩‍👩‍👧");
    }

    #[test]
    fn a_line_stays_a_line() {
        assert_eq!(plain_line("  a\nb\tc\r\n"), "a b c");
    }

    #[test]
    fn json_stays_the_same_document() {
        let json = serde_json::to_string("\u{9b}2J\u{202e}\u{e0041}\u{7f}你").expect("json");
        let harmless = plain_json(&json);
        assert!(harmless.is_ascii() || !harmless.chars().any(obeyed));
        let back: String = serde_json::from_str(&harmless).expect("json");
        assert_eq!(back, "\u{9b}2J\u{202e}\u{e0041}\u{7f}你");
    }
}
