use homeagent_memory::graph::{Holding, Node, Refusal};
use homeagent_types::{Audience, Viewer};

use crate::world::{DAY, GROUP, LI, World, author, claim, person, value};

#[test]
fn a_newer_home_closes_the_older_and_a_liking_closes_none() {
    let world = World::new();
    let li = world.viewer(LI);
    world.tell("1", LI, 1, claim(Node::Speaker, "住在", value("北京")));
    let moved = world.tell("1", LI, 5, claim(Node::Speaker, "搬到", value("上海")));
    assert_eq!(moved.closed.len(), 1);
    world.tell("1", LI, 1, claim(Node::Speaker, "喜欢", value("茶")));
    assert!(world.tell("1", LI, 5, claim(Node::Speaker, "喜欢", value("咖啡"))).closed.is_empty());
    assert_eq!(world.known("qq:1", &li), Vec::<String>::new(), "an account is no name");
    let me = world.graph.of_account("qq:1", &li).expect("read").expect("known");
    let relations = world.graph.relations_of(me.id, 10, &li).expect("read");
    let old = relations.iter().find(|relation| relation.object == "北京").expect("kept");
    assert_eq!((old.is_current(), old.valid_to), (false, Some(5 * DAY)));
    assert_eq!(relations.iter().filter(|relation| relation.is_current()).count(), 3);
}

#[test]
fn older_evidence_closes_nothing_whenever_it_is_read() {
    let world = World::new();
    let li = world.viewer(LI);
    world.tell("1", LI, 5, claim(person("小明"), "home", value("上海")));
    world.tell("1", LI, 1, claim(person("小明"), "home", value("北京")));
    assert_eq!(world.known("小明", &li), ["小明住在上海"]);
    // Back again later: a stretch of time of its own.
    world.tell("1", LI, 9, claim(person("小明"), "home", value("北京")));
    assert_eq!(world.known("小明", &li), ["小明住在北京"]);
    let id = world.id("小明", &li);
    assert_eq!(world.graph.relations_of(id, 10, &li).expect("read").len(), 3);
}

#[test]
fn a_weak_guess_closes_nothing() {
    let world = World::new();
    world.tell("1", LI, 1, claim(person("小明"), "job", value("医生")));
    let mut guess = claim(person("小明"), "job", value("老师"));
    guess.confidence = 0.4;
    assert!(world.tell("1", LI, 2, guess).closed.is_empty());
}

#[test]
fn an_undone_closing_is_not_made_again_and_one_that_was_taken_back_opens_what_it_closed() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    world.tell("1", LI, 1, claim(person("小明"), "job", value("医生")));
    let second = world.tell("1", LI, 2, claim(person("小明"), "job", value("作家")));
    world.graph.undo(second.closed[0].change, author(&here, &li, 3)).expect("undone");
    assert_eq!(world.known("小明", &li).len(), 2);
    assert!(world.tell("1", LI, 4, claim(person("小明"), "job", value("作家"))).closed.is_empty());
    // A third takes the place of both; taken back, both hold again.
    let third = world.tell("1", LI, 5, claim(person("小明"), "job", value("老师")));
    assert_eq!(world.known("小明", &li), ["小明的工作是老师"]);
    let relation = *third.relations[0].as_ref().expect("told");
    world.graph.retract(relation, author(&here, &li, 6)).expect("taken back");
    assert_eq!(world.known("小明", &li).len(), 2);
    // What was taken back is not told again by what was said before.
    let told = world.tell("1", LI, 5, claim(person("小明"), "job", value("老师")));
    assert_eq!(told.relations, [Err(Refusal::Forgotten)]);
    assert!(world.tell("1", LI, 7, claim(person("小明"), "job", value("老师"))).relations[0].is_ok());
}

#[test]
fn taking_back_the_middle_of_three_leaves_the_last() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    world.tell("1", LI, 1, claim(person("小明"), "age", value("30")));
    let middle = world.tell("1", LI, 2, claim(person("小明"), "age", value("31")));
    world.tell("1", LI, 3, claim(person("小明"), "age", value("32")));
    let relation = *middle.relations[0].as_ref().expect("told");
    world.graph.retract(relation, author(&here, &li, 4)).expect("taken back");
    assert_eq!(world.known("小明", &li), ["小明的年龄是32"]);
}

#[test]
fn what_is_said_to_have_ended_ends_and_what_is_denied_was_said() {
    let world = World::new();
    let li = world.viewer(LI);
    world.tell("1", LI, 1, claim(person("小明"), "喜欢", value("猫")));
    let mut denial = claim(person("小明"), "喜欢", value("猫"));
    denial.holding = Holding::Denied;
    let told = world.tell("1", LI, 2, denial.clone());
    assert_eq!((told.closed.len(), world.known("小明", &li).len()), (1, 0));
    denial.object = value("狗");
    assert_eq!(world.tell("1", LI, 2, denial).relations, [Err(Refusal::NothingDenied)]);
    assert!(world.graph.named("狗", &li).expect("found").is_empty());
    let mut ended = claim(person("小明"), "住在", value("北京"));
    ended.holding = Holding::Ended;
    world.tell("1", LI, 2, ended);
    let id = world.id("小明", &li);
    let relations = world.graph.relations_of(id, 10, &li).expect("read");
    assert!(relations.iter().any(|relation| relation.object == "北京" && !relation.is_current()));
}

#[test]
fn what_is_told_in_private_does_not_close_what_the_group_knows() {
    let world = World::new();
    world.tell("1", GROUP, 1, claim(Node::Speaker, "home", value("北京")));
    let moved = world.tell("1", LI, 2, claim(Node::Speaker, "home", value("上海")));
    assert_eq!(moved.closed.len(), 1);
    let current = |viewer: &Viewer| -> Vec<String> {
        let me = world.graph.of_account("qq:1", viewer).expect("read").expect("known");
        let relations = world.graph.relations_of(me.id, 10, viewer).expect("read");
        relations.into_iter().filter(|relation| relation.is_current()).map(|relation| relation.object).collect()
    };
    assert_eq!(current(&world.viewer(GROUP)), ["北京"]);
    assert_eq!(current(&world.viewer(LI)), ["上海"]);
    assert!(world.graph.changes(10, &world.viewer(GROUP)).expect("read").is_empty());
    world.tell("1", GROUP, 3, claim(Node::Speaker, "home", value("北京")));
    assert_eq!(current(&world.viewer(LI)), ["北京"]);
}

#[test]
fn reading_the_same_passage_again_changes_nothing() {
    let world = World::new();
    let li = world.viewer(LI);
    let told = || world.tell("1", LI, 1, claim(person("小明"), "喜欢", value("猫")));
    assert_eq!((told().fresh, told().fresh), (1, 0));
    let id = world.id("小明", &li);
    let relation = &world.graph.relations_of(id, 10, &li).expect("read")[0];
    assert_eq!((relation.mentions, world.graph.entity(id, &li).expect("read").mentions), (1, 1));
    world.tell("1", LI, 2, claim(person("小明"), "喜欢", value("猫")));
    assert_eq!(world.graph.entity(id, &li).expect("read").mentions, 2);
}
