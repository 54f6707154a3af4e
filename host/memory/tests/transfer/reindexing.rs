//! Every index can be made anew from its source.

use homeagent_memory::index::{Index, Passage, PassageKind};
use homeagent_memory::vectors::Vectors;
use homeagent_settings::Database;
use homeagent_types::ports::MemoryAdmin as _;
use homeagent_types::{Audience, Viewer};

use crate::world::{ME, World};

async fn found(world: &World, text: &str) -> Vec<(String, String)> {
    let mine = Viewer::Only([Audience::Person(ME.to_owned())].into());
    let hits = world.memory.find(text, mine, 5, Vec::new(), None, None).await.expect("looked");
    hits.into_iter().map(|hit| (hit.passage.kind.as_str().to_owned(), hit.passage.text)).collect()
}

fn damage(world: &World, sql: &str) {
    let database = rusqlite::Connection::open(world.folder.join("memory.db")).expect("it opens");
    database.execute_batch(sql).expect("damaged");
}

async fn lived_in() -> (World, String) {
    let world = World::new().await;
    let seq = world.say("the kettle of Ottilie whistles").await;
    world.say("the cellar is damp").await;
    let note = world.note("Plan", "whitewash the cellar in May");
    world.learn("Ottilie", "Turin", seq);
    (world, note)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_down_is_found_by_the_one_recall_and_shown_until_it_goes() {
    let (world, note) = lived_in().await;
    while world.memory.known().write_on().expect("written") {}
    assert!(found(&world, "whitewash").await.iter().any(|(kind, text)| kind == "document" && text.contains("May")));
    assert!(found(&world, "Turin").await.iter().any(|(_, text)| text.contains("Ottilie lives in Turin")));
    let others = Viewer::Only([Audience::parse("group:qq:7")].into());
    let elsewhere = world.memory.find("whitewash", others, 5, Vec::new(), None, None).await.expect("looked");
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    let place = world.memory.show(&format!("document/{note}"), 3, false).await.expect("shown");
    assert_eq!(place.passage.text, "Plan\nwhitewash the cellar in May");
    assert!(world.memory.show("document/../homeagent", 3, true).await.is_err());
    world.memory.context().documents().remove(&note).expect("removed");
    assert!(found(&world, "whitewash").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_indexes_lost_is_there_again_and_what_has_no_source_goes() {
    let (world, _) = lived_in().await;
    while world.memory.known().write_on().expect("written") {}
    let all = ["kettle", "cellar", "whitewash", "Turin"];
    let mut before = Vec::new();
    for text in all {
        before.push(found(&world, text).await);
    }
    let summary = |world: &World| {
        let documents = world.memory.context().documents();
        documents.summary("whitewash", None, &Viewer::Everything).expect("looked").text
    };
    let told = summary(&world);
    assert!(told.contains("whitewash"), "{told}");
    let stray = Passage {
        kind: PassageKind::Said,
        origin: "999999".to_owned(),
        part: 0,
        conversation: ME.to_owned(),
        session: "s".to_owned(),
        position: 999_999,
        speaker: "nobody".to_owned(),
        audience: Audience::Person(ME.to_owned()),
        at_ms: 1,
        text: "nobody ever said zanzibar".to_owned(),
    };
    put_by_hand(&world, stray);
    damage(
        &world,
        "INSERT INTO passage_terms (passage_terms) VALUES ('delete-all');
         DELETE FROM document_terms WHERE rowid IN (SELECT number FROM documents);
         DELETE FROM name_terms; DELETE FROM literal_terms;",
    );
    let world = reopened(world).await;
    assert!(found(&world, "whitewash").await.is_empty() && summary(&world).is_empty(), "they are damaged");
    let state = world.memory.reindex().await.map(|()| world.memory.state()).expect("made anew").await.expect("a state");
    assert_eq!((state.rebuilding, state.reached), (None, state.tip));
    for (text, before) in all.iter().zip(before) {
        assert_eq!(found(&world, text).await, before, "{text}");
    }
    assert_eq!(summary(&world), told);
    assert!(found(&world, "zanzibar").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_forgotten_does_not_come_back_with_it_and_recall_goes_on_meanwhile() {
    let (world, _) = lived_in().await;
    world.forget(homeagent_types::memory::MemoryWhat::Text("Ottilie".to_owned()), false).await;
    let memory = world.memory.clone();
    let work = tokio::spawn(async move { memory.reindex().await });
    while !work.is_finished() {
        assert!(!found(&world, "cellar").await.is_empty(), "it is found at each moment");
    }
    work.await.expect("it ended").expect("made anew");
    assert_eq!(world.holding("ottilie"), Vec::<String>::new());
    assert!(found(&world, "Ottilie").await.is_empty());
}

async fn reopened(mut world: World) -> World {
    world.memory.close().await;
    let (kept, folder) = (world.kept.take(), world.folder.clone());
    drop(world);
    let mut world = World::open(&folder).await;
    world.kept = kept;
    world
}

/// A passage that nobody said, as a copied file may have it.
fn put_by_hand(world: &World, passage: Passage) {
    let database = Database::open(world.folder.join("memory.db")).expect("it opens");
    let vectors = Vectors::open(&database).expect("they open");
    Index::open(&database, &vectors).expect("it opens").put(&[passage]).expect("put");
}
