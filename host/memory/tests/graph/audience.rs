use homeagent_memory::graph::{Claim, EntityKind, Holding, Node, Question, Relation, Source};
use homeagent_types::{Audience, Role, Viewer};
use proptest::prelude::*;

use crate::undoing::dump;
use crate::world::{DAY, GROUP, LI, WANG, World, author, claim, somebody, source, value};

const NAMES: [&str; 7] = ["小明", "王小明", "Ann", "北京", "医生", "30", "小李"];
const OTHER_GROUP: &str = "group:qq:8";
const AUDIENCES: [&str; 4] = [LI, WANG, GROUP, OTHER_GROUP];
const QUESTIONS: [&str; 5] = ["小明住在哪里", "王小明的工作", "who likes 北京 and Ann", "我叫什么", "谁是医生"];

fn told() -> impl Strategy<Value = (Source, Claim)> {
    let ends = (0..5_usize, 0..5_usize, 0..6_usize);
    (ends, 0..AUDIENCES.len(), 1..3_usize, 1..12_i64, any::<bool>(), 0..6_u8).prop_map(
        |((subject, predicate, object), audience, user, day, is_place, holding)| {
            let subject = match subject {
                0 => Node::Speaker,
                at => Node::Named(NAMES[at - 1].into(), if is_place { EntityKind::Place } else { EntityKind::Person }),
            };
            let predicate = ["home", "likes", "job", "name", "age"][predicate];
            let user = user.to_string();
            let mut source = source(&user, Role::Member, AUDIENCES[audience], day);
            let mut speaker = somebody(&user, Role::Member);
            speaker.display_name = (day % 2 == 0).then(|| "小李".to_owned());
            source.speaker = Some(speaker);
            let mut claim = claim(subject, predicate, value(NAMES[object]));
            claim.holding = match holding {
                0 => Holding::Ended,
                1 => Holding::Denied,
                _ => Holding::Now,
            };
            (source, claim)
        },
    )
}

/// Everything that a reader can get to see.
fn sight(world: &World, viewer: &Viewer) -> Vec<String> {
    let mut lines = dump(&world.graph, &NAMES, viewer);
    for text in QUESTIONS {
        let question = Question { text, alike: &[], asker: Some("qq:1"), viewer, limit: 100, unless_shown_in: None };
        let mut found: Vec<String> = Vec::new();
        for found_one in world.graph.recall(&question).expect("recalled") {
            let sources: Vec<String> =
                found_one.sources.iter().map(|said| format!("{} {} {}", said.text, said.origin, said.at)).collect();
            found.push(format!("{text}: {} {:.4} {sources:?}", found_one.relation.text, found_one.score));
        }
        found.sort();
        lines.extend(found);
    }
    for account in ["qq:1", "qq:2"] {
        if let Some(person) = world.graph.of_account(account, viewer).expect("read") {
            lines.push(format!("{account}: {} {:?} {:?}", person.name, person.aliases, person.accounts));
            let origins = world.graph.origins_of(person.id, 100, viewer).expect("read");
            lines.push(format!("{account}: {origins:?}"));
        }
    }
    lines.push(format!("{} changes", world.graph.changes(1000, viewer).expect("read").len()));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    /// What a reader sees is the same as if nothing had ever been told elsewhere.
    #[test]
    fn nobody_can_tell_whether_anything_was_said_elsewhere(told in prop::collection::vec(told(), 1..40)) {
        let whole = World::new();
        let committed: Vec<_> =
            told.iter().map(|(source, claim)| whole.graph.commit(source, std::slice::from_ref(claim)).expect("told")).collect();
        for reader in AUDIENCES {
            let part = World::new();
            let viewer = whole.viewer(reader);
            for ((source, claim), before) in told.iter().zip(&committed) {
                if viewer.may_see(&source.audience) {
                    let answer = part.graph.commit(source, std::slice::from_ref(claim)).expect("told");
                    if source.audience.to_string() == reader {
                        prop_assert_eq!(answer.fresh, before.fresh);
                        prop_assert_eq!(answer.closed.len(), before.closed.len());
                    }
                }
            }
            prop_assert_eq!(sight(&whole, &viewer), sight(&part, &viewer), "{}", reader);
        }
    }
}

/// What a reader sees of an account and holds: text, mentions, and when it was said first and last, in days.
fn held(world: &World, account: &str, viewer: &Viewer) -> Vec<(String, i64, i64, i64)> {
    let me = world.graph.of_account(account, viewer).expect("read").expect("known");
    let relations = world.graph.relations_of(me.id, 10, viewer).expect("read");
    let current = relations.into_iter().filter(Relation::is_current);
    current.map(|one| (one.object, one.mentions, one.learnt_at / DAY, one.last_at / DAY)).collect()
}

