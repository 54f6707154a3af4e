use homeagent_memory::graph::{EntityKind, GraphError, Node, Refusal};
use homeagent_types::{Audience, Role, Viewer};

use crate::world::{GROUP, LI, WANG, World, author, claim, person, somebody, source, value};

#[test]
fn people_of_one_name_in_two_contexts_stay_two_and_a_city_is_one() {
    let world = World::new();
    let city = || Node::Named("上海".into(), EntityKind::Place);
    world.tell("1", LI, 1, claim(person("小明"), "住在", city()));
    world.tell("2", WANG, 1, claim(person("小明"), "住在", city()));
    world.tell("1", GROUP, 2, claim(person("小明"), "喜欢", value("围棋")));
    assert_eq!(world.graph.named("小明", &Viewer::Everything).expect("found").len(), 3);
    // 小李 sees his own and the group's; the group its own alone.
    assert_eq!(world.graph.named("小明", &world.viewer(LI)).expect("found").len(), 2);
    assert_eq!(world.known("小明", &world.viewer(GROUP)), ["小明喜欢围棋"]);
    world.tell("1", LI, 3, claim(person("小明"), "去过", city()));
    assert_eq!(world.graph.named("上海", &world.viewer(LI)).expect("found").len(), 1);
}

#[test]
fn whoever_says_i_is_the_account_and_not_whoever_bears_the_name() {
    let world = World::new();
    let mut speaking = source("1", Role::Member, GROUP, 1);
    speaking.speaker.as_mut().expect("somebody").display_name = Some("张伟".into());
    let own = claim(Node::Speaker, "likes", value("tea"));
    world.graph.commit(&speaking, &[own]).expect("committed");
    let mut other = source("2", Role::Member, GROUP, 1);
    other.speaker = Some(somebody("3", Role::Member));
    other.speaker.as_mut().expect("somebody").display_name = Some("张伟".into());
    world.graph.commit(&other, &[claim(Node::Speaker, "likes", value("coffee"))]).expect("committed");
    let group = world.viewer(GROUP);
    assert_eq!(world.graph.named("张伟", &group).expect("found").len(), 2);
    // By name alone it is neither of them.
    world.tell("2", GROUP, 2, claim(person("张伟"), "住在", value("天津")));
    for account in ["qq:1", "qq:3"] {
        let person = world.graph.of_account(account, &group).expect("read").expect("known");
        let homes = world.graph.relations_of(person.id, 100, &group).expect("read");
        assert!(homes.iter().all(|relation| relation.predicate != "home"), "{account}");
    }
}

#[test]
fn names_that_hold_each_other_or_differ_by_a_number_are_of_different_things() {
    let world = World::new();
    for name in ["王小明", "小明", "小明明", "会议室1", "会议室2", "2024年5月1日", "2024年5月11日"]
    {
        world.tell("1", LI, 1, claim(Node::Named(name.into(), EntityKind::Thing), "喜欢", value("茶")));
    }
    let li = world.viewer(LI);
    let names = ["王小明", "小明", "小明明", "会议室1", "会议室2", "2024年5月1日", "2024年5月11日"];
    let ids: std::collections::BTreeSet<i64> = names
        .iter()
        .map(|name| {
            let found = world.graph.named(name, &li).expect("found");
            found.iter().find(|entity| entity.kind == EntityKind::Thing).expect("known").id
        })
        .collect();
    assert_eq!(ids.len(), names.len());
    // Width and case make no other name, and a longer name is what a question means that has it.
    assert_eq!(
        world.graph.named("会议室１", &li).expect("found").len(),
        world.graph.named("会议室1", &li).expect("found").len()
    );
    let meant = world.graph.mentioned("王小明是谁", &li).expect("found");
    assert_eq!(world.graph.entity(meant[0].0, &li).expect("read").name, "王小明");
}

