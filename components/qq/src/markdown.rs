//! Markdown as text that reads well where nothing is rendered.
//!
//! CommonMark's own rules serve badly here: they make `2*3*4` emphasis and leave the marks of `**“重点”**吗` standing.
//! What is not plainly a mark stays as it is.

/// Marks within marks that are looked at.
const DEEPEST: u8 = 8;

/// A longer line, in bytes, is not looked through: no line for people is so long, and it would take long.
const LONGEST_LINE: usize = 16 << 10;

/// The text without its marks.
pub(crate) fn plain(markdown: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        if let Some(mark) = fence {
            if trimmed.starts_with(mark) && trimmed.trim_end().chars().all(|c| mark.starts_with(c)) {
                fence = None;
            } else {
                lines.push(line.to_owned());
            }
            continue;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            fence = Some(mark);
            continue;
        }
        if let Some(line) = plain_line(line, trimmed) {
            lines.push(line);
        }
    }
    let text = lines.join("\n");
    squeeze(text.trim_matches('\n'))
}

/// One line outside code; nothing, where it is a mark alone.
fn plain_line(line: &str, trimmed: &str) -> Option<String> {
    if is_rule(trimmed) {
        return Some("————————".to_owned());
    }
    if is_table_rule(trimmed) {
        return None;
    }
    if let Some(cells) = table_row(trimmed) {
        return Some(cells.iter().map(|cell| inline(cell)).collect::<Vec<_>>().join(" | "));
    }
    if let Some(heading) = heading(trimmed) {
        return Some(format!("【{}】", inline(heading)));
    }
    let indent = if trimmed.is_empty() { "" } else { &line[..line.len() - trimmed.len()] };
    for (mark, sign) in [("- [ ] ", "☐ "), ("- [x] ", "☑ "), ("- [X] ", "☑ "), ("- ", "• "), ("* ", "• "), ("+ ", "• ")]
    {
        if let Some(item) = trimmed.strip_prefix(mark) {
            return Some(format!("{indent}{sign}{}", inline(item)));
        }
    }
    if let Some(quote) = trimmed.strip_prefix('>') {
        let quote = quote.trim_start_matches(['>', ' ']);
        return Some(format!("{indent}｜{}", inline(quote)));
    }
    Some(format!("{indent}{}", inline(trimmed.trim_end())))
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let marks = line.len() - text.len();
    let is_one = (1..=6).contains(&marks) && text.starts_with(' ');
    let text = text.trim().trim_end_matches('#').trim().trim_matches('*');
    (is_one && !text.is_empty()).then_some(text)
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    let more = marks.clone().count();
    more >= 2 && marks.all(|c| c == first)
}

