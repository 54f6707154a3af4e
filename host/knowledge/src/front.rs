//! What stands above the text of a file, between two lines of `---`: what the file is, and for whom.

use crate::Circle;

/// The longest front matter that is read, in bytes.
const LONGEST: usize = 16 * 1024;

/// The longest title and description, in characters.
const LONGEST_VALUE: usize = 200;

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) circle: Circle,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// The file was made of what others wrote, such as a page of the web.
    pub(crate) source: Option<String>,
    /// What is wrong with it, as a sentence.
    pub(crate) problem: Option<String>,
}

/// Reads the front matter of a text; with it, how many bytes of the text it takes. Keys that mean nothing here are left
/// to whoever wrote them.
pub(crate) fn read(text: &str) -> (Front, usize) {
    let mut front = Front { circle: Circle::Members, title: None, description: None, source: None, problem: None };
    let Some((block, length)) = block(text) else { return (front, 0) };
    for line in block.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let plain = value.trim_matches(['"', '\'']).chars().take(LONGEST_VALUE).collect::<String>();
        let kept = (!plain.is_empty()).then_some(plain);
        match key {
            "audience" => match Circle::parse(value) {
                Some(circle) => front.circle = circle,
                None => {
                    // Who writes a word here means to keep something from somebody.
                    front.circle = Circle::Owner;
                    let word: String = value.chars().filter(|c| !c.is_control()).take(40).collect();
                    front.problem = Some(format!(
                        "its audience is \"{word}\", which is none of owner, members and everyone; until that is put \
                         right only the owner sees it"
                    ));
                }
            },
            "title" => front.title = kept,
            "description" | "summary" => front.description = kept,
            "source" => front.source = kept,
            _ => {}
        }
    }
    (front, length)
}

/// What stands between the lines, and how far both reach.
fn block(text: &str) -> Option<(&str, usize)> {
    let head = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text);
    let mut lines = head.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((head.get(first.len()..at)?, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Front matter for a file that is made here.
pub(crate) fn write(circle: Circle, title: Option<&str>, source: Option<&str>) -> String {
    let mut lines = String::new();
    if circle != Circle::Members {
        lines.push_str(&format!("audience: {circle}\n"));
    }
    for (key, value) in [("title", title), ("source", source)] {
        let value: String = value.unwrap_or_default().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let value = value.trim();
        if !value.is_empty() {
            lines.push_str(&format!("{key}: {}\n", value.chars().take(LONGEST_VALUE).collect::<String>()));
        }
    }
    if lines.is_empty() { lines } else { format!("---\n{lines}---\n\n") }
}

/// The ending by which a source is known as a page of the web.
const PAGE: &str = ".html";

/// Whether a source is a page of the web: strangers may have written it.
pub(crate) fn is_page(source: &str) -> bool {
    let source = source.trim_end().to_ascii_lowercase();
    [PAGE, ".htm", ".xhtml"].iter().any(|ending| source.ends_with(ending))
}

/// A page's source as it is written down: so that it is known as a page, whatever its file is called.
pub(crate) fn source_of_page(file: &str) -> String {
    let plain: String = file.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.trim().trim_matches(['"', '\'']);
    if is_page(plain) && plain.chars().count() <= LONGEST_VALUE {
        return plain.to_owned();
    }
    let short: String = plain.chars().take(LONGEST_VALUE - PAGE.len()).collect();
    format!("{short}{PAGE}")
}

/// A text with a source in its front matter, in the place of the one that stood there.
pub(crate) fn with_source(text: &str, source: &str) -> String {
    let (front, length) = read(text);
    if length == 0 {
        return format!("{}{text}", write(front.circle, None, Some(source)));
    }
    let (above, below) = text.split_at_checked(length).unwrap_or(("", text));
    let mut lines = above.split_inclusive('\n');
    let mut all = lines.next().unwrap_or_default().to_owned();
    all.push_str(&format!("source: {source}\n"));
    all.extend(lines.filter(|line| !line.starts_with("source:")));
    all.push_str(below);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_for_whom_it_is() {
        let text = "---\r\naudience: Owner\r\ntitle: \"The safe\"\r\ntags:\r\n  - x\r\n---\r\nbody";
        let (front, length) = read(text);
        assert_eq!((front.circle, front.title.as_deref()), (Circle::Owner, Some("The safe")));
        assert_eq!(text.get(length..), Some("body"));
        let (front, length) = read("--- not closed\naudience: everyone\n");
        assert_eq!((front.circle, length), (Circle::Members, 0));
        assert_eq!(read("text\n---\naudience: owner\n---\n").1, 0);
        let (front, _) = read("---\naudience: my wife\n---\n");
        assert!(front.circle == Circle::Owner && front.problem.expect("it is told").contains("my wife"));
    }

    #[test]
    fn what_is_written_reads_back() {
        let written = write(Circle::Everyone, Some("A\nB"), Some("page.html"));
        let (front, length) = read(&written);
        assert_eq!((front.circle, front.title.as_deref()), (Circle::Everyone, Some("A B")));
        assert_eq!((front.source.as_deref(), length), (Some("page.html"), written.len() - 1));
        assert_eq!(write(Circle::Members, None, None), "");
    }

    #[test]
    fn a_page_is_known_by_its_source_whatever_its_file_is_called() {
        for file in
            ["page.html", "PAGE.HTM", "page", "a\n", "\"x\"", &"长".repeat(400), &format!("{}.html", "a".repeat(400))]
        {
            let written = write(Circle::Members, None, Some(&source_of_page(file)));
            let source = read(&written).0.source.expect("a source");
            assert!(is_page(&source), "{file:?}: {source}");
        }
        assert!(!is_page("notes.md") && !is_page("html"));
    }

    #[test]
    fn a_source_takes_the_place_of_another() {
        assert_eq!(with_source("text", "x.html"), "---\nsource: x.html\n---\n\ntext");
        let text = "---\naudience: owner\nsource: a.md\ntags: x\n---\nsource: words\n";
        let changed = with_source(text, "x.html");
        assert_eq!(changed, "---\nsource: x.html\naudience: owner\ntags: x\n---\nsource: words\n");
    }
}
