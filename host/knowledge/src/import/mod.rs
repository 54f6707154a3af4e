//! Files of others made into the text of a base: Markdown and text as they are, HTML as Markdown.

mod html;

use homeagent_language::text::fold;

use crate::chunk::headings;
use crate::decode::decode;
use crate::{Circle, Edit, Error, Name, front, section};

/// The kinds of files that can be read, by how their names end.
const KINDS: &[(&str, Kind)] = &[
    ("md", Kind::Text),
    ("markdown", Kind::Text),
    ("txt", Kind::Text),
    ("text", Kind::Text),
    ("html", Kind::Html),
    ("htm", Kind::Html),
    ("xhtml", Kind::Html),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Html,
}

/// A file that was read.
pub(crate) struct Imported {
    /// Markdown, without front matter.
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    /// For whom it says that it is.
    pub(crate) circle: Option<Circle>,
    /// It is a page of the web, which strangers may have written.
    pub(crate) page: bool,
    /// What is to be known of how it was read.
    pub(crate) notes: Vec<String>,
}

/// Reads a file. `file` is its name, whose ending says what it is; without one that is known, its beginning does.
pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<Imported, Error> {
    let kind = kind(file, bytes)?;
    let label = (kind == Kind::Html).then(|| html::label(bytes)).flatten();
    let decoded = decode(bytes, label.as_deref());
    let mut notes = Vec::new();
    if decoded.damaged {
        notes.push("some of it is in no encoding that is known; signs of replacement stand in its place".to_owned());
    }
    if let Some(encoding) = decoded.encoding {
        notes.push(format!("it was written in {encoding}, and is kept as UTF-8"));
    }
    let text = decoded.text.replace('\0', "\u{fffd}");
    let imported = match kind {
        Kind::Html => {
            let page = html::to_markdown(&text)?;
            Imported { text: page.text, title: page.title, circle: None, page: true, notes }
        }
        Kind::Text => {
            let (front, start) = front::read(&text);
            let says = start > 0 && text.get(..start).is_some_and(|front| front.contains("audience:"));
            notes.extend(front.problem);
            let body = text.get(start..).unwrap_or_default().to_owned();
            Imported { text: body, title: front.title, circle: says.then_some(front.circle), page: false, notes }
        }
    };
    if imported.text.trim().is_empty() {
        return Err(Error::Empty);
    }
    Ok(imported)
}

fn kind(file: &str, bytes: &[u8]) -> Result<Kind, Error> {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    if let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == ending) {
        return Ok(*kind);
    }
    let head = bytes.get(..1024).unwrap_or(bytes);
    let head = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    if head.starts_with("<!doctype html") || head.starts_with("<html") {
        return Ok(Kind::Html);
    }
    if ending.is_empty() && !bytes.contains(&0) {
        return Ok(Kind::Text);
    }
    let known = KINDS.iter().map(|(ending, _)| *ending).collect::<Vec<_>>().join(", ");
    let file: String = file.chars().filter(|c| !c.is_control()).take(100).collect();
    Err(Error::Unreadable(format!("\"{file}\" is no file that can be read: there are {known}")))
}

/// A whole text of a base, made of a file.
pub(crate) fn whole(file: &str, imported: &Imported) -> String {
    let source = if imported.page { front::source_of_page(file) } else { file.to_owned() };
    let front = front::write(imported.circle.unwrap_or(Circle::Members), imported.title.as_deref(), Some(&source));
    format!("{front}{}\n", imported.text.trim_matches(['\n', '\r']).trim_end())
}

/// The text of a new base with a file as its first section. The base is for whom the file is.
pub(crate) fn begun(name: &Name, file: &str, imported: &Imported) -> Result<String, Error> {
    let front = front::write(imported.circle.unwrap_or(Circle::Members), None, None);
    let text = format!("{front}{}", section_of(name, "", file, imported)?);
    Ok(if imported.page { front::with_source(&text, &front::source_of_page(file)) } else { text })
}

