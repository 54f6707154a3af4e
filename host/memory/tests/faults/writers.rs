//! Others who write the same files at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use homeagent_memory::curated::Curated;
use homeagent_settings::Database;
use homeagent_types::memory::MemoryWhat;
use homeagent_types::{Audience, Viewer};

use crate::stage::{alone, life};
use crate::world::{ME, World, now};

#[tokio::test(flavor = "multi_thread")]
async fn two_memories_of_one_home_lose_nothing_of_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    // A daemon holds the lock of its home; this is what happens where two come past it all the same.
    let (one, other) = (World::open(folder.path()).await, World::open(folder.path()).await);
    let mut notes = Vec::new();
    for number in 0..12 {
        for (name, world) in [("ann", &one), ("ben", &other)] {
            world.say(&format!("{name}{number} feeds the cat")).await;
            notes.push(world.note("Cat", &format!("{name}{number} buys food")));
            world.learn(&format!("{name}{number}"), "Riga", 1_000_000 + number);
            world.keep(&format!("greet {name}{number}"));
            world.save_window().await;
        }
    }
    for world in [&one, &other] {
        world.memory.close().await;
    }
    drop((one, other));
    let world = World::open(folder.path()).await;
    for name in (0..12).flat_map(|number| [format!("ann{number}"), format!("ben{number}")]) {
        let found = world.memory.find(&name, Viewer::Everything, 3, Vec::new(), None, None).await.expect("looked");
        assert!(found.iter().any(|hit| hit.passage.text == format!("{name} feeds the cat")), "{name}: {found:?}");
        assert!(!world.memory.graph().named(&name, &Viewer::Everything).expect("read").is_empty(), "{name}");
        let lines = world.memory.curated().lines(&Viewer::Everything).expect("read");
        assert!(lines.contains(&format!("greet {name}")), "{name}: {lines:?}");
    }
    for id in notes {
        world.memory.context().documents().read(&id).expect("it is there");
    }
    let database = Database::open(folder.path().join("memory.db")).expect("it opens");
    assert_eq!(database.damage().expect("read"), Vec::<String>::new());
}

#[test]
fn what_a_person_saves_while_the_agent_writes_the_list_is_kept() {
    let home = tempfile::tempdir().expect("a folder");
    let curated = Curated::open(home.path());
    let audience = Audience::Person(ME.to_owned());
    curated.add(&audience, "the first line").expect("kept");
    let path = home.path().join("memory.md");
    let is_done = Arc::new(AtomicBool::new(false));
    let agent = {
        let is_done = Arc::clone(&is_done);
        std::thread::spawn(move || {
            for number in 0.. {
                if is_done.load(Ordering::Relaxed) {
                    return number;
                }
                let line = format!("agent {number}");
                if let Err(error) = curated.add(&audience, &line) {
                    // This person saves faster than anybody could: the agent may be told that it was not kept.
                    assert!(error.to_string().contains("it changes all the time"), "{error}");
                }
                if number >= 5 {
                    // A person who had read the list before it was added may have saved it without.
                    let _ = curated.remove(&Viewer::Everything, &format!("agent {}", number - 5));
                }
            }
            0
        })
    };
    // As an editor saves: the whole file, in the place of what it had read.
    for number in 0..60 {
        let text = std::fs::read_to_string(&path).expect("read");
        let saved = home.path().join("saved");
        std::fs::write(&saved, format!("{text}person {number}\n")).expect("written");
        let unchanged = std::fs::read_to_string(&path).expect("read") == text;
        if unchanged {
            std::fs::rename(&saved, &path).expect("saved");
        }
        // What the agent was writing may stand there for a moment, until it finds that it is not what it had read.
        let is_kept = || std::fs::read_to_string(&path).expect("read").contains(&format!("person {number}\n"));
        assert!(!unchanged || (0..1_000).any(|_| is_kept()), "what a person saved is lost: {number}");
    }
    is_done.store(true, Ordering::Relaxed);
    let written = agent.join().expect("it ends");
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(written > 0 && text.contains("the first line"), "{text}");
    assert_eq!(
        std::fs::read_dir(home.path())
            .expect("read")
            .filter(|file| { file.as_ref().expect("a file").file_name().to_string_lossy().ends_with(".part") })
            .count(),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_tool_that_holds_the_lock_is_named_and_what_was_said_is_found_when_it_lets_go() {
    let world = World::new().await;
    world.say("the kettle is new").await;
    let note = world.note("Kettle", "it is blue");
    let tool = rusqlite::Connection::open(world.folder.join("memory.db")).expect("it opens");
    tool.execute_batch("BEGIN IMMEDIATE; UPDATE followers SET seq = seq").expect("it is locked");
    let said = world.append_said("the toaster is old").await;
    let (graph, documents) = (world.memory.graph().clone(), world.memory.context().documents().clone());
    let refused = tokio::task::spawn_blocking(move || {
        let put = homeagent_memory::documents::Document::note(
            None,
            "lost".into(),
            ME.into(),
            &Audience::Person(ME.into()),
            now(),
        );
        (documents.put(&put, None), graph.clean())
    });
    // Reading goes on meanwhile.
    let found = world.memory.find("kettle", Viewer::Everything, 3, Vec::new(), None, None).await.expect("looked");
    assert!(found.iter().any(|hit| hit.passage.text == "the kettle is new"), "{found:?}");
    let (put, _) = refused.await.expect("they end");
    let error = put.expect_err("it is locked").to_string();
    assert!(error.contains("another program keeps") && error.contains("memory.db"), "{error}");
    tool.execute_batch("ROLLBACK").expect("it lets go");
    world.memory.caught_up().await;
    let found = world.memory.find("toaster", Viewer::Everything, 3, Vec::new(), None, None).await.expect("looked");
    assert_eq!(found[0].passage.origin, said.to_string());
    let documents = world.memory.context().documents();
    assert_eq!(documents.count().expect("counted"), 1, "what was refused is not half there");
    documents.read(&note).expect("it is there");
    assert!(matches!(documents.find("lost", None, &Viewer::Everything, 3), Ok(found) if found.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_tool_that_looks_at_the_files_takes_nothing_away() {
    let world = World::new().await;
    world.say("the kettle is new").await;
    world.say("my password is zebra").await;
    // What is left is looked for in all files.
    world.forget(MemoryWhat::Text("zebra".to_owned()), false).await;
    let look = |count| {
        let looked = alone("writers::looking_at_the_files", &world.folder, count).output().expect("it starts");
        assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    };
    look(2);
    world.say("the toaster is old").await;
    look(3);
}

#[test]
#[ignore = "it is started by the test whose files it looks at"]
fn looking_at_the_files() {
    let Some((home, count)) = life() else { return };
    for (file, table) in [("homeagent.db", "events"), ("memory.db", "passages")] {
        let database = rusqlite::Connection::open(home.join(file)).expect("it opens");
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(database.query_row(&sql, [], |row| row.get::<_, u32>(0)).expect("read"), count, "{file}");
    }
}
