//! JSON that passes through the host as a text, so that no digit of it is lost.

use serde::de::IgnoredAny;

/// How deep it may be nested. Those who read it - adapters, plugins, clients - give up at 128 levels, some of which are
/// around it by then.
pub const DEEPEST: usize = 100;

/// Why a text does not pass as JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// It is none.
    #[error("not valid JSON: {0}")]
    Invalid(#[from] serde_json::Error),
    /// A character of a text in it is torn: most readers take no such text.
    #[error("not valid JSON: a \\u escape is half of a character (one surrogate without the other)")]
    HalfCharacter,
    /// Nobody could read it.
    #[error("nested more than {DEEPEST} deep")]
    TooDeep,
}

/// Checks that a text is JSON which others can read. It takes no memory and no stack, however deep it is nested.
///
/// # Errors
///
/// What is wrong, to be read after "it is".
pub fn check_json(text: &str) -> Result<(), JsonError> {
    // That passes over texts without a look at what their escapes mean.
    serde_json::from_str::<IgnoredAny>(text)?;
    if has_half_character(text) {
        return Err(JsonError::HalfCharacter);
    }
    if depth(text) > DEEPEST { Err(JsonError::TooDeep) } else { Ok(()) }
}

/// Whether valid JSON has an escape for one half of a surrogate pair, without the other behind or before it. Backslashes
/// stand in texts alone.
fn has_half_character(json: &str) -> bool {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (one_escape, plain_escape) = ("\\u0000".len(), "\\n".len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at..];
        rest = match unit(rest) {
            Some(0xd800..=0xdbff) => match unit(&rest[one_escape..]) {
                Some(0xdc00..=0xdfff) => &rest[2 * one_escape..],
                _ => return true,
            },
            Some(0xdc00..=0xdfff) => return true,
            Some(_) => &rest[one_escape..],
            None => &rest[plain_escape..],
        };
    }
    false
}

/// How deep valid JSON is nested.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Goes on to the end of a text whose first quote is behind.
fn skip_text(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_however_deep_it_is() {
        check_json(&nested(DEEPEST)).expect("that deep it may be");
        for levels in [DEEPEST + 1, 100_000] {
            assert!(matches!(check_json(&nested(levels)), Err(JsonError::TooDeep)), "{levels}");
        }
        let objects = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
        assert!(matches!(check_json(&objects), Err(JsonError::TooDeep)));
        assert!(matches!(check_json(&"[".repeat(100_000)), Err(JsonError::Invalid(_))));
    }

    #[test]
    fn half_a_character_is_refused_and_a_whole_one_is_not() {
        for torn in [r#""\ud800""#, r#"["a\udc00"]"#, r#"{"\ud83d\n":1}"#, r#""\uDBFF\uD800""#, r#""\udc00\ud800""#] {
            assert!(matches!(check_json(torn), Err(JsonError::HalfCharacter)), "{torn}");
            serde_json::from_str::<serde_json::Value>(torn).expect_err("readers do not take it");
        }
        for whole in [r#""\ud83d\ude42""#, r#""\\ud800""#, r#""\u00e4\"\ud83d\ude42\ud83d\ude42""#, r#""é\né""#] {
            check_json(whole).expect("readers take it");
            serde_json::from_str::<serde_json::Value>(whole).expect("readers take it");
        }
    }

    #[test]
    fn brackets_in_texts_and_side_by_side_are_not_depth() {
        assert_eq!(depth(r#"{"a\"[[": "[[[\\", "b": [[], [], {}]}"#), 3);
        check_json(&format!("[{}[]]", "[],".repeat(1000))).expect("it is wide, not deep");
    }
}
