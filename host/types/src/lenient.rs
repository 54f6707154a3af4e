//! Reading JSON that a person, an editor or another program may have touched.

use serde::de::DeserializeOwned;

/// Reads a JSON document. Where it holds bytes that are no UTF-8, or escapes of half a character (`\ud800` alone), those
/// are replaced by U+FFFD and the rest is read.
///
/// # Errors
///
/// What is wrong with it otherwise.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            let mended = mend_surrogates(&text);
            if mended == text.as_bytes() && matches!(text, std::borrow::Cow::Borrowed(_)) {
                return Err(error);
            }
            // A text that is damaged otherwise, too, is refused with the first reason.
            serde_json::from_slice(&mended).map_err(|_| error)
        }
    }
}

/// Escapes of surrogates that are not two of a pair become `\ufffd`.
fn mend_surrogates(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut mended = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let left = &bytes[at..];
        let taken = match surrogate(left) {
            Some(0xD800..=0xDBFF) if matches!(surrogate(&left[6..]), Some(0xDC00..=0xDFFF)) => 12,
            Some(_) => {
                mended.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            // An escaped backslash is no beginning of an escape.
            None if left.starts_with(b"\\") => left.len().min(2),
            None => 1,
        };
        mended.extend_from_slice(&left[..taken]);
        at += taken;
    }
    mended
}

/// The surrogate whose escape stands at the beginning of these bytes.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::from_slice;

    #[test]
    fn half_characters_are_replaced_and_the_rest_is_read() {
        let read = |text: &[u8]| from_slice::<String>(text).ok();
        assert_eq!(read(br#""a\ud800b""#).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(read(br#""\udc00\ud83d\ude00\ud83d""#).as_deref(), Some("\u{fffd}\u{1f600}\u{fffd}"));
        assert_eq!(read(br#""\\ud800""#).as_deref(), Some("\\ud800"));
        assert_eq!(read(b"\"a\xffb\"").as_deref(), Some("a\u{fffd}b"));
        assert_eq!(read(br#""cut \ud8"#), None);
    }
}
