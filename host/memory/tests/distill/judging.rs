use homeagent_memory::graph::{Author, Claim, EntityKind, Node, Source};
use homeagent_types::{Audience, Viewer};

use crate::world::World;

/// Tells a claim in private with 小李.
fn tell(world: &World, claim: Claim) -> i64 {
    let source = Source {
        audience: Audience::Person("qq:1".to_owned()),
        speaker: None,
        origin: "document:x".to_owned(),
        at_ms: 1_000,
        undoable: false,
    };
    let committed = world.graph.commit(&source, &[claim]).expect("committed");
    *committed.relations[0].as_ref().expect("taken")
}

fn named(name: &str, kind: EntityKind) -> Node {
    Node::Named(name.to_owned(), kind)
}

fn count(world: &World, name: &str) -> usize {
    world
        .graph
        .named(name, &Viewer::Everything)
        .expect("found")
        .iter()
        .filter(|entity| entity.name == name || entity.aliases.iter().any(|alias| alias == name))
        .count()
}

fn two_names(world: &World) {
    tell(world, Claim::new(named("客厅的扫地机器人", EntityKind::Thing), "is_a", Node::Literal("礼物".into())));
    tell(world, Claim::new(named("客厅的扫地机器", EntityKind::Thing), "owns", Node::Literal("新滚刷".into())));
    tell(world, Claim::new(named("客厅的扫地机器人2", EntityKind::Thing), "is_a", Node::Literal("礼物".into())));
}

