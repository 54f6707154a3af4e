//! Changing a text by its headings.

use std::ops::Range;

use homeagent_language::text::fold;

use crate::chunk::{Heading, Lines, headings};
use crate::{Error, Name, front};

/// How many headings an error names.
const NAMED: usize = 12;

/// A change of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Puts a text at the end: of what stands directly below a heading, or of all.
    Append {
        /// The heading.
        heading: Option<String>,
        /// The text.
        text: String,
    },
    /// Puts a text in the place of all that stands below a heading, down to the next one of its level. Where there is no
    /// text, the heading goes too.
    Replace {
        /// The heading.
        heading: String,
        /// The text.
        text: String,
    },
}

/// A part of a text below a heading.
pub(crate) struct Section {
    pub(crate) heading: Heading,
    /// With its heading and all that stands deeper.
    pub(crate) whole: Range<usize>,
    /// Where the first heading within it begins, or its end.
    own_end: usize,
}

/// The text after a change.
pub(crate) fn apply(name: &Name, text: &str, edit: &Edit) -> Result<String, Error> {
    match edit {
        Edit::Append { text: added, .. } if added.trim().is_empty() => Err(Error::Empty),
        Edit::Append { heading: None, text: added } => Ok(joined(text, added, "")),
        Edit::Append { heading: Some(heading), text: added } => {
            let section = find(name, text, heading)?;
            let (before, after) = text.split_at(section.own_end);
            Ok(joined(before, added, after))
        }
        Edit::Replace { heading, text: new } => {
            let section = find(name, text, heading)?;
            let after = text.get(section.whole.end..).unwrap_or_default();
            let new = without_heading(new, &section.heading);
            if new.trim().is_empty() {
                let before = text.get(..section.whole.start).unwrap_or_default();
                return Ok(format!("{before}{after}"));
            }
            let before = text.get(..section.heading.range.end).unwrap_or_default();
            Ok(joined(before, new, after))
        }
    }
}

/// Three texts with an empty line between each two.
fn joined(before: &str, text: &str, after: &str) -> String {
    let (before, after) = (before.trim_end(), after.trim_start_matches(['\n', '\r']));
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let first = if before.is_empty() { "" } else { "\n\n" };
    let last = if after.is_empty() { "\n" } else { "\n\n" };
    format!("{before}{first}{text}{last}{after}")
}

/// A text without the heading that it is put below, where it begins with that.
fn without_heading<'a>(text: &'a str, heading: &Heading) -> &'a str {
    match headings(text).first() {
        Some(first)
            if text.get(..first.range.start).is_some_and(|before| before.trim().is_empty())
                && same(&first.title, &heading.title) =>
        {
            text.get(first.range.end..).unwrap_or_default()
        }
        _ => text,
    }
}

/// Finds a heading by its words, with or without those above it: `A > B`.
pub(crate) fn find(name: &Name, text: &str, wanted: &str) -> Result<Section, Error> {
    let all = of_body(text);
    let path: Vec<&str> = wanted.split('>').map(plain).collect();
    let found: Vec<usize> = (0..all.len()).filter(|at| ends_with(&all, *at, &path)).collect();
    match found.as_slice() {
        [at] => Ok(section(text, &all, *at)),
        [] => Err(no_heading(name, &all, wanted)),
        many => {
            let mut lines = Lines::of(text);
            let places =
                many.iter().filter_map(|at| all.get(*at)).map(|heading| lines.of_byte(heading.range.start).to_string());
            let lines = places.collect::<Vec<_>>().join(", ");
            Err(Error::Ambiguous { name: name.to_string(), heading: wanted.to_owned(), lines })
        }
    }
}

/// The headings of a text, without its front matter.
pub(crate) fn of_body(text: &str) -> Vec<Heading> {
    let (_, start) = front::read(text);
    let mut all = headings(text.get(start..).unwrap_or_default());
    for heading in &mut all {
        heading.range = heading.range.start + start..heading.range.end + start;
    }
    all
}

fn section(text: &str, all: &[Heading], at: usize) -> Section {
    let heading = all[at].clone();
    let below = all.get(at + 1..).unwrap_or_default();
    let own_end = below.first().map_or(text.len(), |next| next.range.start);
    let end = below.iter().find(|next| next.level <= heading.level).map_or(text.len(), |next| next.range.start);
    Section { whole: heading.range.start..end, own_end, heading }
}