/// A base's text with a file put into it, below a heading that is called as the file; one of that name makes room. With a
/// page of the web the base counts as one.
pub(crate) fn joined(name: &Name, text: &str, file: &str, imported: &Imported) -> Result<String, Error> {
    let front = front::read(text).0;
    if let Some(circle) = imported.circle.filter(|circle| *circle > front.circle) {
        return Err(Error::Narrower { name: name.to_string(), file: circle, base: front.circle });
    }
    let joined = section_of(name, text, file, imported)?;
    let is_marked = !imported.page || front.source.as_deref().is_some_and(front::is_page);
    Ok(if is_marked { joined } else { front::with_source(&joined, &front::source_of_page(file)) })
}

fn section_of(name: &Name, text: &str, file: &str, imported: &Imported) -> Result<String, Error> {
    let heading: String = file.chars().map(|c| if c.is_control() || c == '>' { ' ' } else { c }).collect();
    let below = deeper(&imported.text);
    let top: Vec<_> = section::of_body(text).into_iter().filter(|heading| heading.level == 1).collect();
    let is_there = top.iter().filter(|there| fold(&there.title) == fold(heading.trim())).count() == 1;
    if is_there {
        return section::apply(name, text, &Edit::Replace { heading: heading.trim().to_owned(), text: below });
    }
    let text_of_file = format!("# {}\n\n{}", heading.trim(), below.trim());
    section::apply(name, text, &Edit::Append { heading: None, text: text_of_file })
}

/// A text with each heading a level deeper.
fn deeper(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for heading in headings(text) {
        let lines = text.get(heading.range.clone()).unwrap_or_default();
        all.push_str(text.get(at..heading.range.start).unwrap_or_default());
        if lines.starts_with('#') && heading.level < 6 {
            all.push('#');
            all.push_str(lines);
        } else if lines.starts_with('#') {
            all.push_str(lines);
        } else {
            // One that is underlined.
            all.push_str(&format!("{} {}", "#".repeat(usize::from(heading.level) + 1), heading.title));
        }
        at = heading.range.end;
    }
    all.push_str(text.get(at..).unwrap_or_default());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_by_what_they_are() {
        let read = |file: &str, bytes: &[u8]| read(file, bytes).map(|imported| imported.text);
        assert_eq!(read("a.MD", b"# A\n").expect("read"), "# A\n");
        assert_eq!(read("README", "家".as_bytes()).expect("read"), "家");
        assert_eq!(read("page", b"<!DOCTYPE html><h1>A</h1><p>b</p>").expect("read"), "# A\n\nb");
        assert!(matches!(read("a.pdf", b"%PDF-1.7"), Err(Error::Unreadable(_))));
        assert!(matches!(read("a.txt", b" \n"), Err(Error::Empty)));
    }

    #[test]
    fn what_a_file_says_of_itself_is_kept() {
        let imported = read("safe.md", b"---\naudience: owner\ntitle: Safe\n---\n1234").expect("read");
        let whole = whole("safe.md", &imported);
        assert_eq!(whole, "---\naudience: owner\ntitle: Safe\nsource: safe.md\n---\n\n1234\n");
        let imported = read("a.txt", &[0xff, 0xfe, b'h', 0, b'i', 0]).expect("read");
        assert_eq!(imported.notes, ["it was written in UTF-16LE, and is kept as UTF-8"]);
    }

    #[test]
    fn files_of_a_folder_become_sections_and_take_their_own_place_again() {
        let name = Name::parse("handbook").expect("a name");
        let file = |text: &str| read("x.md", text.as_bytes()).expect("read");
        let one = begun(&name, "a/one.md", &file("# One\n\n```\n# no\n```\nTwo\n---\n")).expect("joined");
        assert_eq!(one, "# a/one.md\n\n## One\n\n```\n# no\n```\n### Two\n");
        let two = joined(&name, &one, "b.md", &file("words")).expect("joined");
        let again = joined(&name, &two, "a/one.md", &file("new")).expect("joined");
        assert_eq!(again, "# a/one.md\n\nnew\n\n# b.md\n\nwords\n");
    }
}