/// The line below a table's head.
fn is_table_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.contains('|') && line.contains("--") && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn table_row(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim_end().strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

/// A line's text without marks of emphasis, code and links.
fn inline(text: &str) -> String {
    if text.len() > LONGEST_LINE { text.to_owned() } else { within(text, 0) }
}

/// The same, within so many marks.
fn within(text: &str, depth: u8) -> String {
    if depth > DEEPEST {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut last = None;
    while let Some(next) = rest.chars().next() {
        let (written, read) = mark(rest, (last, next), depth).unwrap_or_else(|| (next.to_string(), next.len_utf8()));
        plain.push_str(&written);
        last = rest[..read].chars().next_back();
        rest = &rest[read..];
    }
    plain
}

/// What the mark at the beginning of `rest` comes to, and how much of `rest` that takes; nothing, where it is none.
/// `last` stands before it, `next` is its first character.
fn mark(rest: &str, (last, next): (Option<char>, char), depth: u8) -> Option<(String, usize)> {
    match next {
        '\\' => {
            let escaped = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
            Some((escaped.to_string(), 2))
        }
        '`' => code(rest),
        '!' if rest.starts_with("![") => {
            let (written, read) = link(&rest[1..], depth)?;
            Some((written, read + 1))
        }
        '[' => link(rest, depth),
        '<' => autolink(rest),
        '*' | '_' | '~' => emphasis(rest, (last, next), depth),
        _ => None,
    }
}

fn code(rest: &str) -> Option<(String, usize)> {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let (mark, after) = rest.split_at(ticks);
    let end = after.find(mark)?;
    let text = &after[..end];
    // A space on both sides only keeps ticks apart.
    let inner = text.strip_prefix(' ').and_then(|text| text.strip_suffix(' ')).filter(|text| text.contains('`'));
    (!text.is_empty()).then(|| (inner.unwrap_or(text).to_owned(), ticks + end + ticks))
}

/// `[text](address)`.
fn link(rest: &str, depth: u8) -> Option<(String, usize)> {
    let middle = rest.find("](")?;
    let text = &rest[1..middle];
    let target = &rest[middle + 2..];
    let end = closing(target)?;
    let address = target[..end].split([' ', '\n']).next().unwrap_or_default().trim_matches(['<', '>']);
    if text.contains('\n') || text.contains('[') || address.is_empty() {
        return None;
    }
    let text = within(text, depth + 1);
    let written =
        if text.is_empty() || text == address { address.to_owned() } else { format!("{text}（{address}）") };
    Some((written, middle + 2 + end + 1))
}

/// Where the bracket that is open closes; addresses may have brackets of their own.
fn closing(target: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in target.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `<https://address>` and `<br>`.
fn autolink(rest: &str) -> Option<(String, usize)> {
    let end = rest.find('>')?;
    let inside = &rest[1..end];
    if matches!(inside, "br" | "br/" | "br /") {
        return Some(("\n".to_owned(), end + 1));
    }
    crate::segment::is_address(inside).then(|| (inside.to_owned(), end + 1))
}

fn emphasis(rest: &str, (last, sign): (Option<char>, char), depth: u8) -> Option<(String, usize)> {
    let count = rest.chars().take_while(|c| *c == sign).count();
    let is_wide = count >= 2;
    if count > 3 || (sign == '~' && count != 2) {
        return None;
    }
    let (mark, after) = rest.split_at(count);
    // One sign inside a word or a sum is no mark, nor are the underscores of a name.
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let strict = !is_wide || sign == '_';
    if after.starts_with(char::is_whitespace) || (strict && is_word(last)) {
        return None;
    }
    let mut from = 0;
    loop {
        let end = from + after[from..].find(mark)?;
        let inside = &after[..end];
        let follows = after[end + count..].chars().next();
        let fits = !inside.is_empty() && !inside.ends_with(char::is_whitespace) && follows != Some(sign);
        if fits && !inside.ends_with(sign) && !(strict && is_word(follows)) {
            return Some((within(inside, depth + 1), count + end + count));
        }
        from = end + after[end..].chars().take_while(|c| *c == sign).count().max(1);
    }
}

/// At most one empty line in a row.
fn squeeze(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.split('\n') {
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            if !squeezed.is_empty() {
                squeezed.push('\n');
            }
            squeezed.push_str(line);
        }
    }
    squeezed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_are_taken_out() {
        for (markdown, text) in [
            ("## 标题 ##", "【标题】"),
            ("这是**重点**吗", "这是重点吗"),
            ("**“重点”**吗", "“重点”吗"),
            ("***both*** and *one* and __two__ and ~~gone~~", "both and one and two and gone"),
            ("- 一\n  - 二\n* 三\n1. 四", "• 一\n  • 二\n• 三\n1. 四"),
            ("- [ ] 买菜\n- [x] 做饭", "☐ 买菜\n☑ 做饭"),
            ("> 引用\n> 两行", "｜引用\n｜两行"),
            ("用 `cargo run` 吧", "用 cargo run 吧"),
            ("``a`b``", "a`b"),
            ("见[文档](https://a.b/c_(d) \"t\")。", "见文档（https://a.b/c_(d)）。"),
            ("![图](https://a/b.png) [https://x](https://x) <https://y>", "图（https://a/b.png） https://x https://y"),
            ("| 名 | 值 |\n|----|:--:|\n| a | **1** |", "名 | 值\na | 1"),
            ("上\n\n\n\n---\n下", "上\n\n————————\n下"),
            ("一<br>二", "一\n二"),
            (r"\*不是\* \[强调\]", "*不是* [强调]"),
        ] {
            assert_eq!(plain(markdown), text, "{markdown}");
        }
    }

    #[test]
    fn what_is_no_mark_stays() {
        for text in [
            "2*3*4 = 24",
            "a * b * c",
            "snake_case_name 和 _x_1",
            "#话题# 和 # 号",
            "5 > 3",
            "[CQ:at,qq=all]",
            "a[0](x",
            "C:\\Users\\me",
            "~5 元到~6 元",
            "**没有结束",
            "**** ____",
            "`没有结束",
            "1 | 2",
            "😀*",
        ] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn code_is_left_as_it_is() {
        let code = "```rust\nlet a = *b * **c;\n# not a heading\n\n\n- x\n```\n后";
        assert_eq!(plain(code), "let a = *b * **c;\n# not a heading\n\n- x\n后");
        assert_eq!(plain("~~~\n```\n~~~"), "```");
        assert_eq!(plain("```\n没有结束 **x**"), "没有结束 **x**");
    }

    proptest! {
        #[test]
        fn any_text_comes_to_an_end(text in "(\\*{1,4}|_{1,3}|~~|`{1,3}|\\[|\\]\\(|\\)|\n|# |> |\\| |- |<|>|\\\\|a|甲|😀| ){0,60}") {
            plain(&text);
        }

        #[test]
        fn text_without_marks_stays(text in "[a-z甲乙😀，。 ]{0,40}") {
            prop_assert_eq!(plain(&text), text.trim_end());
        }
    }
}
