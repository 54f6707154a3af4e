//! Pages of the web as Markdown. They are written by anybody, so what is made of them is bounded: attributes on elements
//! that change how letters look are dropped before the page is parsed, since the standard has the parser open those anew
//! in each paragraph that follows, and a page that is nested without end is refused.

use htmd::options::{BulletListMarker, Options};
use htmd::{HtmlToMarkdown, Node};
use std::collections::HashMap;
use std::rc::Rc;

use crate::Error;

/// The largest page, in bytes: a tree takes many times the room of its text.
const LARGEST: usize = 8 << 20;

/// How deep elements may lie in each other. Browsers give up at 512.
const DEEPEST: usize = 200;

/// How many elements may be open at once by what the page says, and how many tags it may have: whatever the parser does
/// for a tag, it may do it for each element that is open.
const MOST_OPEN: usize = 2_000;
const MOST_TAGS: usize = 300_000;

/// Elements that have no end, or that the next one ends.
const BRIEF: [&str; 33] = [
    "area", "base", "basefont", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "frame", "head", "hr",
    "html", "img", "input", "li", "link", "meta", "option", "optgroup", "p", "param", "rp", "rt", "source", "tbody",
    "td", "th", "tr", "track", "wbr",
];

/// Elements whose text is none of the page's.
const SILENT: [&str; 12] =
    ["script", "style", "noscript", "template", "iframe", "object", "svg", "canvas", "nav", "footer", "form", "head"];

/// Elements that the parser opens anew.
const LETTERS: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// A page that was read.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) title: Option<String>,
}

/// The encoding that a page says of itself, in its first bytes.
pub(super) fn label(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(bytes.get(..2048).unwrap_or(bytes)).to_ascii_lowercase();
    let (_, after) = head.split_once("charset=")?;
    let label: String = after
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_:".contains(*c))
        .collect();
    (!label.is_empty()).then_some(label)
}

/// The text of a page as Markdown.
pub(super) fn to_markdown(page: &str) -> Result<Page, Error> {
    if page.len() > LARGEST {
        let mib = LARGEST >> 20;
        return Err(Error::Unreadable(format!("the page has more than {mib} MiB; save it as text, and import that")));
    }
    if is_endless(page) {
        let text = "the page opens more elements than it closes, or has too many; save it as text, and import that";
        return Err(Error::Unreadable(text.to_owned()));
    }
    let failed = |error: std::io::Error| Error::Unreadable(format!("the page can't be read: {error}"));
    let options = Options { bullet_list_marker: BulletListMarker::Dash, ul_bullet_spacing: 1, ..Options::default() };
    let converter = HtmlToMarkdown::builder()
        .options(Options { ol_number_spacing: 1, ..options })
        .skip_tags(SILENT.to_vec())
        .build();
    let tree = converter.html_to_tree(&without_attributes(page)).map_err(failed)?;
    if is_deeper_than(&tree, DEEPEST) {
        let text = format!("the page is nested deeper than {DEEPEST} elements; save it as text, and import that");
        return Err(Error::Unreadable(text));
    }
    let text = converter.tree_to_markdown(&tree);
    Ok(Page { text, title: title(page) })
}

/// Whether a page has so many tags, or so many that open something which nothing closes, that parsing it takes minutes.
fn is_endless(page: &str) -> bool {
    let (mut open, mut all_open, mut tags): (HashMap<String, usize>, usize, usize) = (HashMap::new(), 0, 0);
    for at in memchr::memchr_iter(b'<', page.as_bytes()) {
        let tag = page.get(at + 1..).unwrap_or_default();
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let length = tag.bytes().take(32).take_while(u8::is_ascii_alphanumeric).count();
        let name = tag.get(..length).unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() || BRIEF.contains(&name.as_str()) {
            continue;
        }
        tags += 1;
        let of_name = open.entry(name).or_default();
        match (closes, *of_name) {
            (false, _) => (*of_name, all_open) = (*of_name + 1, all_open + 1),
            (true, 0) => {}
            (true, _) => (*of_name, all_open) = (*of_name - 1, all_open - 1),
        }
        if all_open > MOST_OPEN || tags > MOST_TAGS {
            return true;
        }
    }
    false
}

