//! Bytes as text. Files come from all kinds of editors: UTF-8, with or without its mark, UTF-16, and what Chinese systems
//! wrote before.

use std::borrow::Cow;

use encoding_rs::{Encoding, GB18030, UTF_8, UTF_16BE, UTF_16LE};

/// A text, and how it was written.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    /// How it was written, where that is not UTF-8.
    pub(crate) encoding: Option<&'static str>,
    /// Some of it could not be read, and has signs of replacement in its place.
    pub(crate) damaged: bool,
}

/// Reads a text. `label` is the encoding that it says of itself, such as the one in a page's `meta`; a mark at the
/// beginning of the bytes counts for more, and valid UTF-8 is UTF-8 whatever is said.
pub(crate) fn decode<'a>(bytes: &'a [u8], label: Option<&str>) -> Decoded<'a> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return with(encoding, bytes.get(mark..).unwrap_or_default());
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && !looks_wide(bytes)
    {
        return Decoded { text: Cow::Borrowed(text), encoding: None, damaged: false };
    }
    let said = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Some(encoding) = said.filter(|encoding| *encoding != UTF_8) {
        return with(encoding, bytes);
    }
    if looks_wide(bytes) {
        let low_first = zeros(bytes, 1) >= zeros(bytes, 0);
        return with(if low_first { UTF_16LE } else { UTF_16BE }, bytes);
    }
    let chinese = with(GB18030, bytes);
    if chinese.damaged { with(UTF_8, bytes) } else { chinese }
}

fn with<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Decoded<'a> {
    let (text, damaged) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, encoding: (encoding != UTF_8).then(|| encoding.name()), damaged }
}

/// Whether every other byte is 0 as often as in UTF-16 with Latin letters, of which the first page is looked at.
fn looks_wide(bytes: &[u8]) -> bool {
    let looked = bytes.get(..4096).unwrap_or(bytes);
    let (even, odd) = (zeros(looked, 0), zeros(looked, 1));
    looked.len() >= 4 && (even.max(odd) * 8 > looked.len() * 3) && even.min(odd) * 8 < looked.len()
}

fn zeros(bytes: &[u8], first: usize) -> usize {
    bytes.iter().take(4096).skip(first).step_by(2).filter(|byte| **byte == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_kinds_of_editors_are_read() {
        let text = "# 家\nWi-Fi: 小猫123\n";
        let wide = |order: fn(u16) -> [u8; 2], text: &str| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let marked = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        let plain = "plain words, and none of another script";
        let cases = [
            (text.as_bytes().to_vec(), text, None),
            (marked(b"\xef\xbb\xbf", text.as_bytes().to_vec()), text, None),
            (marked(b"\xff\xfe", wide(u16::to_le_bytes, text)), text, Some("UTF-16LE")),
            (marked(b"\xfe\xff", wide(u16::to_be_bytes, text)), text, Some("UTF-16BE")),
            (wide(u16::to_le_bytes, plain), plain, Some("UTF-16LE")),
            (wide(u16::to_be_bytes, plain), plain, Some("UTF-16BE")),
            (GB18030.encode(text).0.into_owned(), text, Some("gb18030")),
            (b"a\0b".to_vec(), "a\0b", None),
            (Vec::new(), "", None),
        ];
        for (bytes, text, encoding) in cases {
            let decoded = decode(&bytes, None);
            assert_eq!((&*decoded.text, decoded.encoding, decoded.damaged), (text, encoding, false), "{bytes:?}");
        }
        let broken = decode(b"good \xff\xff bad", None);
        assert!(broken.damaged && broken.text.starts_with("good "));
        assert_eq!(decode(b"\xa4\xa4\xa4\xe5", Some("big5")).text, "中文");
    }
}
