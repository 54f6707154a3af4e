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
}