#[test]
fn what_was_told_before_two_audiences_is_one_to_whoever_is_of_both() {
    let world = World::new();
    let (li, group) = (world.viewer(LI), world.viewer(GROUP));
    let told = |audience: &str, day: i64, confidence: f32| {
        let mut claim = claim(Node::Speaker, "喜欢", value("Chess"));
        claim.confidence = confidence;
        *world.tell("1", audience, day, claim).relations[0].as_ref().expect("told")
    };
    let first = told(LI, 1, 0.9);
    let second = told(GROUP, 3, 0.6);
    told(GROUP, 4, 0.6);
    assert_eq!(held(&world, "qq:1", &li), [("Chess".into(), 3, 1, 4)]);
    assert_eq!(held(&world, "qq:1", &group), [("Chess".into(), 2, 3, 4)]);
    for (asked, other) in [(first, second), (second, first)] {
        let relation = world.graph.relation(asked, &li).expect("read");
        assert_eq!((relation.id, relation.told_also[0].relation), (asked, other));
        assert!((relation.confidence - 0.9).abs() < 1e-6 && relation.mentions == 3, "{relation:?}");
        assert_eq!(world.graph.sentences_of(asked, 9, &li).expect("read").len(), 3);
    }
    assert_eq!(world.graph.index_summary(&li).expect("read").relations, 1);
    let question = Question {
        text: "chess",
        alike: &[],
        asker: Some("qq:1"),
        viewer: &li,
        limit: 9,
        unless_shown_in: Some("run"),
    };
    let found = world.graph.recall(&question).expect("recalled");
    assert_eq!((found.len(), found[0].sources.len()), (1, 3));
    world.graph.mark_recalled("run", &[first], &li).expect("noted");
    assert!(world.graph.recall(&question).expect("recalled").is_empty(), "it was shown");
}

#[test]
fn taking_back_and_deleting_reach_every_audience_that_the_author_is_of() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    let likes = || claim(Node::Speaker, "喜欢", value("chess"));
    let first = *world.tell("1", LI, 1, likes()).relations[0].as_ref().expect("told");
    world.tell("1", GROUP, 3, likes());
    world.tell("1", OTHER_GROUP, 3, likes());
    let change = world.graph.retract(first, author(&here, &li, 4)).expect("taken back").change;
    assert!(held(&world, "qq:1", &li).is_empty() && held(&world, "qq:1", &world.viewer(GROUP)).is_empty());
    assert_eq!(held(&world, "qq:1", &Viewer::Everything).len(), 1, "before those of whom he is not, it stands");
    world.graph.undo(change, author(&here, &li, 5)).expect("undone");
    assert_eq!(held(&world, "qq:1", &li), [("chess".into(), 2, 1, 3)]);
    assert_eq!(held(&world, "qq:1", &world.viewer(GROUP)).len(), 1);
    let said = claim(Node::Speaker, "喜欢", value("go"));
    let source = source("1", Role::Owner, LI, 6);
    let (_, changed) = world.graph.replace(first, &said, &source, author(&here, &li, 6)).expect("changed");
    assert_eq!(held(&world, "qq:1", &li), [("go".into(), 1, 6, 6)]);
    world.graph.undo(changed.change, author(&here, &li, 7)).expect("undone");
    let deleted = world.graph.delete_relations(&[first], author(&here, &li, 8)).expect("deleted");
    assert_eq!(deleted.relations, 2);
}

#[test]
fn what_has_ended_is_over_for_those_who_heard_that_and_for_nobody_else() {
    let world = World::new();
    let (li, group) = (world.viewer(LI), world.viewer(GROUP));
    let likes = |holding: Holding| Claim { holding, ..claim(Node::Speaker, "喜欢", value("chess")) };
    world.tell("1", LI, 1, likes(Holding::Now));
    let ended = world.tell("1", GROUP, 3, likes(Holding::Ended));
    assert!(ended.closed.is_empty(), "the group learns of nothing that it did not hear");
    assert!(held(&world, "qq:1", &li).is_empty());
    let me = world.graph.of_account("qq:1", &li).expect("read").expect("known").id;
    let relations = world.graph.relations_of(me, 9, &li).expect("read");
    assert!(relations.iter().all(|relation| relation.valid_to == Some(3 * DAY)), "{relations:?}");
    let question =
        Question {
            text: "我喜欢什么", alike: &[], asker: Some("qq:1"), viewer: &li, limit: 9, unless_shown_in: None
        };
    assert!(world.graph.recall(&question).expect("recalled").iter().all(|found| !found.relation.is_current()));
    // Said again, it holds again, and for the group it does not.
    world.tell("1", LI, 5, likes(Holding::Now));
    assert_eq!(held(&world, "qq:1", &li).len(), 1);
    assert!(held(&world, "qq:1", &group).is_empty());
    // A group that did not hear the end goes on believing.
    world.tell("1", OTHER_GROUP, 1, likes(Holding::Now));
    assert_eq!(held(&world, "qq:1", &Viewer::Only([Audience::parse(OTHER_GROUP)].into())).len(), 1);
}

#[test]
fn of_two_values_told_before_different_audiences_the_newer_holds() {
    let world = World::new();
    let li = world.viewer(LI);
    world.tell("1", LI, 1, claim(Node::Speaker, "home", value("Bergen")));
    world.tell("1", GROUP, 2, claim(Node::Speaker, "home", value("Turin")));
    assert_eq!(held(&world, "qq:1", &li), [("Turin".into(), 1, 2, 2)]);
    world.tell("1", LI, 3, claim(Node::Speaker, "home", value("Turin")));
    assert_eq!(held(&world, "qq:1", &li), [("Turin".into(), 2, 2, 3)]);
    assert_eq!(held(&world, "qq:1", &world.viewer(GROUP)), [("Turin".into(), 1, 2, 2)]);
}
