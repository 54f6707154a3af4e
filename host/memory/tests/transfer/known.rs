//! What the graph knows is found among the documents by those who were told, and goes with what it holds.

use std::sync::Arc;

use homeagent_memory::documents::{Document, Kind};
use homeagent_memory::graph::{Claim, EntityKind, Holding, Node, Source};
use homeagent_memory::recollection::{Recollection, Remembers as _};
use homeagent_types::memory::MemoryWhat;
use homeagent_types::ports::Toolbox;
use homeagent_types::{Audience, Cause, Principal, Role, Viewer};
use serde_json::{Value, json};

use crate::world::{ME, World};

const DAY: i64 = 86_400_000;
const GROUP: &str = "group:qq:7";

fn mine() -> Audience {
    Audience::Person(ME.to_owned())
}

/// Somebody, what of them, and whether it is over, told on a day before an audience.
fn tell(world: &World, audience: &Audience, day: i64, (who, what, object): (&str, &str, &str), over: bool) -> i64 {
    let holding = if over { Holding::Ended } else { Holding::Now };
    let sentence = Some(format!("{who} {what} {object}"));
    let who = Node::Named(who.to_owned(), EntityKind::Person);
    let claim = Claim { holding, sentence, ..Claim::new(who, what, Node::Literal(object.to_owned())) };
    let source = Source {
        audience: audience.clone(),
        speaker: None,
        origin: format!("journal:{}", 1_000 + day),
        at_ms: day * DAY,
        undoable: false,
    };
    let told = world.memory.graph().commit(&source, &[claim]).expect("told");
    *told.relations[0].as_ref().expect("taken")
}

fn household(world: &World) -> i64 {
    tell(world, &mine(), 1, ("Ottilie", "lives in", "Oslo"), false);
    tell(world, &mine(), 9, ("Ottilie", "lives in", "Turin"), false);
    tell(world, &mine(), 3, ("Ottilie", "likes", "marzipan"), false);
    tell(world, &Audience::parse(GROUP), 4, ("Ottilie", "likes", "chess"), false);
    tell(world, &Audience::parse(GROUP), 5, ("Ottilie", "job", "pilot"), false);
    tell(world, &mine(), 3, ("Emil", "likes", "tea"), false)
}

fn write(world: &World) {
    while world.memory.known().write_on().expect("written") {}
}

/// The documents about what is known that are found for a question.
fn found(world: &World, question: &str, viewer: &Viewer) -> Vec<Document> {
    let documents = world.memory.context().documents();
    let found = documents.find(question, None, viewer, 9).expect("looked");
    let found = found.iter().map(|found| documents.read(&found.listed.id).expect("read"));
    found.filter(|document| document.kind == Kind::Known).collect()
}

fn only(audience: &Audience) -> Viewer {
    Viewer::Only([audience.clone()].into())
}

