//! Importing into a memory that is not empty: both are known afterwards, each thing once, and what was forgotten stays so.

use std::collections::{BTreeMap, BTreeSet};

use homeagent_memory::curated::Curated;
use homeagent_memory::documents::Document;
use homeagent_memory::graph::{Author, Claim, EntityKind, Graph, Node, Source};
use homeagent_types::memory::{MemoryImported, MemoryWhat};
use homeagent_types::{Audience, Viewer};
use proptest::prelude::*;

use crate::world::{ME, World};

/// One thing that is told: who, what of them, and where it was said. The same place says the same to all.
type Told = (u8, u8, u8);

const PREDICATES: [&str; 3] = ["lives in", "likes", "is a friend of"];

fn audience(place: u8) -> Audience {
    if place.is_multiple_of(2) { Audience::Person(ME.to_owned()) } else { Audience::Group("qq:7".to_owned()) }
}

fn tell(world: &World, (who, what, place): Told) {
    let kind = [EntityKind::Place, EntityKind::Concept, EntityKind::Person][usize::from(what % 3)];
    let subject = Node::Named(format!("Person{who}"), EntityKind::Person);
    let object = Node::Named(format!("{}{}", ["Town", "Thing", "Person"][usize::from(what % 3)], what / 3), kind);
    let sentence = Some(format!("Person{who} told of {what} at {place}"));
    let claim = Claim { sentence, ..Claim::new(subject, PREDICATES[usize::from(what % 3)], object) };
    commit(world.memory.graph(), &claim, place);
}

fn commit(graph: &Graph, claim: &Claim, place: u8) {
    let source = Source {
        audience: audience(place),
        speaker: None,
        origin: format!("document:{place}"),
        at_ms: 1_000 + i64::from(place),
        undoable: true,
    };
    graph.commit(&source, std::slice::from_ref(claim)).expect("committed");
}

fn export(world: &World) -> String {
    let mut bytes = Vec::new();
    world.memory.export(&mut bytes).expect("exported");
    String::from_utf8(bytes).expect("text")
}

fn import(world: &World, file: &str) -> MemoryImported {
    world.memory.import(&mut file.as_bytes()).expect("imported")
}

