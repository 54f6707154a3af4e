use homeagent_memory::graph::{Claim, EntityKind, Node, Question, Source};
use homeagent_types::{Role, Viewer};
use proptest::prelude::*;

use crate::undoing::dump;
use crate::world::{GROUP, LI, WANG, World, claim, somebody, source, value};

const NAMES: [&str; 7] = ["小明", "王小明", "Ann", "北京", "医生", "30", "小李"];
const OTHER_GROUP: &str = "group:qq:8";
const AUDIENCES: [&str; 4] = [LI, WANG, GROUP, OTHER_GROUP];
const QUESTIONS: [&str; 5] = ["小明住在哪里", "王小明的工作", "who likes 北京 and Ann", "我叫什么", "谁是医生"];

fn told() -> impl Strategy<Value = (Source, Claim)> {
    let ends = (0..5_usize, 0..5_usize, 0..6_usize);
    (ends, 0..AUDIENCES.len(), 1..3_usize, 1..12_i64, any::<bool>()).prop_map(
        |((subject, predicate, object), audience, user, day, is_place)| {
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
            (source, claim(subject, predicate, value(NAMES[object])))
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