/// Whether a heading and those above it end as a path says.
fn ends_with(all: &[Heading], at: usize, path: &[&str]) -> bool {
    let mut level = u8::MAX;
    let mut wanted = path.iter().rev();
    let Some(mut next) = wanted.next() else { return false };
    for heading in all.iter().take(at + 1).rev() {
        if heading.level >= level {
            continue;
        }
        let is_first = level == u8::MAX;
        level = heading.level;
        if same(&heading.title, next) {
            match wanted.next() {
                Some(above) => next = above,
                None => return true,
            }
        } else if is_first {
            return false;
        }
    }
    false
}

/// A heading as it may be asked for: with or without its signs.
fn plain(heading: &str) -> &str {
    heading.trim().trim_start_matches('#').trim()
}

fn same(a: &str, b: &str) -> bool {
    let folded = |text: &str| fold(plain(text)).split_whitespace().collect::<Vec<_>>().join(" ");
    folded(a) == folded(b)
}

fn no_heading(name: &Name, all: &[Heading], wanted: &str) -> Error {
    let mut near: Vec<_> = all.iter().take(NAMED).map(|heading| format!("\"{}\"", heading.title)).collect();
    if all.len() > NAMED {
        near.push(format!("and {} more", all.len() - NAMED));
    }
    let near = if near.is_empty() { ": it has none".to_owned() } else { format!("; it has {}", near.join(", ")) };
    Error::NoHeading { name: name.to_string(), heading: wanted.chars().take(120).collect(), near }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "---\naudience: members\n---\n# House\n\nold\n\n## Heating\n\noil\n\n### Key\n\ndoor\n\n## Wi-Fi\n\ncat\n\n# Shed\n\n## Key\n\nnone\n";

    fn name() -> Name {
        Name::parse("home").expect("a name")
    }

    fn append(heading: Option<&str>, text: &str) -> Result<String, Error> {
        apply(&name(), TEXT, &Edit::Append { heading: heading.map(str::to_owned), text: text.to_owned() })
    }

    fn replace(heading: &str, text: &str) -> Result<String, Error> {
        apply(&name(), TEXT, &Edit::Replace { heading: heading.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_text_goes_where_it_was_meant_to() {
        assert_eq!(append(None, "end\n").expect("added"), format!("{TEXT}\nend\n"));
        let added = append(Some("heating"), "Since 1999.").expect("added");
        assert_eq!(added, TEXT.replace("oil\n", "oil\n\nSince 1999.\n"));
        let added = append(Some("## shed > KEY"), "lost").expect("added");
        assert_eq!(added, TEXT.replace("none\n", "none\n\nlost\n"));
        let replaced = replace("House > Heating", "## Heating\n\ngas").expect("replaced");
        assert_eq!(replaced, TEXT.replace("oil\n\n### Key\n\ndoor\n", "gas\n"));
        assert_eq!(replace("Wi-Fi", " ").expect("removed"), TEXT.replace("## Wi-Fi\n\ncat\n\n", ""));
    }

    #[test]
    fn what_is_not_clear_is_said() {
        let said = |edited: Result<String, Error>| edited.expect_err("it is refused").to_string();
        insta::assert_snapshot!(said(replace("Key", "x")), @r#""Key" stands at the lines 12, 22 of "home"; write the headings above it too, as in "A > B""#);
        insta::assert_snapshot!(said(append(Some("Roof"), "x")), @r#"the knowledge base "home" has no heading "Roof"; it has "House", "Heating", "Key", "Wi-Fi", "Shed", "Key""#);
        assert!(matches!(append(None, " \n"), Err(Error::Empty)));
    }

    proptest! {
        #[test]
        fn adding_loses_nothing(text in "(# [a-c]\n|[a-w。 ]{0,9}\n|\n){0,12}", added in "[x-z]{1,9}") {
            let edited = apply(&name(), &text, &Edit::Append { heading: None, text: added.clone() }).expect("added");
            prop_assert!(edited.starts_with(text.trim_end()) && edited.trim_end().ends_with(&added));
            for heading in headings(&text) {
                let Ok(section) = find(&name(), &text, &heading.title) else { continue };
                let edit = Edit::Append { heading: Some(heading.title.clone()), text: added.clone() };
                let edited = apply(&name(), &text, &edit).expect("added");
                let mut rest: Vec<&str> = edited.split_whitespace().collect();
                let at = rest.iter().position(|word| *word == added).expect("it is there");
                rest.remove(at);
                prop_assert_eq!(rest, text.split_whitespace().collect::<Vec<_>>());
                prop_assert!(section.whole.end <= text.len());
            }
        }
    }
}