/// Each statement before each audience: in how many sentences it was said, and whether it holds. Told again after something
/// else took its place, it may be two stretches of time.
fn known(world: &World) -> BTreeMap<String, (i64, bool)> {
    let graph = world.memory.graph();
    let mut all: BTreeMap<String, (i64, bool)> = BTreeMap::new();
    for heard in [audience(0), audience(1)] {
        let viewer = Viewer::Only([heard.clone()].into());
        let mut seen = BTreeSet::new();
        for who in 0..4 {
            let called = graph.named(&format!("Person{who}"), &viewer).expect("read");
            let relations = called.iter().flat_map(|one| graph.relations_of(one.id, 100, &viewer).expect("read"));
            for relation in relations.filter(|relation| seen.insert(relation.id)) {
                let (mentions, holds) = all.entry(format!("{heard}: {}", relation.text)).or_default();
                *mentions += relation.mentions;
                *holds |= relation.closed_by.is_none();
            }
        }
    }
    all
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn told() -> impl Strategy<Value = Vec<Told>> {
    prop::collection::vec((0..4_u8, 0..9_u8, 0..12_u8), 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn what_either_knew_is_known_once_and_taking_it_again_changes_nothing(one in told(), two in told()) {
        runtime().block_on(async {
            let (first, second, both) = (World::new().await, World::new().await, World::new().await);
            one.iter().for_each(|told| tell(&first, *told));
            two.iter().for_each(|told| tell(&second, *told));
            one.iter().chain(&two).for_each(|told| tell(&both, *told));
            let file = export(&second);
            import(&first, &file);
            assert_eq!(known(&first), known(&both));
            let after = export(&first);
            let again = import(&first, &file);
            assert_eq!((again.rows, again.documents), (0, 0));
            assert_eq!(export(&first), after);
            // Its own file is nothing new either.
            assert_eq!(import(&first, &after).rows, 0);
            assert_eq!(export(&first), after);
        });
    }
}

fn note(world: &World, id: &str, text: &str) {
    let note = Document::note(None, text.to_owned(), ME.to_owned(), &audience(0), 1_000);
    let note = Document { id: id.to_owned(), ..note };
    world.memory.context().documents().put(&note, None).expect("written");
}

fn lives(world: &World, who: &str, town: &str, place: u8) {
    let node = |name: &str, kind| Node::Named(name.to_owned(), kind);
    let claim = Claim::new(node(who, EntityKind::Person), "lives in", node(town, EntityKind::Place));
    let claim = Claim { sentence: Some(format!("{who} lives in {town}")), ..claim };
    commit(world.memory.graph(), &claim, place);
}

fn towns(world: &World, who: &str) -> Vec<(String, bool)> {
    let graph = world.memory.graph();
    let called = graph.named(who, &Viewer::Everything).expect("read");
    let relations = called.iter().flat_map(|one| graph.relations_of(one.id, 100, &Viewer::Everything).expect("read"));
    let mut towns: Vec<_> = relations.map(|told| (told.object, told.closed_by.is_none())).collect();
    towns.sort();
    towns
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_forgotten_here_is_not_brought_back() {
    let (here, there) = (World::new().await, World::new().await);
    for world in [&here, &there] {
        lives(world, "Wilhelmina", "Oostende", 2);
        lives(world, "Berta", "Gent", 4);
    }
    note(&here, "shared", "the password of the gate is Oostende");
    note(&there, "shared", "the password of the gate is Oostende");
    here.forget(MemoryWhat::Entity("Wilhelmina".to_owned()), false).await;
    here.forget(MemoryWhat::Document("shared".to_owned()), false).await;
    lives(&there, "Chloe", "Brugge", 6);
    let imported = import(&here, &export(&there));
    assert!(imported.conflicts.iter().any(|why| why.contains("document shared")), "{imported:?}");
    assert_eq!(towns(&here, "Chloe"), [("Brugge".to_owned(), true)]);
    assert_eq!(towns(&here, "Berta"), [("Gent".to_owned(), true)]);
    assert_eq!(here.holding("Wilhelmina"), Vec::<String>::new());
    assert!(here.memory.context().documents().read("shared").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_later_word_holds_and_what_was_undone_here_stays_undone() {
    let (here, there) = (World::new().await, World::new().await);
    lives(&here, "Anna", "Paris", 2);
    for (name, place) in [("Anna", 4), ("Annie", 6)] {
        lives(&there, name, "Rome", place);
    }
    let author = Author { actor: "owner", audience: &audience(0), viewer: &Viewer::Everything, at_ms: 2_000 };
    let one = |world: &World, name: &str| world.memory.graph().named(name, &Viewer::Everything).expect("read")[0].id;
    there.memory.graph().merge(one(&there, "Annie"), one(&there, "Anna"), author).expect("merged");
    let file = export(&there);
    import(&here, &file);
    assert_eq!(towns(&here, "Anna"), [("Paris".to_owned(), false), ("Rome".to_owned(), true)]);
    let graph = here.memory.graph();
    let merge = graph.changes(20, &Viewer::Everything).expect("read").into_iter().find(|change| change.kind == "merge");
    graph.undo(merge.expect("it came with the file").id, author).expect("undone");
    assert!(graph.named("Annie", &Viewer::Everything).expect("read")[0].id != one(&here, "Anna"));
    let before = export(&here);
    assert_eq!(import(&here, &file).rows, 0);
    assert_eq!(export(&here), before, "the merge is not made again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_line_leaves_the_graph_as_it_was() {
    let (here, there) = (World::new().await, World::new().await);
    lives(&here, "Anna", "Paris", 2);
    lives(&there, "Berta", "Rome", 4);
    let before = export(&here);
    let whole = export(&there);
    let broken = whole.replace("\"table\":\"graph_steps\"", "\"table\":\"graph_leaps\"");
    assert_ne!(broken, whole);
    let error = here.memory.import(&mut broken.as_bytes()).expect_err("it is bad").to_string();
    let line = broken.lines().position(|line| line.contains("graph_leaps")).expect("there is one") + 1;
    assert!(error.contains(&format!("line {line}: there is no table graph_leaps")), "{error}");
    assert_eq!(export(&here), before);
    assert_eq!(towns(&here, "Berta"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_in_another_journal_is_not_taken_for_one_in_this() {
    let (here, there) = (World::new().await, World::new().await);
    let seq = here.say("the kettle is broken").await;
    here.learn("Anna", "Paris", seq);
    there.learn("Berta", "Rome", seq);
    import(&here, &export(&there));
    let berta = here.memory.graph().named("Berta", &Viewer::Everything).expect("read")[0].id;
    let origins = here.memory.graph().origins_of(berta, 9, &Viewer::Everything).expect("read");
    assert!(origins.len() == 1 && origins[0].starts_with("imported:"), "{origins:?}");
    here.forget(MemoryWhat::Text("the kettle is broken".to_owned()), false).await;
    assert_eq!(towns(&here, "Berta"), [("Rome".to_owned(), true)]);
}

fn documents_of(world: &World) -> Vec<String> {
    let files = std::fs::read_dir(world.folder.join("documents")).expect("a folder");
    let names = files.map(|file| file.expect("read").file_name().into_string().expect("a name"));
    let mut ids: Vec<String> = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    ids.sort();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_documents_of_one_name_both_are_kept() {
    let (here, there) = (World::new().await, World::new().await);
    lives(&here, "Anna", "Paris", 2);
    note(&here, "shared", "buy milk");
    note(&there, "shared", "买牛奶");
    note(&there, "alone", "feed the cat");
    let file = export(&there);
    let imported = import(&here, &file);
    assert_eq!(imported.documents, 2);
    let documents = here.memory.context().documents();
    let texts = |id: &str| documents.read(id).expect("it is there").text;
    let ids = documents_of(&here);
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert_eq!(
        (texts("shared"), texts("alone"), texts(&ids[2])),
        ("buy milk".to_owned(), "feed the cat".to_owned(), "买牛奶".to_owned())
    );
    assert!(imported.conflicts.iter().any(|why| why.contains(&ids[2])), "{imported:?}");
    let again = import(&here, &file);
    assert_eq!((again.rows, again.documents, documents_of(&here).len()), (0, 0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_the_short_list_come_together_as_far_as_there_is_room() {
    let (here, there) = (World::new().await, World::new().await);
    here.keep("Tea is at four");
    there.keep("TEA is at four");
    there.keep("喝茶用杯子");
    Curated::open(&there.folder).add(&audience(1), "周五聚餐").expect("kept");
    let file = export(&there);
    assert_eq!(import(&here, &file).conflicts, Vec::<String>::new());
    let list = Curated::open(&here.folder);
    let lines = |audience: Audience| list.lines(&Viewer::Only([audience].into())).expect("read");
    assert_eq!(lines(audience(0)), ["Tea is at four", "喝茶用杯子"]);
    assert_eq!(lines(audience(1)), ["周五聚餐"]);
    let before = export(&here);
    import(&here, &file);
    assert_eq!(export(&here), before);
    for at in 0.. {
        if list.add(&audience(0), &format!("{at:03} {}", "x".repeat(290))).is_err() {
            break;
        }
    }
    there.keep(&"长".repeat(200));
    let imported = import(&here, &export(&there));
    assert!(imported.conflicts.iter().any(|why| why.contains("长长长") && why.contains("full")), "{imported:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_file_of_the_same_memory_adds_what_is_new_and_what_is_not_to_come_back() {
    let (here, there) = (World::new().await, World::new().await);
    lives(&there, "Anna", "Paris", 2);
    lives(&there, "Berta", "Gent", 4);
    import(&here, &export(&there));
    lives(&here, "Chloe", "Brugge", 6);
    lives(&there, "Anna", "Rome", 8);
    there.forget(MemoryWhat::Entity("Berta".to_owned()), false).await;
    let imported = import(&here, &export(&there));
    assert_eq!(imported.conflicts, Vec::<String>::new());
    assert_eq!(towns(&here, "Anna"), [("Paris".to_owned(), false), ("Rome".to_owned(), true)]);
    assert_eq!(towns(&here, "Chloe"), [("Brugge".to_owned(), true)]);
    assert_eq!(towns(&here, "Berta"), [("Gent".to_owned(), true)], "an import removes nothing");
    here.forget(MemoryWhat::Entity("Chloe".to_owned()), false).await;
    // Of one salt, so that what was deleted there is not told anew here, and the other way round.
    import(&there, &export(&here));
    for (world, gone) in [(&here, "Chloe"), (&there, "Chloe"), (&there, "Berta")] {
        assert_eq!(towns(world, gone), [], "{gone}");
    }
    let claim = Claim::new(
        Node::Named("Berta".to_owned(), EntityKind::Person),
        "likes",
        Node::Named("tea".to_owned(), EntityKind::Concept),
    );
    let source = Source {
        audience: audience(4),
        speaker: None,
        origin: "document:90".to_owned(),
        at_ms: 1_000,
        undoable: false,
    };
    let refused = here.memory.graph().commit(&source, &[claim]).expect("committed").relations;
    assert!(matches!(refused.as_slice(), [Err(_)]), "{refused:?}");
}
