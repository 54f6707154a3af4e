use homeagent_knowledge::{Ask, Circle, Error};

use crate::home::{Home, Words, ask};

const HOUSE: &str = "# House\n\n## Heating\n\nThe boiler stands in the cellar. Its key hangs by the door.\n\n\
    ## Network\n\nThe router is in the study.\n";
const HOME_CN: &str = "# 家电\n\n## 洗衣机\n\n洗衣机在阳台上，滤网每个月要清洗一次。\n\n## 路由器\n\n路由器放在书房，密码写在背面。\n\n\
    # 小区\n\n物业电话是八六二三，快递柜在东门旁边。\n";

#[tokio::test]
async fn passages_are_found_by_their_words_with_where_they_stand() {
    let home = Home::with(&[("house", HOUSE), ("家里", HOME_CN)]).await;
    insta::assert_debug_snapshot!(home.found("where is the key of the boilers?").await, @r#"
    [
        "house 1-5 House > Heating: # House⏎⏎## Heating⏎⏎The boiler stands in the cellar. Its key hangs by the door.",
    ]
    "#);
    for (question, part) in [
        ("滤网多久洗一次？", "滤网每个月"),
        ("快递放哪儿了", "快递柜在东门"),
        ("物业的电话", "物业电话"),
        ("wifi 密码在哪里", "密码写在背面"),
        ("洗衣机", "洗衣机在阳台"),
    ] {
        let found = home.found(question).await;
        assert!(found.first().is_some_and(|first| first.contains(part)), "{question}: {found:?}");
    }
    let found = home.search("boiler").await;
    assert!(found.note.unwrap().contains("by their words alone"));
}

#[tokio::test]
async fn a_heading_counts_for_more_than_a_word_of_the_text() {
    let text = "# Cellar\n\nIt is dark, and there are shelves with jam.\n\n# Garden\n\nThe way to the cellar begins here. \
        Roses grow along it, and two old apple trees.\n";
    let home = Home::with(&[("house", text)]).await;
    let found = home.found("cellar").await;
    assert!(found[0].contains("Cellar: # Cellar"), "{found:?}");
}

#[tokio::test]
async fn vectors_find_what_has_no_word_in_common_and_words_still_count() {
    let home = Home::with(&[("house", HOUSE)]).await;
    assert!(home.found("furnace").await.is_empty());
    home.model.send_replace(Some(Words::called("one", &[("furnace", "boiler")])));
    home.until_embedded().await;
    let found = home.search("furnace").await;
    assert!(found.passages[0].text.contains("boiler") && found.note.is_none(), "{found:?}");
    assert!((found.passages[0].vector - 1.0).abs() < 0.001 && found.passages[0].keyword == 0.0);
    let found = home.search("router").await;
    assert!(found.passages[0].text.contains("router") && found.passages[0].score > 0.99, "{found:?}");
}

#[tokio::test]
async fn another_model_makes_its_own_vectors_and_none_is_compared_with_those_before() {
    let home = Home::with(&[("house", HOUSE)]).await;
    home.model.send_replace(Some(Words::called("one", &[])));
    home.until_embedded().await;
    home.model.send_replace(Some(Words::called("two", &[("furnace", "boiler")])));
    // Meanwhile words alone count.
    assert!(home.found("boiler").await[0].contains("boiler"));
    home.until_embedded().await;
    let status = home.knowledge.status().await.unwrap();
    assert!(status.model.unwrap().contains("two"));
    assert!(home.found("furnace").await[0].contains("boiler"));
}

#[tokio::test]
async fn a_text_that_the_model_refuses_keeps_no_other_from_its_vector() {
    let home = Home::with(&[("house", &format!("{HOUSE}\n# Odd\n\nunembeddable\n"))]).await;
    home.model.send_replace(Some(Words::called("one", &[])));
    home.until(async |home| {
        let status = home.knowledge.status().await.unwrap();
        status.vectors + 1 == status.passages
    })
    .await;
    assert!(home.found("unembeddable").await[0].contains("unembeddable"));
}

#[tokio::test]
async fn what_is_said_twice_is_given_once_and_neighbours_are_put_together() {
    let sentence =
        |at: usize| format!("The lamp number {at} hangs in the room number {at} and needs a bulb of kind {at}. ");
    let long: String = (0..60).map(sentence).collect();
    let home = Home::with(&[("one", HOUSE), ("copy", HOUSE), ("lamps", &format!("# Lamps\n\n{long}\n"))]).await;
    let found = home.found("boiler cellar").await;
    assert_eq!(found.iter().filter(|text| text.contains("boiler")).count(), 1, "{found:?}");
    let lamps = home.search("lamp bulb").await.passages;
    for at in 0..60 {
        let times: usize = lamps.iter().map(|passage| passage.text.matches(&sentence(at)).count()).sum();
        assert!(times <= 1, "lamp {at} is told {times} times");
    }
    assert!(lamps.iter().any(|passage| passage.text.len() > 900), "neighbours stand together");
}

#[tokio::test]
async fn nobody_finds_what_is_not_for_them() {
    let texts = [
        ("safe", "---\naudience: owner\n---\nThe code of the safe is 4711.\n"),
        ("house", "The code of the gate is 1234.\n"),
        ("guests", "---\naudience: everyone\n---\nThe code of the guests' network is 0000.\n"),
        ("odd", "---\naudience: my wife\n---\nThe code of the diary is 9999.\n"),
    ];
    let home = Home::with(&texts).await;
    home.model.send_replace(Some(Words::called("one", &[])));
    home.until_embedded().await;
    for (circle, seen) in [
        (Circle::Everyone, &["guests"][..]),
        (Circle::Members, &["guests", "house"]),
        (Circle::Owner, &["guests", "house", "odd", "safe"]),
    ] {
        let found = home.knowledge.search(Ask { circle, ..ask("code") }).await.unwrap().passages;
        let mut bases: Vec<String> = found.into_iter().map(|passage| passage.base).collect();
        bases.sort();
        assert_eq!(bases, seen);
        let listed = home.knowledge.list(circle).await.unwrap().bases;
        assert_eq!(listed.iter().map(|base| base.name.as_str()).collect::<Vec<_>>(), seen);
    }
    let hidden = Ask { circle: Circle::Members, base: Some("safe".to_owned()), ..ask("code") };
    let missing = Ask { base: Some("none".to_owned()), ..ask("code") };
    for asked in [hidden, missing] {
        assert!(matches!(home.knowledge.search(asked).await, Err(Error::Unknown { .. })));
    }
    assert!(matches!(home.knowledge.outline("safe", Circle::Members).await, Err(Error::Unknown { .. })));
}

#[tokio::test]
async fn any_question_is_answered() {
    let home = Home::with(&[("house", HOUSE)]).await;
    for question in ["\"", "a OR b", "NEAR(", "* ^ : -", "\0", "🏠", "的", "\u{202e}", &"boiler ".repeat(100_000)] {
        home.search(question).await;
    }
    assert!(matches!(home.knowledge.search(ask(" \n")).await, Err(Error::Empty)));
}
