//! Paths as guests write them.

use homeagent_types::CallError;

/// The longest path, in bytes.
const LONGEST: usize = 4096;
/// The most names in a path.
const DEEPEST: usize = 64;

/// The names on the way from a folder to something in it; none for the folder itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GuestPath(Vec<String>);

impl GuestPath {
    /// Reads a path: names with `/` between.
    pub(crate) fn parse(text: &str) -> Result<Self, CallError> {
        let refuse = |reason: &str| {
            let shown: String = text.escape_debug().take(200).collect();
            Err(CallError::Invalid(format!("the path \"{shown}\" {reason}")))
        };
        if text.len() > LONGEST {
            return refuse(&format!("has more than {LONGEST} bytes"));
        }
        if text.starts_with('/') {
            return refuse("is absolute; paths begin in one of the plugin's folders");
        }
        if text.contains('\0') {
            return refuse("has a zero in it");
        }
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let names: Vec<&str> = text.split('/').collect();
        if names.len() > DEEPEST {
            return refuse(&format!("has more than {DEEPEST} names"));
        }
        match names.iter().find(|name| matches!(**name, "" | "." | "..")) {
            Some(&"..") => refuse("leads out of a folder by .."),
            Some(_) => refuse("has an empty name or a . in it"),
            None => Ok(Self(names.into_iter().map(str::to_owned).collect())),
        }
    }

    /// All names.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    /// The names before the last one, and that.
    pub(super) fn split(&self) -> Result<(&[String], &str), CallError> {
        match self.0.split_last() {
            Some((last, before)) => Ok((before, last)),
            None => Err(CallError::Invalid("the empty path is the folder itself, which stays as it is".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_names_with_slashes_between() {
        assert_eq!(GuestPath::parse("a/b c/..d"), Ok(GuestPath(vec!["a".into(), "b c".into(), "..d".into()])));
        assert_eq!(GuestPath::parse(""), Ok(GuestPath(Vec::new())));
    }

    #[test]
    fn whatever_leads_elsewhere_is_refused() {
        let deep = "a/".repeat(64) + "a";
        let long = "a".repeat(5000);
        for path in ["..", "a/..", "../a", "a/../../b", "/a", "//a", "a//b", "a/", ".", "./a", "a\0b", &deep, &long] {
            assert!(matches!(GuestPath::parse(path), Err(CallError::Invalid(_))), "{path}");
        }
    }
}