/// Whether nodes lie deeper in each other. It does not call itself: that is what is to be found out.
fn is_deeper_than(tree: &Rc<Node>, most: usize) -> bool {
    let mut open = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > most {
            return true;
        }
        open.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    false
}

/// A page without the attributes of elements that change how letters look.
fn without_attributes(page: &str) -> String {
    let mut kept = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(at) = memchr::memchr(b'<', rest.as_bytes()) {
        let (before, tag) = rest.split_at(at + 1);
        kept.push_str(before);
        rest = tag;
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let has_attributes =
            tag.as_bytes().get(name.len()).is_some_and(|next| next.is_ascii_whitespace() || *next == b'/');
        if has_attributes && LETTERS.iter().any(|letters| name.eq_ignore_ascii_case(letters)) {
            kept.push_str(name);
            rest = tag.get(end_of_tag(tag)..).unwrap_or_default();
        }
    }
    kept.push_str(rest);
    kept
}

/// Where a tag ends, at its `>`; one in quotation marks is none.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.len()
}

/// What stands between the page's `title` tags.
fn title(page: &str) -> Option<String> {
    let head = page.get(..page.floor_char_boundary(64 * 1024)).unwrap_or(page);
    let lower = head.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    let title = htmd::convert(head.get(start..end)?).ok()?.replace('\\', "");
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_becomes_its_text() {
        let page = r##"<!doctype html><html><head><title>The &amp; boiler</title><style>p{color:red}</style>
            <script>alert("no")</script></head><body><nav><a href="/">Home</a></nav><h1 class="x">Boiler</h1>
            <p>It stands in the <b style="x">cellar</b>, see <a href="https://e.org/a">there</a>.</p>
            <ul><li>oil</li><li>gas<ul><li>new</li></ul></li></ul>
            <table><tr><th>Year</th><th>Price</th></tr><tr><td>2026</td><td>10</td></tr></table>
            <pre><code>make &lt;all&gt;</code></pre><footer>imprint</footer><script>no()</script></body></html>"##;
        let read = to_markdown(page).expect("it is read");
        assert_eq!(read.title.as_deref(), Some("The & boiler"));
        insta::assert_snapshot!(read.text, @r"
        # Boiler

        It stands in the **cellar**, see [there](https://e.org/a).

        - oil
        - gas
          - new

        | Year | Price |
        | ---- | ----- |
        | 2026 | 10    |

        ```
        make <all>
        ```
        ");
    }

    #[test]
    fn a_page_that_means_harm_is_bounded() {
        for deep in
            ["<div>".repeat(1_000_000), "<div>".repeat(1_000), "<ul><li>".repeat(300), "<x></y>".repeat(200_000)]
        {
            assert!(matches!(to_markdown(&deep), Err(Error::Unreadable(_))));
        }
        let multiplying: String = (0..1_000).map(|at| format!("<b x={at}><p>word")).collect();
        let read = to_markdown(&multiplying).map(|page| page.text.len());
        assert!(!matches!(read, Ok(length) if length > 10 * multiplying.len()), "{read:?}");
    }

    #[test]
    fn the_encoding_is_found() {
        assert_eq!(label(b"<meta charset=\"GBK\">").as_deref(), Some("gbk"));
        assert_eq!(label(b"<meta http-equiv=x content='text/html; charset=gb2312'>").as_deref(), Some("gb2312"));
        assert_eq!(label(b"<p>"), None);
    }

    proptest! {
        #[test]
        fn any_page_is_read_or_refused(page in "(<[a-z/]{1,5}[^<>]{0,6}>|[a-z家<&;\"']{0,8}){0,40}") {
            drop(to_markdown(&page));
        }
    }
}
