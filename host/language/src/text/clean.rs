//! What channels put around what was said: who said it where, times, mentions of attachments. It is taken off before
//! anything is computed on the text, so that two messages are not alike because both came from one group.

use std::borrow::Cow;

/// Words by which the brackets of a channel's template are known, behind which the speaker's name stands.
const GROUPS: &[&str] = &["群聊", "群消息", "频道", "group", "channel"];

/// Words by which other templates are known, beside a name with an account.
const PLACES: &[&str] = &["私聊", "好友", "引用", "转发", "打断消息", "private"];

/// What a line in brackets begins with that only mentions something attached.
const ATTACHED: &str = "[attached:";

/// The longest template that is looked for, in characters: what is longer in brackets was said by somebody.
const LONGEST_TEMPLATE: usize = 96;

/// The longest name before a colon behind a template, in characters.
const LONGEST_NAME: usize = 32;

/// The text without the templates of channels at the beginnings of its lines (`[群聊 家人] 张三: `, `[Ann (1234)] `),
/// without times there (`2026-03-04 12:30:05`, `[12:30]`), without lines that only mention attachments, and without the
/// tags around a tool's data. What is left is as it was.
#[must_use]
pub fn clean_template_text(text: &str) -> Cow<'_, str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut changed = false;
    for line in text.split('\n') {
        let left = clean_line(line);
        changed |= left.len() != line.len();
        match left.trim().is_empty() && !line.trim().is_empty() {
            true => {}
            false => kept.push(left),
        }
    }
    match changed {
        true => Cow::Owned(kept.join("\n").trim().to_owned()),
        false => Cow::Borrowed(text.trim()),
    }
}

/// What is left of a line.
fn clean_line(line: &str) -> &str {
    let mut left = line.trim_start();
    if left.starts_with(ATTACHED) && left.trim_end().ends_with(']') {
        return "";
    }
    if is_data_tag(left.trim_end()) {
        return "";
    }
    // A template, a time and a name may stand behind each other, in any order of the first two.
    for _ in 0..4 {
        let before = left;
        if let Some((inside, rest)) = in_brackets(left) {
            if is_time(inside) {
                left = rest.trim_start();
            } else if begins_with(inside, GROUPS) {
                left = without_name(rest.trim_start());
            } else if begins_with(inside, PLACES) || names_an_account(inside) {
                left = rest.trim_start();
            }
        } else if let Some(rest) = without_time(left) {
            left = rest.trim_start_matches([' ', '\t', ',', '，', '-', '|']);
        }
        if left.len() == before.len() {
            break;
        }
    }
    // A line that keeps its beginning keeps its indentation too.
    if left.len() == line.trim_start().len() { line } else { left }
}

fn is_data_tag(line: &str) -> bool {
    line == "</data>" || (line.starts_with("<data from=\"") && line.ends_with("\">"))
}

/// What stands in the brackets with which a text begins, and what stands behind them.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let mut chars = text.char_indices();
    let close = match chars.next()?.1 {
        '[' => ']',
        '【' => '】',
        '(' => ')',
        '（' => '）',
        _ => return None,
    };
    let (at, _) = chars.take(LONGEST_TEMPLATE).find(|(_, c)| *c == close)?;
    let open = text.chars().next()?.len_utf8();
    Some((&text[open..at], &text[at + close.len_utf8()..]))
}

fn begins_with(inside: &str, words: &[&str]) -> bool {
    let lower = inside.trim().to_lowercase();
    words.iter().any(|word| lower.starts_with(word))
}

/// Whether brackets hold a name and an account: `Ann (1234)`.
fn names_an_account(inside: &str) -> bool {
    let Some((name, account)) = inside.trim().rsplit_once('(') else { return false };
    let Some(account) = account.strip_suffix(')') else { return false };
    let is_account = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '@');
    !name.trim().is_empty() && !account.is_empty() && account.chars().all(is_account)
}

/// A name and a colon behind a template, taken off.
fn without_name(text: &str) -> &str {
    let colon = text.char_indices().take(LONGEST_NAME).find(|(_, c)| matches!(c, ':' | '：' | '\n'));
    match colon {
        Some((at, c)) if c != '\n' && at > 0 && !text[at..].starts_with("://") => {
            text[at + c.len_utf8()..].trim_start()
        }
        _ => text,
    }
}

/// Whether a text is a time of day, a date, or both, and nothing else.
fn is_time(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && (without_time(text).is_some_and(|rest| rest.trim().is_empty()) || clock(text) == Some(text.len()))
}

