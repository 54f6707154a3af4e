use homeagent_memory::graph::{Node, Refusal};
use homeagent_types::{Audience, Viewer};

use crate::world::{GROUP, LI, World, author, claim, person, value};

/// Whether the bytes are in any file of the home.
fn is_somewhere(world: &World, bytes: &str) -> bool {
    std::fs::read_dir(world.home.path()).expect("a folder").any(|entry| {
        let content = std::fs::read(entry.expect("an entry").path()).expect("a file");
        content.windows(bytes.len()).any(|window| window == bytes.as_bytes())
    })
}

fn checkpoint(world: &World) {
    let connection = rusqlite::Connection::open(world.home.path().join("memory.db")).expect("it opens");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written back");
}

#[test]
fn nothing_is_left_of_a_deleted_entity_and_reading_the_past_does_not_bring_it_back() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    let mut told = claim(person("赵无极"), "喜欢", value("爬山"));
    told.sentence = Some("赵无极和小明都喜欢爬山".into());
    let mut other = claim(person("小明"), "喜欢", value("爬山"));
    other.sentence.clone_from(&told.sentence);
    let day = crate::world::source("1", homeagent_types::Role::Member, LI, 1);
    world.graph.commit(&day, &[told.clone(), other]).expect("committed");
    world.tell("1", LI, 2, claim(person("小明"), "认识", person("赵无极")));
    let id = world.id("赵无极", &li);
    let deleted = world.graph.delete_entity(id, author(&here, &li, 5)).expect("deleted");
    assert_eq!((deleted.entities, deleted.relations), (1, 2));
    assert_eq!(world.known("小明", &li), ["小明喜欢爬山"]);
    checkpoint(&world);
    assert!(!is_somewhere(&world, "赵无极") && !is_somewhere(&world, "无极"));
    let again = world.graph.commit(&day, &[told]).expect("committed");
    assert_eq!(again.relations, [Err(Refusal::Forgotten)]);
    assert!(world.graph.named("赵无极", &Viewer::Everything).expect("found").is_empty());
    // What is said of somebody of that name later is new.
    assert!(world.tell("1", LI, 6, claim(person("赵无极"), "喜欢", value("画画"))).relations[0].is_ok());
}

#[test]
fn a_deleted_relation_stays_away_and_others_stay() {
    let world = World::new();
    let (li, here) = (world.viewer(LI), Audience::parse(LI));
    let told = world.tell("1", LI, 1, claim(Node::Speaker, "phone", value("13812345678")));
    world.tell("1", LI, 1, claim(Node::Speaker, "likes", value("tea")));
    let relation = *told.relations[0].as_ref().expect("told");
    world.graph.delete_relations(&[relation], author(&here, &li, 2)).expect("deleted");
    checkpoint(&world);
    assert!(!is_somewhere(&world, "13812345678"));
    let again = world.tell("1", LI, 1, claim(Node::Speaker, "手机号", value("13812345678")));
    assert_eq!(again.relations, [Err(Refusal::Forgotten)]);
    let me = world.graph.of_account("qq:1", &li).expect("read").expect("known");
    assert_eq!(world.graph.relations_of(me.id, 10, &li).expect("read").len(), 1);
}

#[test]
fn whoever_deletes_deletes_what_he_may_see() {
    let world = World::new();
    world.tell("1", GROUP, 1, claim(Node::Speaker, "likes", value("tea")));
    world.tell("1", LI, 1, claim(Node::Speaker, "likes", value("wine")));
    let (group, here) = (world.viewer(GROUP), Audience::parse(GROUP));
    let me = world.graph.of_account("qq:1", &group).expect("read").expect("known").id;
    world.graph.delete_entity(me, author(&here, &group, 2)).expect("deleted");
    assert!(world.graph.of_account("qq:1", &group).expect("read").is_none());
    let li = world.viewer(LI);
    let still = world.graph.of_account("qq:1", &li).expect("read").expect("known");
    assert_eq!(world.graph.relations_of(still.id, 10, &li).expect("read").len(), 1);
}

#[test]
fn what_came_from_a_place_that_was_forgotten_goes_and_is_not_taken_again() {
    let world = World::new();
    let li = world.viewer(LI);
    world.tell("1", LI, 1, claim(person("小明"), "喜欢", value("猫")));
    world.tell("1", LI, 2, claim(person("小明"), "喜欢", value("猫")));
    world.tell("1", LI, 2, claim(person("小红"), "喜欢", value("狗")));
    world.graph.forget_origins(&["journal:2".to_owned()]).expect("forgotten");
    assert_eq!(world.known("小明", &li), ["小明喜欢猫"]);
    assert!(world.graph.named("小红", &li).expect("found").is_empty());
    assert!(world.tell("1", LI, 2, claim(person("小红"), "喜欢", value("狗"))).relations[0].is_err());
}

#[test]
fn cleaning_leaves_what_is_in_use() {
    let world = World::new();
    world.tell("1", LI, 1, claim(person("小明"), "喜欢", value("猫")));
    assert_eq!(world.graph.clean().expect("cleaned"), homeagent_memory::graph::Deleted::default());
}

#[test]
fn cleaning_takes_names_of_whom_nothing_could_be_told() {
    let world = World::new();
    let li = world.viewer(LI);
    assert!(world.tell("1", LI, 1, claim(person("Bob"), "knows", person("她"))).relations[0].is_err());
    assert_eq!(world.graph.named("Bob", &li).expect("found").len(), 1, "he was looked up before her");
    let cleaned = world.graph.clean().expect("cleaned");
    assert_eq!((cleaned.entities, cleaned.names), (1, 1));
    assert!(world.graph.named("Bob", &li).expect("found").is_empty());
}
