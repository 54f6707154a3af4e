use homeagent_memory::graph::{EntityKind, Graph, Node};
use homeagent_types::{Audience, Viewer};
use proptest::prelude::*;

use crate::world::{GROUP, LI, World, author, claim, person, value};

/// All that a reader can ask, by name.
pub(crate) fn dump(graph: &Graph, names: &[&str], viewer: &Viewer) -> Vec<String> {
    let mut lines = Vec::new();
    for name in names {
        for entity in graph.named(name, viewer).expect("found") {
            lines.push(format!("{name}: {} {:?} {:?} {}", entity.name, entity.kind, entity.aliases, entity.mentions));
            for relation in graph.relations_of(entity.id, 1000, viewer).expect("read") {
                let until = (relation.valid_from, relation.valid_to, relation.retracted_at);
                let counts = (relation.mentions, relation.learnt_at, relation.last_at);
                lines.push(format!("{name}: {} {until:?} {counts:?} {}", relation.text, relation.closed_by.is_some()));
            }
        }
    }
    lines.push(graph.index_summary(viewer).expect("read").text());
    lines.sort();
    lines
}

const NAMES: [&str; 5] = ["小明", "王小明", "小红", "Ann", "北京"];

fn told() -> impl Strategy<Value = Vec<(usize, usize, usize, usize, i64)>> {
    prop::collection::vec((0..NAMES.len(), 0..4_usize, 0..3_usize, 0..2_usize, 1..9_i64), 1..25)
}

fn tell(world: &World, (subject, predicate, object, audience, day): (usize, usize, usize, usize, i64)) {
    let predicate = ["home", "likes", "job", "name"][predicate];
    let object = value(["北京", "王小明", "医生"][object]);
    let kind = if NAMES[subject] == "北京" { EntityKind::Place } else { EntityKind::Person };
    let subject = Node::Named(NAMES[subject].into(), kind);
    world.tell("1", [LI, GROUP][audience], day, claim(subject, predicate, object));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn undoing_everything_in_any_order_gives_back_what_was(
        told in told(),
        steps in prop::collection::vec((0..3_u8, 0..40_usize, 0..40_usize), 1..10),
        order in prop::collection::vec(any::<u16>(), 10),
    ) {
        let world = World::new();
        told.into_iter().for_each(|one| tell(&world, one));
        let (all, here) = (Viewer::Everything, Audience::parse(LI));
        let before = dump(&world.graph, &NAMES, &all);
        let mut changes = Vec::new();
        for (what, one, other) in steps {
            let (one, other) = (one as i64 + 1, other as i64 + 1);
            let changed = match what {
                0 => world.graph.merge(one, other, author(&here, &all, 20)),
                1 => world.graph.retract(one, author(&here, &all, 20)),
                _ => world.graph.prefer(one, NAMES[other as usize % NAMES.len()], author(&here, &all, 20)),
            };
            changes.extend(changed.ok().map(|changed| changed.change));
        }
        let mut ordered: Vec<(u16, i64)> = order.into_iter().zip(changes).collect();
        ordered.sort();
        for (_, change) in ordered {
            world.graph.undo(change, author(&here, &all, 30)).expect("undone");
        }
        prop_assert_eq!(dump(&world.graph, &NAMES, &all), before);
    }
}

#[test]
fn merging_two_makes_one_of_them_and_undoing_makes_two() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    world.tell("1", LI, 1, claim(person("小明"), "住在", value("北京")));
    world.tell("1", LI, 2, claim(person("王小明"), "住在", value("上海")));
    world.tell("1", LI, 3, claim(person("王小明"), "喜欢", value("猫")));
    let (one, other) = (world.id("小明", &li), world.id("王小明", &li));
    let merged = world.graph.merge(one, other, author(&here, &li, 4)).expect("merged");
    assert_eq!(merged.closed.len(), 1);
    assert_eq!(world.known("小明", &li), ["王小明住在上海", "王小明喜欢猫"]);
    assert!(world.graph.merge(other, one, author(&here, &li, 4)).is_err(), "they are one");
    // What is said of him by either name is said of him; undone, by the name by which it was said.
    world.tell("1", LI, 5, claim(person("小明"), "喜欢", value("狗")));
    assert_eq!(world.known("王小明", &li).len(), 3);
    world.graph.undo(merged.change, author(&here, &li, 6)).expect("undone");
    assert_eq!(world.known("小明", &li), ["小明住在北京", "小明喜欢狗"]);
    // Told of one of them in a group, it can't be undone from there.
    let elsewhere = Audience::parse(GROUP);
    let group = world.viewer(GROUP);
    assert!(world.graph.undo(merged.change, author(&elsewhere, &group, 7)).is_err());
}

#[test]
fn an_edit_is_one_change() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    let told = world.tell("1", LI, 1, claim(person("小明"), "生日", value("5月1日")));
    let relation = *told.relations[0].as_ref().expect("told");
    let id = world.id("小明", &li);
    let said = claim(Node::Entity(id), "birthday", value("5月2日"));
    let source = crate::world::source("1", homeagent_types::Role::Owner, LI, 2);
    let (_, changed) = world.graph.replace(relation, &said, &source, author(&here, &li, 2)).expect("changed");
    assert_eq!(world.known("小明", &li), ["小明的生日是5月2日"]);
    world.graph.undo(changed.change, author(&here, &li, 3)).expect("undone");
    assert_eq!(world.known("小明", &li), ["小明的生日是5月1日"]);
}
