//! Splitting long text at places where a reader would pause.

use unicode_segmentation::UnicodeSegmentation;

/// Where text may be split, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pause {
    Anywhere,
    Word,
    Clause,
    Sentence,
    Line,
    Paragraph,
}

/// Cuts text into pieces of at most `size` characters. Together they are the text; no emoji or accented letter is cut,
/// unless it is larger than a piece.
pub(crate) fn split(text: &str, size: usize) -> Vec<&str> {
    let size = size.max(1);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(limit) = rest.char_indices().nth(size).map(|(limit, _)| limit) {
        let (piece, after) = rest.split_at(place(rest, limit));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// The best place to end a piece, which is no later than `limit`.
fn place(text: &str, limit: usize) -> usize {
    let mut best = (Pause::Anywhere, 0);
    let mut before = ("", "");
    for (start, cluster) in text.grapheme_indices(true).take_while(|(start, _)| *start <= limit) {
        if start > 0 {
            let pause = pause(before, cluster);
            // A good place near the beginning would make a short piece, and many of them.
            let is_far = start * 3 > limit || pause == Pause::Paragraph && start * 6 > limit;
            if is_far && pause >= best.0 || best.1 == 0 {
                best = (if is_far { pause } else { Pause::Anywhere }, start);
            } else if best.0 == Pause::Anywhere {
                best.1 = start;
            }
        }
        before = (before.1, cluster);
    }
    // One cluster that is larger than a piece.
    if best.1 == 0 { limit } else { best.1 }
}

/// How good it is to split after `before` - the last two clusters - and before `next`.
fn pause(before: (&str, &str), next: &str) -> Pause {
    let (earlier, last) = before;
    let closes = |cluster: &str| "”’」』）)】》\"'".contains(cluster);
    let next_is_space = next.chars().all(char::is_whitespace);
    // Closing marks and spaces belong to what they close.
    if closes(next) || ends_chinese_sentence(next) || ends_chinese_clause(next) {
        return Pause::Anywhere;
    }
    let spoken = if closes(last) { earlier } else { last };
    match last {
        "\n" | "\r\n" if matches!(earlier, "\n" | "\r\n") && !next_is_space => Pause::Paragraph,
        "\n" | "\r\n" if !next_is_space => Pause::Line,
        _ if ends_chinese_sentence(spoken) && !next_is_space => Pause::Sentence,
        " " if matches!(earlier, "." | "!" | "?") => Pause::Sentence,
        _ if ends_chinese_clause(spoken) && !next_is_space => Pause::Clause,
        " " if matches!(earlier, "," | ";" | ":") => Pause::Clause,
        " " | "\t" if !next_is_space => Pause::Word,
        _ => Pause::Anywhere,
    }
}

fn ends_chinese_sentence(cluster: &str) -> bool {
    matches!(cluster, "。" | "！" | "？" | "…" | "；")
}

fn ends_chinese_clause(cluster: &str) -> bool {
    matches!(cluster, "，" | "、" | "：")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_split_where_sentences_end() {
        assert_eq!(split("今天天气很好。我们去公园吧！好吗？", 12), ["今天天气很好。", "我们去公园吧！好吗？"]);
        assert_eq!(split("It is late. We should go home. Now.", 20), ["It is late. ", "We should go home. ", "Now."]);
        assert_eq!(split("他说：“走吧。”我们就走了。", 9), ["他说：“走吧。”", "我们就走了。"]);
        assert_eq!(split("版本 3.14.15 已经发布了", 8), ["版本 ", "3.14.15 ", "已经发布了"]);
    }

    #[test]
    fn paragraphs_and_lines_are_better_than_sentences() {
        assert_eq!(split("一句。二句。\n\n三句。四句。", 12), ["一句。二句。\n\n", "三句。四句。"]);
        assert_eq!(split("first line\nsecond one. third", 24), ["first line\n", "second one. third"]);
    }

    #[test]
    fn what_belongs_together_stays_together() {
        assert_eq!(split("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 8), ["👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]);
        assert_eq!(split("🇨🇳🇩🇪🇫🇷", 3), ["🇨🇳", "🇩🇪", "🇫🇷"]);
        assert_eq!(split("e\u{301}e\u{301}e\u{301}", 3), ["e\u{301}", "e\u{301}", "e\u{301}"]);
        let zalgo = format!("a{}", "\u{301}".repeat(20));
        assert!(split(&zalgo, 8).iter().all(|piece| piece.chars().count() <= 8));
    }

    #[test]
    fn short_text_is_one_piece_and_none_is_none() {
        assert_eq!(split("好", 2_000), ["好"]);
        assert!(split("", 10).is_empty());
        assert_eq!(split("abc", 0), ["a", "b", "c"]);
    }

    #[test]
    fn a_long_text_makes_few_pieces() {
        let text = "短。".to_owned() + &"很长的一句话没有标点".repeat(500);
        assert_eq!(split(&text, 1_000).len(), 6);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_piece_fits(
            text in "([a-z]{1,6}|[。！？，. ,!?\n]|[一-龥]{1,5}|👨‍👩‍👧|🇨🇳|e\u{301}|\\PC){0,60}",
            size in 1_usize..40,
        ) {
            let pieces = split(&text, size);
            prop_assert_eq!(pieces.concat(), text.as_str());
            for piece in &pieces {
                prop_assert!(!piece.is_empty() && piece.chars().count() <= size);
            }
            // An end that is none of the text's own ends between clusters is that of a cluster too large for a piece.
            let ends: std::collections::BTreeSet<usize> =
                text.grapheme_indices(true).map(|(start, _)| start).chain([text.len()]).collect();
            let largest = text.graphemes(true).map(|cluster| cluster.chars().count()).max().unwrap_or(0);
            let mut end = 0;
            for piece in &pieces {
                end += piece.len();
                prop_assert!(ends.contains(&end) || largest > size);
            }
        }
    }
}