/// What stands behind a date with a time of day, with which a text begins. A time of day or a date alone may be what
/// somebody speaks of.
fn without_time(text: &str) -> Option<&str> {
    let date = date(text)?;
    let rest = text[date..].trim_start_matches(['T', ' ', ',']);
    let time = clock(rest)?;
    Some(&rest[time..])
}

/// The bytes of a date such as `2026-03-04`, `2026/3/4` or `2026年3月4日` at the beginning of a text.
fn date(text: &str) -> Option<usize> {
    let (year, at) = number(text, 0, 4)?;
    let (first, at) = sign(text, at, &['-', '/', '.', '年'])?;
    let (month, at) = number(text, at, 2)?;
    let (_, at) = sign(text, at, if first == '年' { &['月'] } else { &['-', '/', '.'] })?;
    let (day, at) = number(text, at, 2)?;
    let at = if first == '年' { sign(text, at, &['日', '号'])?.1 } else { at };
    (year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day)).then_some(at)
}

/// The bytes of a time of day such as `9:05`, `12:30:05.123` with or without a zone at the beginning of a text.
fn clock(text: &str) -> Option<usize> {
    let (hour, at) = number(text, 0, 2)?;
    let (_, at) = sign(text, at, &[':', '：'])?;
    let (minute, mut at) = number(text, at, 2)?;
    if let Some((_, after)) = sign(text, at, &[':', '：'])
        && let Some((_, seconds)) = number(text, after, 2)
    {
        at = seconds;
        if let Some((_, after)) = sign(text, at, &['.', ','])
            && let Some((_, part)) = number(text, after, 9)
        {
            at = part;
        }
        at = zone(text, at);
    }
    (hour < 24 && minute < 60).then_some(at)
}

/// Where a zone such as `Z`, `+08:00` or `+0800` ends that begins there.
fn zone(text: &str, at: usize) -> usize {
    if let Some((_, after)) = sign(text, at, &['Z']) {
        return after;
    }
    let ended = || {
        let (_, after) = sign(text, at, &['+', '-'])?;
        let (_, after) = number(text, after, 2)?;
        let after = sign(text, after, &[':']).map_or(after, |(_, after)| after);
        Some(number(text, after, 2)?.1)
    };
    ended().unwrap_or(at)
}

/// A number of at most so many ASCII digits, and where it ends.
fn number(text: &str, at: usize, most: usize) -> Option<(u32, usize)> {
    let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let value = (1..=most).contains(&digits).then(|| text[at..at + digits].parse().ok())??;
    Some((value, at + digits))
}

/// One of these characters, and where it ends.
fn sign(text: &str, at: usize, signs: &[char]) -> Option<(char, usize)> {
    let next = text[at..].chars().next().filter(|c| signs.contains(c))?;
    Some((next, at + next.len_utf8()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::clean_template_text;

    #[test]
    fn templates_of_channels_are_taken_off_and_words_stay() {
        for (text, left) in [
            ("[群聊 家人] 张三: 今晚吃什么", "今晚吃什么"),
            ("[群聊：一家人(12345)] 李四：8点开会", "8点开会"),
            ("[Ann (1234)] what about dinner?", "what about dinner?"),
            ("[Ann (1234)] note: buy milk", "note: buy milk"),
            ("[打断消息] 等一下", "等一下"),
            ("2026-03-04 12:30:05 到家了", "到家了"),
            ("[2026-03-04 12:30] 张三 说到家了", "张三 说到家了"),
            ("2026年3月4日 12:30 到家了", "到家了"),
            ("[12:30] [群聊 家人] 张三: 好", "好"),
            ("看这个\n[attached: image/png cat.png, media:2cf24dba5fb0a30e]", "看这个"),
            ("<data from=\"look\">\n{\"a\":1}\n</data>", "{\"a\":1}"),
            // What people say that only looks like it.
            ("[重要] 明天交房租", "[重要] 明天交房租"),
            ("12:30 吃饭", "12:30 吃饭"),
            ("2026-03-04 是他的生日", "2026-03-04 是他的生日"),
            ("(笑) 好的", "(笑) 好的"),
            ("[群聊 x] https://example.org/a", "https://example.org/a"),
            ("张三: 你好", "张三: 你好"),
            ("  fn main() {}", "fn main() {}"),
            ("", ""),
        ] {
            assert_eq!(clean_template_text(text), left, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_cleaned_to_a_part_of_it(text in "\\PC{0,64}", mark in prop::sample::select(vec!["[群聊 ", "【", "2026-", "(", "[attached:", "12:"])) {
            let text = format!("{mark}{text}\n{text}");
            let cleaned = clean_template_text(&text).into_owned();
            prop_assert!(cleaned.len() <= text.len());
            for line in cleaned.lines() {
                prop_assert!(text.contains(line));
            }
        }
    }
}
