use proptest::prelude::*;

use super::*;

const SMALL: Sizes = Sizes { target: 80, cap: 120 };

fn shown(text: &str, sizes: Sizes) -> String {
    let shown = chunks(text, sizes).into_iter().map(|chunk| {
        let lead = chunk.lead.map(|lead| format!("[{}] ", &text[lead].replace('\n', "⏎"))).unwrap_or_default();
        let (first, last) = chunk.lines;
        let text = text[chunk.range].replace('\n', "⏎");
        format!("{first}-{last} {}: {lead}{text}", chunk.headings.join(" > "))
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn chunks_keep_to_headings_and_keep_them() {
    let text = "intro\n\n# House\n\n## Heating\n\nThe boiler is in the cellar.\nIts key hangs by the door.\n\n\
        ## 网络\n\n路由器在书房。密码写在背面。\n\n# Garden\n- roses\n- tulips\n\n[link]: http://example.org\n\nNext\n====\n\nend";
    insta::assert_snapshot!(shown(text, SMALL), @r"
    1-1 : intro
    3-8 House > Heating: # House⏎⏎## Heating⏎⏎The boiler is in the cellar.⏎Its key hangs by the door.
    10-12 House > 网络: ## 网络⏎⏎路由器在书房。密码写在背面。
    14-18 Garden: # Garden⏎- roses⏎- tulips⏎⏎[link]: http://example.org
    20-23 Next: Next⏎====⏎⏎end
    ");
}

#[test]
fn code_and_tables_stay_whole_and_long_tables_keep_their_head() {
    let code = format!("# Code\n\nRun this:\n\n```sh\n{}```\n", "make all\n\n# no heading\n".repeat(3));
    let whole = chunks(&code, SMALL);
    assert_eq!(whole.len(), 1, "{}", shown(&code, SMALL));
    let rows: String = (0..6).map(|row| format!("| device {row} | the price of it is {row}0 |\n")).collect();
    let table = format!("| name | price |\n|---|---|\n{rows}");
    insta::assert_snapshot!(shown(&table, SMALL), @r"
    1-3 : | name | price |⏎|---|---|⏎| device 0 | the price of it is 00 |
    4-5 : [| name | price |⏎|---|---|] | device 1 | the price of it is 10 |⏎| device 2 | the price of it is 20 |
    6-7 : [| name | price |⏎|---|---|] | device 3 | the price of it is 30 |⏎| device 4 | the price of it is 40 |
    8-8 : [| name | price |⏎|---|---|] | device 5 | the price of it is 50 |
    ");
}

#[test]
fn what_is_put_in_changes_few_chunks() {
    let sentence = |at: usize| format!("Sentence {at} tells of thing {} and of {}. ", at * 7 % 31, at * 13 % 101);
    let long: String = (0..3000).map(sentence).collect();
    let texts = |text: &str| {
        let chunks = chunks(text, Sizes::USUAL);
        chunks.into_iter().map(|chunk| text[chunk.range].to_owned()).collect::<std::collections::HashSet<_>>()
    };
    let before = texts(&long);
    for changed in [format!("Something new stands here. {long}"), long.replacen("thing 14 ", "thing fourteen ", 1)] {
        let new = texts(&changed).difference(&before).count();
        assert!(new <= 12, "{new} of {} are new", before.len());
    }
}

#[test]
fn chunks_are_of_the_size_that_is_aimed_at() {
    for (sentence, least, most) in
        [("我们家的路由器放在书房的架子上。", 200, 400), ("The boiler stands in the cellar. ", 400, 800)]
    {
        let numbered: String = (0..1000).map(|at| format!("{at}{sentence}")).collect();
        let found = chunks(&numbered, Sizes::USUAL);
        let characters = found.iter().map(|chunk| numbered[chunk.range.clone()].chars().count());
        let mean = characters.sum::<usize>() / found.len();
        assert!((least..=most).contains(&mean), "{mean} characters");
    }
}

#[test]
fn a_line_without_an_end_is_cut_between_characters() {
    let family = "👨‍👩‍👧‍👦".repeat(500);
    for chunk in chunks(&family, SMALL) {
        assert!(family[chunk.range].starts_with('👨'));
    }
    let towers = format!("e{}", "\u{301}".repeat(10_000));
    assert!(chunks(&towers, SMALL).iter().all(|chunk| columns(&towers[chunk.range.clone()]) <= SMALL.cap));
}

#[test]
fn long_texts_of_anything_are_cut() {
    let sources = [
        "# 标题\n\n这是一段话，说的是家里的事。",
        "word ",
        "[",
        "> ",
        "*a_",
        "`",
        "- \n",
        "\n",
        "\0",
        "|a|b|\n|-|-|\n",
        "<a ",
        "#",
    ];
    for source in sources {
        let text = source.repeat(200_000 / source.len());
        let found = chunks(&text, Sizes::USUAL);
        assert!(found.iter().all(|chunk| columns(&text[chunk.range.clone()]) <= 1200));
    }
}

/// Lines of Markdown, and of anything.
fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "#{1,7} [a-z家里 ]{0,12}",
        "[a-z ]{0,40}[.?!]",
        "[一-十家里猫。！]{0,60}",
        "- [a-z]{0,20}",
        Just("```".to_owned()),
        Just("|a|b|".to_owned()),
        Just("|-|-|".to_owned()),
        Just("---".to_owned()),
        Just("===".to_owned()),
        Just("[a]: b".to_owned()),
        "> ?[a-z]{0,20}",
        "[\\PC]{0,40}",
        any::<String>(),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n")];
    proptest::collection::vec((line, end), 0..40)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect())
}

proptest! {
    #[test]
    fn every_character_is_in_a_chunk_and_none_is_too_large(text in markdown()) {
        let found = chunks(&text, SMALL);
        let mut covered = 0;
        for chunk in &found {
            let between = text.get(covered..chunk.range.start.max(covered)).expect("it is cut between characters");
            prop_assert!(between.trim().is_empty(), "{between:?} is in no chunk");
            let part = text.get(chunk.range.clone()).expect("it is cut between characters");
            prop_assert!(columns(part) <= SMALL.cap, "{part:?}");
            prop_assert!(!part.trim().is_empty());
            covered = chunk.range.end;
            let line = |at: usize| 1 + text[..at].matches('\n').count();
            prop_assert_eq!(chunk.lines, (line(chunk.range.start) as u32, line(chunk.range.end) as u32));
        }
        prop_assert!(text[covered..].trim().is_empty());
        prop_assert!(found.windows(2).all(|two| two[0].range.start < two[1].range.start && two[0].range.end < two[1].range.end));
        prop_assert_eq!(chunks(&text, SMALL), found);
    }
}
