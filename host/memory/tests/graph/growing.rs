//! What is told very often, and what is very much.

use homeagent_memory::graph::{Claim, EntityKind, Node, Source};
use homeagent_types::{Audience, Role};

use crate::world::{LI, World, claim, person, somebody, value};

/// Facts of a home, each another one.
const FACTS: usize = 1000;

fn fact(number: usize) -> Claim {
    let who = person(&format!("Person {}", number / 10));
    match number % 10 {
        0 => claim(who, "age", value(&format!("{}", 20 + number % 60))),
        1 => claim(who, "住在", value(&format!("Town {}", number % 70))),
        2 => claim(who, "job", value(&format!("Trade {}", number % 30))),
        other => claim(who, "likes", Node::Named(format!("Thing {other}"), EntityKind::Concept)),
    }
}

fn told(numbers: std::ops::Range<usize>) -> Vec<(Source, Vec<Claim>)> {
    let source = |at: usize| Source {
        audience: Audience::parse(LI),
        speaker: Some(somebody("1", Role::Member)),
        origin: format!("journal:{at}"),
        at_ms: 1_700_000_000_000 + at as i64,
        undoable: false,
    };
    numbers.map(|at| (source(at), vec![fact(at % FACTS)])).collect()
}

#[test]
fn facts_that_are_told_again_and_again_are_counted_and_not_kept_again() {
    const TIMES: usize = 100;
    let world = World::new();
    let li = world.viewer(LI);
    let mut fresh = 0;
    for round in 0..TIMES {
        let batch = told(round * FACTS..(round + 1) * FACTS);
        let committed = world.graph.commit_all(&batch).expect("committed");
        assert!(committed.iter().all(|one| one.closed.is_empty()), "nothing contradicts anything");
        fresh += committed.iter().map(|one| one.fresh).sum::<usize>();
    }
    assert_eq!(fresh, FACTS);
    assert_eq!(world.graph.index_summary(&li).expect("read").relations, FACTS as i64);
    for number in (0..FACTS).step_by(97) {
        let id = world.id(&format!("Person {}", number / 10), &li);
        let relations = world.graph.relations_of(id, 100, &li).expect("read");
        assert_eq!(relations.len(), 10);
        assert!(relations.iter().all(|relation| relation.is_current() && relation.mentions == TIMES as i64));
    }
    // Read once more, as after a kill: nothing of it counts twice.
    world.graph.commit_all(&told(0..FACTS)).expect("committed");
    let id = world.id("Person 0", &li);
    let relations = world.graph.relations_of(id, 100, &li).expect("read");
    assert!(relations.iter().all(|relation| relation.mentions == TIMES as i64));
}

#[test]
fn the_index_of_a_large_graph_follows_what_is_told() {
    let world = World::new();
    let li = world.viewer(LI);
    let many = |from: usize, to: usize| -> Vec<(Source, Vec<Claim>)> {
        let mut told = told(from..to);
        for (at, (_, claims)) in told.iter_mut().enumerate() {
            *claims = vec![claim(person(&format!("Guest {}", (from + at) / 50)), "owns", value(&format!("{at} cups")))];
        }
        told
    };
    world.graph.commit_all(&many(0, 5000)).expect("committed");
    assert_eq!(world.graph.index_summary(&li).expect("read").relations, 5000);
    // Little more: the names are those of now, whatever is counted.
    let often = |at: usize| (told(at..at + 1).remove(0).0, vec![claim(person("Often"), "owns", value("a kite"))]);
    world.graph.commit_all(&(6000..6060).map(often).collect::<Vec<_>>()).expect("committed");
    let summary = world.graph.index_summary(&li).expect("read");
    assert_eq!(summary.names.first().map(|(name, ..)| name.as_str()), Some("Often"));
    assert!((5000..=5001).contains(&summary.relations));
    // Much more: it is counted anew.
    world.graph.commit_all(&many(5000, 6000)).expect("committed");
    assert_eq!(world.graph.index_summary(&li).expect("read").relations, 6001);
}