async fn call(world: &World, tool: &str, arguments: Value) -> Value {
    let cause = Cause {
        run: None,
        conversation: None,
        principal: Principal {
            namespace: "cli".into(),
            user: "me".into(),
            role: Role::Owner,
            display_name: None,
            attested: true,
        },
        audience: mine(),
        chain: Vec::new(),
        deadline_ms: 10_000,
        meta: Vec::new(),
    };
    let boxes: Vec<Arc<dyn Toolbox>> = world.memory.toolboxes();
    let memory = boxes.iter().find(|toolbox| toolbox.name() == "memory").expect("it is there");
    let output = memory.call(tool, arguments, &cause).await.expect("done");
    serde_json::from_str(&output.value).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_is_found_by_whoever_was_told_and_by_nobody_else() {
    let world = World::new().await;
    household(&world);
    write(&world);
    let [private, group] = [mine(), Audience::parse(GROUP)].map(|audience| found(&world, "Ottilie", &only(&audience)));
    assert_eq!((private.len(), group.len()), (1, 1));
    let both = format!("{:?}\n{}---\n{}", private[0].title, private[0].text, group[0].text);
    insta::assert_snapshot!(both, @r#"
    Some("Ottilie")
    Ottilie likes marzipan (1970-01-04).
    Ottilie lives in Turin (1970-01-10).
    Ottilie lives in Oslo (1970-01-02 – 1970-01-10).
    ---
    Ottilie likes chess (1970-01-05).
    Ottilie works as pilot (1970-01-06).
    "#);
    let of_chess = found(&world, "chess", &Viewer::Everything);
    assert_eq!(of_chess.len(), 1, "what is only named in what is said of others has none: {of_chess:?}");
    assert!(found(&world, "marzipan", &only(&Audience::parse(GROUP))).is_empty());
    let cold = world.memory.context().documents().cold(i64::MAX, u32::MAX, 99).expect("looked");
    assert!(cold.is_empty(), "it is not learnt again: {cold:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_written_anew_only_where_it_says_something_else() {
    let world = World::new().await;
    household(&world);
    write(&world);
    let listed = |world: &World| world.memory.context().documents().after(0, 99).expect("listed");
    let before = listed(&world);
    world.memory.known().begin_anew().expect("noted");
    write(&world);
    world.memory.known().look_again().expect("looked");
    assert_eq!(listed(&world), before);
    tell(&world, &mine(), 11, ("Ottilie", "likes", "marzipan"), true);
    write(&world);
    let after = listed(&world);
    assert_eq!(after.iter().filter(|listed| !before.contains(listed)).count(), 1);
    let told = &found(&world, "Ottilie", &only(&mine()))[0].text;
    assert!(told.contains("marzipan (1970-01-04 – 1970-01-12)"), "{told}");
    assert!(export(&world).contains("Ottilie") && !export(&world).contains("\"known\""), "the graph says it already");
}

fn export(world: &World) -> String {
    let mut bytes = Vec::new();
    world.memory.export(&mut bytes).expect("exported");
    String::from_utf8(bytes).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_mended_in_the_graph_is_mended_there_at_once() {
    let world = World::new().await;
    let emil = household(&world);
    tell(&world, &mine(), 4, ("Emil", "knows", "Ottilie"), false);
    write(&world);
    let told = |world: &World| -> String {
        let documents = world.memory.context().documents();
        let ids = documents.after(0, 99).expect("listed");
        ids.iter().map(|listed| documents.read(&listed.id).expect("read").text).collect()
    };
    assert!(told(&world).contains("tea"));
    call(&world, "memory_edit", json!({ "relation": emil, "retract": true })).await;
    assert!(!told(&world).contains("tea"), "{}", told(&world));
    let changes = world.memory.graph().changes(9, &Viewer::Everything).expect("read");
    let change = changes.iter().find(|change| change.kind == "retraction").expect("it is there").id;
    call(&world, "memory_edit", json!({ "undo": change })).await;
    write(&world);
    assert!(told(&world).contains("tea"));
    call(&world, "memory_purge", json!({ "relations": [emil] })).await;
    assert!(!told(&world).contains("tea"));
    call(&world, "memory_delete_entity", json!({ "entity": "Ottilie" })).await;
    assert!(!told(&world).contains("Turin"), "{}", told(&world));
    assert!(world.holding("marzipan").iter().all(|file| !file.starts_with("documents/")));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_forgotten_with_what_it_holds_and_does_not_come_back() {
    let world = World::new().await;
    household(&world);
    write(&world);
    assert!(world.holding("marzipan").iter().any(|file| file.starts_with("documents/known-")));
    world.forget(MemoryWhat::Text("marzipan".to_owned()), false).await;
    write(&world);
    assert_eq!(world.holding("marzipan"), Vec::<String>::new());
    assert!(world.holding("turin").iter().any(|file| file.starts_with("documents/known-")), "the rest is there again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_turn_was_shown_of_it_and_of_the_kept_facts_is_nothing_new_there() {
    let world = World::new().await;
    household(&world);
    write(&world);
    let documents = world.memory.context().documents();
    let summary = documents.summary("Ottilie", None, &only(&mine())).expect("looked").text;
    assert!(summary.contains("marzipan"), "{summary}");
    let shown = Recollection { documents: summary, curated: "- Emil naps at two\n".into(), ..Recollection::default() };
    world.memory.shown("run", &shown);
    for said in ["Ottilie likes marzipan!", "Emil naps at two"] {
        assert!(world.memory.graph().was_shown("run", said), "{said}");
    }
    assert!(!world.memory.graph().was_shown("run", "Emil likes tea"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_death_kept_documents_from_following_is_followed_at_the_next_start() {
    let mut world = World::new().await;
    household(&world);
    write(&world);
    assert_eq!(found(&world, "marzipan", &Viewer::Everything).len(), 1);
    // As a call of a tool leaves it that dies right after the graph's change.
    world.memory.graph().forget_origins(&["journal:1003".to_owned()]).expect("taken back");
    world.memory.close().await;
    let kept = world.kept.take().expect("it was made for this");
    drop(world);
    let database = homeagent_settings::Database::open(kept.path().join("memory.db")).expect("it opens");
    let owe = "INSERT OR REPLACE INTO known_cursors (name, at) VALUES ('owed', 1)";
    database.write("owing", |transaction| transaction.execute(owe, [])).expect("written");
    drop(database);
    let world = World::open(kept.path()).await;
    // What was begun at the start is finished.
    world.memory.close().await;
    assert!(found(&world, "marzipan", &Viewer::Everything).is_empty());
    assert_eq!(found(&world, "Ottilie lives in Turin", &only(&mine())).len(), 1, "the rest is there");
}