#[test]
fn what_somebody_is_called_is_a_name_for_them() {
    let world = World::new();
    let li = world.viewer(LI);
    world.tell("1", LI, 1, claim(Node::Speaker, "叫", value("李雷")));
    let named = world.graph.named("李雷", &li).expect("found");
    assert_eq!((named.len(), named[0].accounts.as_slice()), (1, ["qq:1".to_owned()].as_slice()));
    // In the group nobody has heard it.
    world.tell("1", GROUP, 2, claim(Node::Speaker, "likes", value("chess")));
    assert!(world.graph.named("李雷", &world.viewer(GROUP)).expect("found").is_empty());
    let person = world.graph.of_account("qq:1", &world.viewer(GROUP)).expect("read").expect("known");
    assert_eq!((person.name.as_str(), person.id), ("qq:1", named[0].id));
}

#[test]
fn names_given_by_hand_are_shown_and_taken_back() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    world.tell("1", LI, 1, claim(person("小明"), "喜欢", value("围棋")));
    let id = world.id("小明", &li);
    let given = world.graph.add_name(id, "明明", author(&here, &li, 2)).expect("named");
    let chosen = world.graph.prefer(id, "明明", author(&here, &li, 2)).expect("chosen");
    assert_eq!(world.graph.entity(id, &li).expect("read").name, "明明");
    world.graph.undo(chosen.change, author(&here, &li, 3)).expect("undone");
    assert_eq!(world.graph.entity(id, &li).expect("read").name, "小明");
    world.graph.undo(given.change, author(&here, &li, 3)).expect("undone");
    assert!(world.graph.entity(id, &li).expect("read").aliases.is_empty());
    let again = world.graph.undo(given.change, author(&here, &li, 3)).expect_err("undone twice");
    assert!(matches!(again, GraphError::AlreadyUndone(_)));
}

#[test]
fn a_word_that_means_whoever_is_spoken_of_is_no_name() {
    let world = World::new();
    for pronoun in ["他", "你", "I", " They "] {
        let told = world.tell("1", LI, 1, claim(person(pronoun), "likes", value("tea")));
        assert!(matches!(told.relations[0], Err(Refusal::NoName(_))), "{pronoun}");
    }
    let long = world.tell("1", LI, 1, claim(person(&"长".repeat(101)), "likes", value("tea")));
    assert!(matches!(long.relations[0], Err(Refusal::NoName(_))));
}

#[test]
fn a_guest_speaks_of_himself_alone_and_a_plugin_for_nobody() {
    let world = World::new();
    let claims = [claim(Node::Speaker, "likes", value("tea")), claim(person("小明"), "likes", value("tea"))];
    let guest = world.graph.commit(&source("5", Role::Guest, GROUP, 1), &claims).expect("committed");
    assert!(guest.relations[0].is_ok());
    assert_eq!(guest.relations[1], Err(Refusal::OfOthers));
    let plugin = world.graph.commit(&source("6", Role::Plugin, GROUP, 1), &claims).expect("committed");
    assert_eq!(plugin.relations, [Err(Refusal::OfOthers), Err(Refusal::OfOthers)]);
}

#[test]
fn any_text_can_be_told_and_found() {
    let world = World::new();
    let li = world.viewer(LI);
    let ends = ["🐱", "ｆｕｌｌ　ｗｉｄｔｈ", "שלום", "a\u{200b}b", "nul\0byte", "e\u{301}"];
    for name in ends {
        let told = world.tell("1", LI, 1, claim(person(name), "likes", value(name)));
        assert!(told.relations[0].is_ok(), "{name:?}");
        assert_eq!(world.graph.named(name, &li).expect("found").len(), 2, "{name:?}, and what it likes");
    }
    let huge = "很长的话。".repeat(700_000);
    let mut told = claim(person("小明"), "说", value("话"));
    told.sentence = Some(huge.clone());
    assert!(world.tell("1", LI, 1, told).relations[0].is_ok());
    assert!(world.graph.mentioned(&huge, &li).expect("found").len() < 10);
}
