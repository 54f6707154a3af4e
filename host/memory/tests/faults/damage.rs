//! Files that were cut, damaged or lost.

use std::fs;
use std::path::Path;

use homeagent_journal::Journal;
use homeagent_memory::documents::Document;
use homeagent_memory::{Memory, Parts};
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::Viewer;
use homeagent_types::memory::MemoryWhat;
use tokio::sync::watch;

use crate::letters::Letters;
use crate::world::{ME, World};

/// Closes a home, so that its files can be changed.
async fn closed(mut world: World) -> tempfile::TempDir {
    world.memory.close().await;
    world.kept.take().expect("a folder of its own")
}

/// What the memory says that can't be opened in this folder; the journal lies elsewhere.
pub(crate) fn refused(folder: &Path) -> String {
    let elsewhere = tempfile::tempdir().expect("a folder");
    let database = Database::open(elsewhere.path().join("homeagent.db")).expect("it opens");
    let secrets = Secrets::open(&database, elsewhere.path()).expect("they open");
    let settings = Settings::open(&database, &secrets).expect("they open");
    let bindings = Bindings::open(&database).expect("they open");
    let journal = Journal::open(&database).expect("it opens");
    let (_, embedder) = watch::channel(None);
    let opened = Memory::open(Parts {
        home: folder.to_owned(),
        journal,
        settings,
        bindings,
        embedder,
        elsewhere: None,
        plugin_values: None,
    });
    opened.err().expect("it can't be opened").to_string()
}