#[tokio::test]
async fn what_is_judged_the_same_is_joined_and_can_be_parted_again() {
    let world = World::new();
    two_names(&world);
    let robots = |world: &World| world.graph.named("客厅的扫地机器", &Viewer::Everything).expect("found")[0].clone();
    let apart = robots(&world).id;
    world.answer(r#"{"verdicts":[{"number":1,"verdict":"same","reason":"one robot"}]}"#);
    let done = world.distiller.merge_once().await.expect("judged");
    assert_eq!((done.compared, done.merged), (1, 1), "names whose numbers differ are not asked about");
    assert_ne!((robots(&world).id, robots(&world).aliases.len()), (apart, 0));
    let everything = Viewer::Everything;
    let merge = world
        .graph
        .changes(10, &everything)
        .expect("changes")
        .into_iter()
        .find(|change| change.kind == "merge")
        .expect("the merge");
    assert_eq!(merge.actor.as_deref(), Some("distiller"));
    let owner = Author { actor: "cli:me", audience: &Audience::Agent, viewer: &everything, at_ms: 2_000 };
    world.graph.undo(merge.id, owner).expect("undone");
    assert_eq!(robots(&world).id, apart);
    // It is not asked about again.
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
    assert_eq!(world.judge.asked.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn a_malformed_answer_joins_nothing_and_a_model_that_is_away_is_asked_later() {
    let world = World::new();
    two_names(&world);
    world.distiller.merge_once().await.expect_err("nobody answers");
    world.judge.answers.lock().expect("not poisoned").push(None);
    assert_eq!(world.distiller.merge_once().await.expect("no budget").compared, 0);
    world.answer("They look the same to me!");
    let done = world.distiller.merge_once().await.expect("judged");
    assert_eq!((done.compared, done.merged), (1, 0));
    assert_eq!(count(&world, "客厅的扫地机器"), 1);
}

#[tokio::test]
async fn weak_statements_are_kept_dropped_or_put_right_as_the_model_says() {
    let world = World::new();
    let weak = |name: &str, object: &str, sentence: &str| Claim {
        confidence: 0.5,
        sentence: Some(sentence.to_owned()),
        ..Claim::new(named(name, EntityKind::Person), "likes", Node::Literal(object.to_owned()))
    };
    tell(&world, weak("Anna", "tea", "Anna likes tea."));
    tell(&world, weak("Bert", "well", "Bert likes well done steak."));
    tell(&world, weak("Clara", "nothing", "Clara likes nothing."));
    tell(&world, weak("Dora", "cats", "Dora likes cats."));
    tell(&world, Claim { confidence: 0.9, ..weak("Emil", "chess", "Emil likes chess.") });
    world.answer(
        r#"{"verdicts":[{"number":1,"verdict":"keep"},
            {"number":2,"verdict":"fix","predicate":"likes","object":"well done steak"},
            {"number":3,"verdict":"drop"},
            {"number":4,"verdict":"fix","predicate":"hates","object":"elephants"}]}"#,
    );
    let done = world.distiller.review_once().await.expect("judged");
    assert_eq!((done.reviewed, done.corrected), (4, 2), "what is not in the sentence is no correction");
    insta::assert_snapshot!(world.known(&Viewer::Everything).join("\n"), @r"
    Anna likes tea
    Bert likes well done steak
    Dora likes cats
    Emil likes chess
    ");
    // Each is judged once; what was put right too.
    world.answer(r#"{"verdicts":[]}"#);
    world.distiller.review_once().await.expect("judged");
    let last = world.judge.asked.lock().expect("not poisoned").last().cloned().expect("asked");
    assert!(
        !last.material.contains("Dora") || world.judge.asked.lock().expect("not poisoned").len() == 1,
        "{}",
        last.material
    );
}

#[tokio::test]
async fn a_correction_is_no_surer_and_what_others_may_have_written_is_not_reviewed() {
    let world = World::new();
    let weak = |name: &str, kinds: &[&str]| Claim {
        confidence: 0.45,
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        sentence: Some(format!("{name} likes well done steak.")),
        ..Claim::new(named(name, EntityKind::Person), "likes", Node::Literal("well".into()))
    };
    tell(&world, weak("Anna", &["taste"]));
    tell(&world, weak("Bert", &["taste", "foreign"]));
    world.answer(r#"{"verdicts":[{"number":1,"verdict":"fix","predicate":"likes","object":"well done steak"}]}"#);
    let done = world.distiller.review_once().await.expect("judged");
    assert_eq!((done.reviewed, done.corrected), (1, 1));
    let anna = world.graph.named("Anna", &Viewer::Everything).expect("found")[0].id;
    let relations = world.graph.relations_of(anna, 10, &Viewer::Everything).expect("read");
    let fixed = relations.iter().find(|relation| relation.is_current()).expect("it holds");
    assert_eq!((fixed.confidence, fixed.kinds.as_slice()), (0.45, ["taste".to_owned()].as_slice()));
    // What was put right is not asked about again.
    assert_eq!(world.distiller.review_once().await.expect("nothing to do").reviewed, 0);
    assert_eq!(world.distiller.review_once().await.expect("nothing to do").reviewed, 0);
    assert_eq!(world.judge.asked.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn people_with_accounts_of_their_own_are_never_asked_about() {
    let world = World::new();
    let source = |user: &str| Source {
        audience: Audience::Group("qq:7".to_owned()),
        speaker: Some(homeagent_types::Principal {
            namespace: "qq".into(),
            user: user.into(),
            role: homeagent_types::Role::Member,
            display_name: Some("小明".into()),
            attested: true,
        }),
        origin: format!("journal:{user}"),
        at_ms: 1_000,
        undoable: false,
    };
    for user in ["1", "2"] {
        let claim = Claim::new(Node::Speaker, "likes", Node::Literal(format!("茶{user}")));
        world.graph.commit(&source(user), &[claim]).expect("committed");
    }
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
    assert!(world.judge.asked.lock().expect("not poisoned").is_empty());
}

/// What the last question was about, by the names of its pairs.
fn last_pairs(world: &World) -> Vec<(String, String)> {
    let asked = world.judge.asked.lock().expect("not poisoned");
    let names: Vec<String> = asked
        .last()
        .map(|question| question.material.lines())
        .into_iter()
        .flatten()
        .filter_map(|line| line.strip_prefix("A: ").or_else(|| line.strip_prefix("B: ")))
        .filter_map(|name| Some(name.split_once(" (")?.0.to_owned()))
        .collect();
    names.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn household(world: &World) {
    let person = EntityKind::Person;
    tell(world, Claim::new(named("grandma Liu", person), "age", Node::Literal("81".into())));
    tell(world, Claim::new(named("刘奶奶", person), "age", Node::Literal("82".into())));
    tell(world, Claim::new(named("王奶奶", person), "age", Node::Literal("83".into())));
    for room in ["room 3", "room 4", "4号房间"] {
        tell(world, Claim::new(named(room, EntityKind::Thing), "is_a", Node::Literal("gift".into())));
    }
}

#[tokio::test]
async fn names_near_in_meaning_are_asked_about_once_and_never_such_as_differ_by_a_number() {
    let world = World::new();
    household(&world);
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0, "nothing is written alike");
    world.make_vectors("1").await;
    world.judge.answers.lock().expect("not poisoned").push(None);
    world.distiller.merge_once().await.expect("no budget");
    world.answer(
        r#"{"verdicts":[{"number":1,"verdict":"same","reason":"one grandmother"},{"number":2,"verdict":"different"}]}"#,
    );
    let done = world.distiller.merge_once().await.expect("judged");
    let rooms = ("room 4".to_owned(), "4号房间".to_owned());
    assert_eq!(last_pairs(&world), [("grandma Liu".to_owned(), "刘奶奶".to_owned()), rooms]);
    assert_eq!((done.compared, done.merged), (2, 1));
    let everything = Viewer::Everything;
    let liu = world.graph.named("刘奶奶", &everything).expect("found");
    let said = world.graph.relations_of(liu[0].id, 9, &everything).expect("read");
    assert_eq!((liu.len(), said.len()), (1, 2), "what was said of either is said of both");
    // Neither again, nor with another model.
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
    world.make_vectors("2").await;
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
    // A merge by meaning is parted like any other, and stays parted.
    let merge = world.graph.changes(20, &everything).expect("changes").into_iter().find(|one| one.kind == "merge");
    let owner = Author { actor: "cli:me", audience: &Audience::Agent, viewer: &everything, at_ms: 2_000 };
    world.graph.undo(merge.expect("the merge").id, owner).expect("undone");
    assert_ne!(
        world.graph.named("刘奶奶", &everything).expect("found")[0].id,
        world.graph.named("grandma Liu", &everything).expect("found")[0].id
    );
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
}

#[tokio::test]
async fn a_name_that_comes_later_is_compared_with_those_that_were_there_and_no_pair_is_lost_for_want_of_room() {
    let world = World::new();
    household(&world);
    world.settings.set("core.memory.merge_pairs", 1).expect("set");
    world.make_vectors("1").await;
    let unsure = r#"{"verdicts":[{"number":1,"verdict":"unsure"}]}"#;
    let mut asked = Vec::new();
    for _ in 0..2 {
        world.answer(unsure);
        assert_eq!(world.distiller.merge_once().await.expect("judged").compared, 1);
        asked.extend(last_pairs(&world));
    }
    assert_eq!(asked.iter().map(|(a, _)| a.as_str()).collect::<Vec<_>>(), ["grandma Liu", "room 4"]);
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
    tell(&world, Claim::new(named("tomato", EntityKind::Thing), "is_a", Node::Literal("gift".into())));
    tell(&world, Claim::new(named("西红柿", EntityKind::Thing), "is_a", Node::Literal("gift".into())));
    // Until it has a vector nothing is known of its meaning.
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
    world.make_vectors("1").await;
    world.answer(unsure);
    assert_eq!(world.distiller.merge_once().await.expect("judged").compared, 1);
    assert_eq!(last_pairs(&world), [("tomato".to_owned(), "西红柿".to_owned())]);
    // Told to another, 番茄 is somebody else's thing.
    let elsewhere = Source {
        audience: Audience::Person("qq:2".to_owned()),
        speaker: None,
        origin: "document:y".to_owned(),
        at_ms: 1_000,
        undoable: false,
    };
    let claim = Claim::new(named("番茄", EntityKind::Thing), "is_a", Node::Literal("gift".into()));
    world.graph.commit(&elsewhere, &[claim]).expect("committed");
    world.make_vectors("1").await;
    assert_eq!(world.distiller.merge_once().await.expect("nothing to do").compared, 0);
}
