//! Parts of speech of Chinese, from jieba's tags.

use super::{Tagged, Upos};
use crate::text::tagged_words;

/// The words of a sentence.
pub(super) fn tag(sentence: &str) -> Vec<Tagged> {
    let mut at = 0;
    let mut words = Vec::new();
    for (word, tag) in tagged_words(sentence) {
        for (part, tag) in unstuck(word, tag) {
            let span = at..at + part.len();
            at = span.end;
            if !part.trim().is_empty() {
                words.push((Tagged { span, text: part.to_owned(), upos: upos(part, tag) }, tag == "vn"));
            }
        }
    }
    settle(words)
}

/// A guessed name that took the next word with it: 张三是 is 张三 and 是.
fn unstuck<'a>(word: &'a str, tag: &'a str) -> Vec<(&'a str, &'a str)> {
    let stuck = word
        .char_indices()
        .nth(2)
        .filter(|(_, last)| tag == "nr" && matches!(last, '是' | '在' | '有' | '和' | '的' | '说'));
    match stuck {
        Some((at, last)) if word.len() == at + last.len_utf8() => {
            vec![(word.get(..at).unwrap_or_default(), "nr"), (word.get(at..).unwrap_or_default(), "x")]
        }
        _ => vec![(word, tag)],
    }
}

/// A verb that can be a noun, such as 工作, is a verb where the clause has no other and ends with it.
fn settle(words: Vec<(Tagged, bool)>) -> Vec<Tagged> {
    let ends = |at: usize| {
        words
            .get(at + 1)
            .is_none_or(|(next, _)| next.upos == Upos::Punct || (next.upos == Upos::Part && next.text != "的"))
    };
    let verbal: Vec<bool> = (0..words.len())
        .map(|at| {
            let (Some((_, true)), true) = (words.get(at), ends(at)) else { return false };
            let clause =
                words.get(..at).unwrap_or_default().iter().rev().take_while(|(word, _)| word.upos != Upos::Punct);
            !clause.clone().any(|(word, _)| matches!(word.upos, Upos::Verb | Upos::Aux)) && clause.count() > 0
        })
        .collect();
    words
        .into_iter()
        .zip(verbal)
        .map(|((word, _), verbal)| if verbal { Tagged { upos: Upos::Verb, ..word } } else { word })
        .collect()
}

fn upos(word: &str, tag: &str) -> Upos {
    let first = word.chars().next().unwrap_or(' ');
    match word {
        "说" => return Upos::Verb,
        "的" | "地" | "得" | "之" | "所" | "吗" | "呢" | "吧" | "啊" | "呀" | "嘛" => return Upos::Part,
        "了" | "过" | "着" => return Upos::Part,
        "是" => return Upos::Aux,
        "能" | "会" | "可以" | "可能" | "应该" | "要" | "必须" | "能够" | "得以" | "愿意" | "应" | "需" | "将" =>
        {
            return Upos::Aux;
        }
        "被" | "把" | "在" | "从" | "对" | "向" | "于" | "与" | "跟" | "为" | "由" | "给" | "用" | "以" | "到"
        | "往" | "比" => return Upos::Adp,
        "和" | "及" | "以及" | "或" | "或者" | "并" | "并且" | "而" | "但" | "但是" => {
            return Upos::Cconj;
        }
        "不" | "没" | "没有" | "别" | "未" | "都" | "也" | "就" | "很" | "还" | "又" | "已经" | "正在" | "曾"
        | "曾经" | "一直" => return Upos::Adv,
        "有" => return Upos::Verb,
        _ => {}
    }
    match tag.as_bytes().first().copied().unwrap_or(b'x') {
        b'n' if matches!(tag, "nr" | "ns" | "nt" | "nz" | "nrt" | "nrfg") => Upos::Propn,
        b'n' | b's' | b't' | b'f' | b'l' | b'i' | b'j' => Upos::Noun,
        b'v' if tag == "vn" => Upos::Noun,
        b'v' => Upos::Verb,
        b'a' if tag == "an" => Upos::Noun,
        b'z' if tag == "zg" => Upos::Noun,
        b'a' | b'b' | b'z' => Upos::Adj,
        b'd' => Upos::Adv,
        b'r' => Upos::Pron,
        b'p' => Upos::Adp,
        b'c' => Upos::Cconj,
        b'u' | b'y' => Upos::Part,
        b'm' => Upos::Num,
        b'q' => Upos::Noun,
        b'e' if tag == "eng" => Upos::Propn,
        b'e' | b'o' => Upos::Intj,
        b'x' if first.is_alphanumeric() => {
            if first.is_numeric() {
                Upos::Num
            } else {
                Upos::Propn
            }
        }
        b'x' | b'w' => Upos::Punct,
        _ if first.is_alphanumeric() => Upos::Noun,
        _ => Upos::Punct,
    }
}
