use homeagent_memory::graph::{Claim, EntityKind, Node, Question};
use homeagent_types::Viewer;

use crate::world::{GROUP, LI, World, claim, person, value};

fn home() -> World {
    let world = World::new();
    let thing = |name: &str| Node::Named(name.into(), EntityKind::Thing);
    world.tell("1", LI, 1, claim(person("小明"), "老婆", person("小红")));
    world.tell("1", LI, 1, claim(person("小红"), "就职于", value("腾讯")));
    world.tell("1", LI, 2, claim(person("小红"), "喜欢", value("钢琴")));
    world.tell("1", LI, 2, claim(person("Melanie"), "lives in", value("Paris")));
    world.tell("1", LI, 3, claim(person("Melanie"), "owns", thing("red bicycle")));
    world.tell("1", LI, 3, claim(Node::Speaker, "birthday", value("5月20日")));
    world.tell("1", LI, 3, claim(person("老张"), "养", Node::Named("旺财".into(), EntityKind::Animal)));
    world
}

fn answers(world: &World, text: &str, viewer: &Viewer) -> Vec<String> {
    let question = Question { text, alike: &[], asker: Some("qq:1"), viewer, limit: 5, unless_shown_in: Some("run") };
    world.graph.recall(&question).expect("recalled").into_iter().map(|found| found.relation.text).collect()
}

#[test]
fn relations_are_found_by_name_by_value_and_two_steps_away() {
    let world = home();
    let li = world.viewer(LI);
    assert_eq!(answers(&world, "小明的老婆在哪家公司上班？", &li)[..2], ["小明的配偶是小红", "小红就职于腾讯"]);
    assert_eq!(answers(&world, "Where does Melanie live?", &li)[0], "Melanie lives in Paris");
    assert_eq!(answers(&world, "who has a bicycle", &li)[0], "Melanie has red bicycle");
    assert_eq!(answers(&world, "谁喜欢弹钢琴", &li)[0], "小红喜欢钢琴");
    assert_eq!(answers(&world, "我的生日是哪天", &li)[0], "qq:1的生日是5月20日");
    assert_eq!(answers(&world, "旺财是谁家的", &li)[0], "老张的宠物是旺财");
    assert!(answers(&world, "今天天气怎么样", &li).is_empty());
}

#[test]
fn what_was_shown_in_a_run_is_not_shown_there_again_nor_new() {
    let world = home();
    let li = world.viewer(LI);
    let question = Question {
        text: "Where does Melanie live?",
        alike: &[],
        asker: None,
        viewer: &li,
        limit: 1,
        unless_shown_in: Some("run"),
    };
    let found = world.graph.recall(&question).expect("recalled");
    assert!(found[0].sources[0].origin.starts_with("journal:"));
    world.graph.mark_recalled("run", &[found[0].relation.id], &li).expect("marked");
    assert!(!answers(&world, "Where does Melanie live?", &li).contains(&"Melanie lives in Paris".to_owned()));
    assert!(
        world.graph.was_shown("run", "ＭＥＬＡＮＩＥ lives in Paris!")
            && !world.graph.was_shown("other", "Melanie lives in Paris")
    );
    let other = Question { unless_shown_in: Some("other"), ..question };
    assert_eq!(world.graph.recall(&other).expect("recalled"), found);
}

#[test]
fn the_index_names_what_is_known_and_nothing_of_it() {
    let world = home();
    let summary = world.graph.index_summary(&world.viewer(LI)).expect("read");
    insta::assert_snapshot!(summary.text());
    assert!(summary.text().chars().count() < 1400);
    assert_eq!(world.graph.index_summary(&world.viewer("group:qq:8")).expect("read").text(), "");
}

#[test]
fn a_name_that_others_alone_may_have_written_is_not_in_the_index() {
    let world = World::new();
    let foreign = |subject: &str| Claim {
        kinds: vec!["foreign".to_owned()],
        ..Claim::new(person(subject), "likes", Node::Literal("tea".into()))
    };
    for day in 1..4 {
        world.tell("1", LI, day, foreign("Mallory"));
        world.tell("1", LI, day, foreign("Trent"));
    }
    world.tell("1", LI, 5, Claim::new(person("Trent"), "likes", Node::Literal("coffee".into())));
    let text = world.graph.index_summary(&world.viewer(LI)).expect("read").text();
    assert!(text.contains("Trent (person)") && !text.contains("Mallory"), "{text}");
}

#[test]
fn who_may_see_a_name_is_known_of_names_that_come_later_too() {
    let world = World::new();
    let (li, group) = (world.viewer(LI), world.viewer(GROUP));
    let rows = || -> Vec<(i64, String)> { world.graph.name_texts(0, 100).expect("read") };
    let seen = |viewer: &Viewer| -> Vec<String> {
        let visible = world.graph.visible_names(viewer).expect("read");
        rows().into_iter().filter(|(row, _)| visible(*row)).map(|(_, text)| text).collect()
    };
    assert!(seen(&li).is_empty());
    world.tell("1", LI, 1, claim(person("小明"), "knows", person("Ann")));
    assert_eq!((seen(&li), seen(&group)), (vec!["小明".to_owned(), "Ann".to_owned()], Vec::new()));
    world.tell("1", GROUP, 2, claim(person("Bob"), "likes", value("tea")));
    let of_group = ["Bob".to_owned(), "tea".to_owned()];
    assert_eq!((seen(&li).len(), seen(&group), seen(&Viewer::Everything).len()), (4, of_group.into(), 4));
}
