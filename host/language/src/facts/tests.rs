use super::*;

const CHINESE: &str = include_str!("../../tests/data/facts_zh.txt");
const ENGLISH: &str = include_str!("../../tests/data/facts_en.txt");

fn said(text: &str) -> Vec<String> {
    personal_facts(text).iter().map(ToString::to_string).collect()
}

/// The lines of a table in which something else is found than is written there.
fn wrong(table: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .filter_map(|line| {
            let (text, expected) = line.split_once("=>").expect("a sentence and its facts");
            let expected: Vec<&str> = expected.split('|').map(str::trim).filter(|fact| !fact.is_empty()).collect();
            let found = said(text.trim());
            (found != expected).then(|| format!("{}\n  expected {expected:?}\n  found    {found:?}", text.trim()))
        })
        .collect()
}

#[test]
fn what_is_said_in_chinese_is_understood_and_nothing_else() {
    let wrong = wrong(CHINESE);
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_said_in_english_is_understood_and_nothing_else() {
    let wrong = wrong(ENGLISH);
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_fact_says_where_it_was_said() {
    let text = "今天真热。我叫张三，住在上海。😀 I work at Google.";
    let spans: Vec<&str> = personal_facts(text).iter().filter_map(|fact| text.get(fact.span.clone())).collect();
    assert_eq!(spans, ["我叫张三，住在上海。", "我叫张三，住在上海。", "😀 I work at Google."]);
}

#[test]
fn the_same_said_again_is_one_fact_and_width_and_hidden_characters_change_nothing() {
    assert_eq!(said("我喜欢猫。我喜欢猫！我喜\u{200b}欢猫"), ["speaker likes: 猫"]);
    assert_eq!(said("Ｉ ｌｉｖｅ ｉｎ Ｂｅｒｌｉｎ．"), ["speaker home: Berlin"]);
}

#[test]
fn quoted_lines_and_code_are_nobodys_facts() {
    assert_eq!(said("> I live in Berlin.\n```\nI live in Rome.\n```\nI live in Oslo."), ["speaker home: Oslo"]);
}

#[test]
fn a_very_long_message_is_read_in_time_that_grows_with_it_alone() {
    let long = "我喜欢猫".repeat(200_000);
    assert!(said(&long).is_empty(), "a sentence without end states nothing");
    let many = "我住在上海。今天去了公园看花。\n".repeat(2_000);
    assert_eq!(said(&many), ["speaker home: 上海"]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in "(我|我妈|叫|喜欢|不|住在|，|。|？|\"|“|”|I |my mother |live in |like |and |, |\\PC){0,40}") {
        for fact in personal_facts(&text) {
            proptest::prop_assert!(text.get(fact.span.clone()).is_some() && !fact.value.trim().is_empty());
        }
    }
}