async fn found(world: &World, text: &str) -> Vec<String> {
    let found = world.memory.find(text, Viewer::Everything, 5, Vec::new(), None, None).await.expect("looked");
    found.into_iter().map(|hit| hit.passage.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_was_cut_is_set_aside_and_keeps_no_other_from_anything() {
    let world = World::new().await;
    let ids: Vec<String> = (0..5).map(|number| world.note("Plan", &format!("marigold{number} in May 五月"))).collect();
    let documents = world.memory.context().documents().clone();
    let path = documents.path(&ids[0]);
    let whole = fs::read(&path).expect("read");
    for (id, cut) in ids.iter().zip([0, 1, whole.len() / 2, whole.len() - 1]) {
        fs::write(documents.path(id), &whole[..cut]).expect("cut");
    }
    // Exporting comes to all of them.
    let mut exported = Vec::new();
    world.memory.export(&mut exported).expect("what is whole is exported");
    let exported = String::from_utf8(exported).expect("text");
    assert_eq!(exported.matches("\"type\":\"document\"").count(), 1, "{exported}");
    assert!(exported.contains("marigold4") && documents.count().expect("counted") == 1);
    let aside = path.with_extension("json.damaged");
    assert!(aside.is_file(), "a person can look at it");
    // The owner mends it and puts it back.
    fs::rename(&aside, &path).expect("moved");
    fs::write(&path, &whole).expect("mended");
    documents.look_through().expect("looked through");
    assert_eq!(documents.find("marigold0", None, &Viewer::Everything, 3).expect("found").len(), 1);
    // What stands in those that are set aside is forgotten with the rest.
    let half = documents.path(&ids[2]).with_extension("json.damaged");
    fs::write(&half, "{\"text\": \"marigold2 in").expect("written");
    world.forget(MemoryWhat::Text("marigold2".to_owned()), false).await;
    assert!(!half.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn halves_of_characters_in_files_and_in_the_journal_cost_nothing_else() {
    let world = World::new().await;
    let note = world.note("Trip", "PLACE and a boat");
    let before = world.say("the PLACE of the keys").await;
    world.say("the boat leaves at nine").await;
    let folder = closed(world).await;
    let path = folder.path().join("documents").join(format!("{note}.json"));
    let spoilt = fs::read_to_string(&path).expect("read").replace("PLACE", "\\ud83d lagoon \\udc00");
    fs::write(&path, spoilt).expect("written");
    let journal = rusqlite::Connection::open(folder.path().join("homeagent.db")).expect("it opens");
    let spoil = "UPDATE events SET payload = replace(payload, 'PLACE', '\\ud83d lagoon') WHERE seq = ?1";
    assert_eq!(journal.execute(spoil, [before]).expect("spoilt"), 1);
    drop(journal);
    let again = World::open(folder.path()).await.rebuilt().await;
    again.say("the lagoon is warm").await;
    let boats = found(&again, "boat").await;
    assert!(boats.contains(&"the boat leaves at nine".to_owned()), "what was said after it is found: {boats:?}");
    assert_eq!(again.memory.status().await.expect("read").following.error, None);
    let documents = again.memory.context().documents();
    let text = documents.read(&note).expect("it is read").text;
    assert_eq!(text, "\u{fffd} lagoon \u{fffd} and a boat");
    assert_eq!(documents.find("boat", None, &Viewer::Everything, 3).expect("found").len(), 1);
    assert!(found(&again, "where are the keys").await.contains(&"the \u{fffd} lagoon of the keys".to_owned()));
    // What was said with it can be forgotten like anything.
    again.forget(MemoryWhat::Text("lagoon".to_owned()), false).await;
    assert_eq!(again.holding("lagoon"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_that_are_damaged_or_lost_are_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::with_model(folder.path(), Some(Letters::embedder())).await;
    let ids: Vec<String> = (0..3).map(|number| world.note("Plan", &format!("tulip{number} in May"))).collect();
    let documents = world.memory.context().documents().clone();
    documents.make_vectors(&*Letters::embedder()).await.expect("made");
    let path = |id: &String| documents.path(id).with_extension("vec");
    let whole: Vec<Vec<u8>> = ids.iter().map(|id| fs::read(path(id)).expect("read")).collect();
    world.memory.close().await;
    let mut flipped = whole[0].clone();
    flipped[20] ^= 0xff;
    fs::write(path(&ids[0]), flipped).expect("damaged");
    fs::write(path(&ids[1]), &whole[1][..whole[1].len() / 2]).expect("cut");
    fs::remove_file(path(&ids[2])).expect("removed");
    drop(world);
    let memory = Database::open(folder.path().join("memory.db")).expect("it opens");
    memory.write("losing them", |transaction| transaction.execute("DELETE FROM vectors", [])).expect("lost");
    drop(memory);
    let world = World::with_model(folder.path(), Some(Letters::embedder())).await;
    world.memory.context().documents().make_vectors(&*Letters::embedder()).await.expect("made");
    for (id, whole) in ids.iter().zip(&whole) {
        assert_eq!(&fs::read(path(id)).expect("read"), whole, "{id}");
    }
    world.memory.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_file_the_memory_has_what_the_journal_and_the_documents_have() {
    let world = World::new().await;
    world.say("my sister lives in Porto").await;
    let note = world.note("Sister", "she likes figs");
    world.save_window().await;
    let folder = closed(world).await;
    for file in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let _ = fs::remove_file(folder.path().join(file));
    }
    let world = World::open(folder.path()).await;
    assert_eq!(found(&world, "sister Porto").await[0], "my sister lives in Porto");
    let documents = world.memory.context().documents();
    documents.look_through().expect("looked through");
    assert_eq!(documents.find("figs", None, &Viewer::Everything, 3).expect("found")[0].listed.id, note);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_file_that_is_none_is_named_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memory.db");
    let spoilt = b"this is no database, whatever it is called".repeat(200);
    fs::write(&path, &spoilt).expect("written");
    let error = refused(folder.path());
    for words in ["the memory can't be opened", "memory.db", "is damaged", "put a backup in its place"] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(fs::read(&path).expect("read"), spoilt);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_death_left_beside_the_list_is_forgotten_with_it() {
    let world = World::new().await;
    world.keep("likes tea");
    world.keep("the safe opens with marigold");
    fs::write(world.folder.join("memory.md.part"), "- the safe opens with marigo").expect("written");
    world.forget(MemoryWhat::Text("marigo".to_owned()), false).await;
    assert_eq!(world.holding("marigo"), Vec::<String>::new());
    let lines = world.memory.curated().lines(&Viewer::Everything).expect("read");
    assert!(lines.contains(&"likes tea".to_owned()), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_a_document_that_a_death_cut_leaves_the_text_that_its_file_has() {
    let world = World::new().await;
    let id = world.note("Soup", "onions and thyme");
    let documents = world.memory.context().documents().clone();
    let whole = fs::read(documents.path(&id)).expect("read");
    let other = Document { text: "leeks and salt".to_owned(), ..documents.read(&id).expect("read") };
    documents.put(&other, None).expect("written");
    let folder = closed(world).await;
    // The row tells of the new text, the file still has the old one, and a half of the new one lies beside it.
    let path = folder.path().join("documents").join(format!("{id}.json"));
    fs::write(&path, &whole).expect("written");
    fs::write(path.with_extension("json.part"), &whole[..whole.len() / 2]).expect("written");
    let memory = rusqlite::Connection::open(folder.path().join("memory.db")).expect("it opens");
    memory.execute("UPDATE documents SET there = 0", []).expect("unfinished");
    drop(memory);
    let world = World::open(folder.path()).await;
    let documents = world.memory.context().documents();
    let ids = |word: &str| documents.find(word, None, &Viewer::Everything, 3).expect("found").len();
    assert_eq!((ids("thyme"), ids("leeks"), documents.count().expect("counted")), (1, 0, 1));
    assert_eq!(documents.read(&id).expect("read").text, "onions and thyme");
    assert_eq!(documents.read(&id).expect("read").conversation, ME);
}
