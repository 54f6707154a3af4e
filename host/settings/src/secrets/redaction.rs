//! Taking known secrets out of a text.

use std::borrow::Cow;
use std::cmp::Reverse;

use memchr::memmem;
use zeroize::Zeroizing;

use super::Secret;

/// Shorter values are not looked for: a secret "1234" would be found in every other text.
const SHORTEST: usize = 8;

/// The values to look for, each with the name of its secret.
#[derive(Default)]
pub(super) struct Redaction {
    needles: Vec<(Zeroizing<String>, String)>,
}

impl Redaction {
    /// Looks for each secret as it is, as it stands in JSON, and as it stands in a URL or a form.
    pub(super) fn new<'a>(secrets: impl Iterator<Item = (&'a String, &'a Secret)>) -> Self {
        let mut needles = Vec::new();
        for (name, secret) in secrets.filter(|(_, secret)| secret.expose().len() >= SHORTEST) {
            let plain = secret.expose();
            let mut forms = vec![Zeroizing::new(plain.to_owned()), in_json(plain)];
            forms.extend(in_urls(plain));
            forms.sort_by(|one, other| one.as_str().cmp(other.as_str()));
            forms.dedup();
            needles.extend(forms.into_iter().map(|form| (form, name.clone())));
        }
        // Of two that begin at the same place the longer one is replaced.
        needles.sort_by_key(|(needle, _)| Reverse(needle.len()));
        Self { needles }
    }

    /// Where the values stand in a text, each with its place among the needles; sorted.
    fn find(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (index, (needle, _)) in self.needles.iter().enumerate() {
            found.extend(memmem::find_iter(text, needle.as_bytes()).map(|start| (start, index)));
        }
        found.sort_unstable();
        found
    }

    /// The name of a secret whose value stands in this content.
    pub(super) fn named_in(&self, content: &[u8]) -> Option<String> {
        let found = self.needles.iter().find(|(needle, _)| memmem::find(content, needle.as_bytes()).is_some());
        found.map(|(_, name)| name.clone())
    }

    /// How many bytes of a text that goes on can be told from others whatever comes next: up to where a value may have
    /// begun that is not there as a whole yet.
    pub(super) fn settled(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let longest = self.needles.first().map_or(0, |(needle, _)| needle.len());
        let begins = |start: usize| {
            let rest = &bytes[start..];
            self.needles.iter().any(|(needle, _)| needle.len() > rest.len() && needle.as_bytes().starts_with(rest))
        };
        let mut end = (text.len().saturating_sub(longest)..text.len()).find(|&at| begins(at)).unwrap_or(text.len());
        // A value that is there as a whole is not cut in two either; the later ones first, for one may reach into another.
        for (start, index) in self.find(bytes).into_iter().rev() {
            if start < end && end < start + self.needles[index].0.len() {
                end = start;
            }
        }
        end
    }

    pub(super) fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.apply_to_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Whole values were taken out of a text, and whole names put in.
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    pub(super) fn apply_to_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let found = self.find(bytes);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut done = 0;
        for (start, index) in found {
            let (needle, name) = &self.needles[index];
            let end = start + needle.len();
            // Two that overlap are replaced together, so that no part of either stays.
            if start >= done {
                clean.extend_from_slice(&bytes[done..start]);
                clean.extend_from_slice(format!("[secret {name}]").as_bytes());
            }
            done = done.max(end);
        }
        clean.extend_from_slice(&bytes[done..]);
        Cow::Owned(clean)
    }
}

fn in_json(plain: &str) -> Zeroizing<String> {
    let quoted = Zeroizing::new(serde_json::Value::from(plain).to_string());
    Zeroizing::new(quoted[1..quoted.len() - 1].to_owned())
}

/// As it stands in a path, and in a form; with digits in either case.
fn in_urls(plain: &str) -> Vec<Zeroizing<String>> {
    let mut forms = Vec::new();
    for (unreserved, space) in [(b"-._~", "%20"), (b"-._*", "+")] {
        let (mut upper, mut lower) = (encoded(plain.len()), encoded(plain.len()));
        for byte in plain.bytes() {
            if byte.is_ascii_alphanumeric() || unreserved.contains(&byte) {
                upper.push(char::from(byte));
                lower.push(char::from(byte));
            } else if byte == b' ' {
                upper.push_str(space);
                lower.push_str(space);
            } else {
                upper.push_str(&format!("%{byte:02X}"));
                lower.push_str(&format!("%{byte:02x}"));
            }
        }
        forms.extend([upper, lower]);
    }
    forms
}

/// Room for a text of so many bytes in percent notation, so that it leaves no copies behind as it grows.
fn encoded(bytes: usize) -> Zeroizing<String> {
    Zeroizing::new(String::with_capacity(bytes * 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_pieces_no_part_of_a_value_is_told() {
        let secrets = [("a", "abcabcabc"), ("b", "cabcabc-xyz"), ("c", "钥匙就是这一把")];
        let known: Vec<_> = secrets.map(|(name, value)| (name.to_owned(), Secret::from(value.to_owned()))).into();
        let redaction = Redaction::new(known.iter().map(|(name, value)| (name, value)));
        for text in ["say abcabcabc!", "abcabcabcabc-xyz.", "ab abcab cabcabc-xy", "是钥匙就是这一把。", "abcabcabc"]
        {
            let whole = redaction.apply(text).into_owned();
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for width in 1..ends.len() {
                let (mut told, mut rest) = (String::new(), String::new());
                for piece in ends.iter().step_by(width).chain([&text.len()]).collect::<Vec<_>>().windows(2) {
                    rest.push_str(&text[*piece[0]..*piece[1]]);
                    let later = rest.split_off(redaction.settled(&rest));
                    told.push_str(&redaction.apply(&rest));
                    rest = later;
                }
                told.push_str(&redaction.apply(&rest));
                assert_eq!(told, whole, "in pieces of {width}");
            }
        }
    }

    #[test]
    fn a_value_is_found_however_a_url_or_a_form_writes_it_and_in_bytes_that_are_no_text() {
        let known = [("k".to_owned(), Secret::from("a b/c~d*ef".to_owned()))];
        let redaction = Redaction::new(known.iter().map(|(name, value)| (name, value)));
        for text in ["a b/c~d*ef", "a%20b%2Fc~d%2Aef", "a%20b%2fc~d%2aef", "a+b%2Fc%7Ed*ef", "a+b%2fc%7ed*ef"] {
            assert_eq!(redaction.apply(&format!("x={text};")), "x=[secret k];");
        }
        assert_eq!(&*redaction.apply_to_bytes(b"\xff\xfea b/c~d*ef\xff"), b"\xff\xfe[secret k]\xff");
    }
}
