//! The names of bases: each is the name of a folder, so not any text will do.

use std::fmt;

use homeagent_language::text::fold;

use crate::Error;

/// The longest name, in characters.
const LONGEST: usize = 64;

/// The longest name, in bytes: what file systems allow, with room for what editors put at the end.
const LONGEST_BYTES: usize = 200;

/// The name of a base: 1 to 64 characters of any language. Never hidden, never a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Reads a name. Space around it does not count.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`], which says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let name = text.trim();
        match fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => Err(Error::BadName { name: shown(name), reason }),
        }
    }

    /// The name that a base has which is made of a file: the file's without its ending, with a `-` for what no name has.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`] where nothing is left.
    pub fn of_file(file: &str) -> Result<Self, Error> {
        let stem = match file.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() && !ending.contains('/') => stem,
            _ => file,
        };
        let parts = stem.split(|c: char| is_barred(c) || c.is_whitespace()).filter(|part| !part.is_empty());
        let mut name = String::new();
        for part in parts {
            name.push_str(if name.is_empty() { "" } else { "-" });
            name.push_str(part);
        }
        let mut kept = String::new();
        for c in name.trim_start_matches(['.', '-']).chars().take(LONGEST) {
            if kept.len() + c.len_utf8() <= LONGEST_BYTES {
                kept.push(c);
            }
        }
        Self::parse(kept.trim_end_matches(['.', '-']))
    }

    /// The name as a text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What two names have in common that differ in case, width or composition alone. Some file systems take such names
    /// for one, and people do.
    pub(crate) fn folded(&self) -> String {
        fold(&self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.chars().nth(LONGEST).is_some() || name.len() > LONGEST_BYTES {
        return Some("it is longer than 64 characters");
    }
    if name.starts_with('.') {
        return Some("it begins with a dot, so it would be hidden");
    }
    if name.ends_with('.') {
        return Some("it ends with a dot");
    }
    if name.chars().any(is_barred) {
        return Some("it holds characters that file names can't have, or that show nothing");
    }
    None
}

/// What no name has: what parts paths, what shells and other systems mean something by, what a terminal obeys, and what
/// shows nothing or turns the direction of writing.
fn is_barred(c: char) -> bool {
    matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A text that is no name, so that it can stand in a sentence.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_any_language_are_taken_and_paths_are_not() {
        for name in ["garden", "家里的电器", "Été 2026", "a-b_c", "наш дом"] {
            assert_eq!(Name::parse(&format!(" {name} ")).expect("it is a name").as_str(), name);
        }
        for name in ["", " ", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\0b", "a\u{202e}b", "end.", "C:"] {
            assert!(matches!(Name::parse(name), Err(Error::BadName { .. })), "{name:?}");
        }
        assert!(Name::parse(&"长".repeat(65)).is_err());
    }

    #[test]
    fn a_file_gives_its_name() {
        let names = ["My Notes (1).html", "../../etc/passwd", "说明书.md", ".bashrc", "a/b/c.txt", "v1.2.md"];
        let names = names.map(|file| Name::of_file(file).expect("a name").0);
        assert_eq!(names, ["My-Notes-(1)", "etc-passwd", "说明书", "bashrc", "a-b-c", "v1.2"]);
        assert!(Name::of_file("...").is_err());
    }

    proptest! {
        #[test]
        fn a_name_is_one_part_of_a_path(text in any::<String>()) {
            for name in [Name::parse(&text), Name::of_file(&text)].into_iter().flatten() {
                let path = std::path::Path::new(name.as_str());
                prop_assert_eq!(path.components().count(), 1);
                prop_assert!(matches!(path.components().next(), Some(std::path::Component::Normal(_))));
                prop_assert!(!name.as_str().starts_with('.'));
                let again = Name::parse(name.as_str());
                prop_assert_eq!(again.ok(), Some(name));
            }
        }
    }
}
