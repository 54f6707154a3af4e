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
    /// Looks for each secret as it is, as it stands in JSON, and as it stands in a URL.
    pub(super) fn new<'a>(secrets: impl Iterator<Item = (&'a String, &'a Secret)>) -> Self {
        let mut needles = Vec::new();
        for (name, secret) in secrets.filter(|(_, secret)| secret.expose().len() >= SHORTEST) {
            let plain = secret.expose();
            let mut forms = vec![Zeroizing::new(plain.to_owned()), in_json(plain), in_url(plain)];
            forms.dedup();
            needles.extend(forms.into_iter().map(|form| (form, name.clone())));
        }
        // Of two that begin at the same place the longer one is replaced.
        needles.sort_by_key(|(needle, _)| Reverse(needle.len()));
        Self { needles }
    }

    pub(super) fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = Vec::new();
        for (index, (needle, _)) in self.needles.iter().enumerate() {
            found.extend(memmem::find_iter(text.as_bytes(), needle.as_bytes()).map(|start| (start, index)));
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for (start, index) in found {
            let (needle, name) = &self.needles[index];
            let end = start + needle.len();
            // Two that overlap are replaced together, so that no part of either stays.
            if start >= done {
                clean.push_str(&text[done..start]);
                clean.push_str("[secret ");
                clean.push_str(name);
                clean.push(']');
            }
            done = done.max(end);
        }
        clean.push_str(&text[done..]);
        Cow::Owned(clean)
    }
}

fn in_json(plain: &str) -> Zeroizing<String> {
    let quoted = Zeroizing::new(serde_json::Value::from(plain).to_string());
    Zeroizing::new(quoted[1..quoted.len() - 1].to_owned())
}

fn in_url(plain: &str) -> Zeroizing<String> {
    let mut encoded = Zeroizing::new(String::with_capacity(plain.len() * 3));
    for byte in plain.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
