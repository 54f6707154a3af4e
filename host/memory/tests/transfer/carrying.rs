//! What one memory exports, another takes in, and exports as the same bytes.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use homeagent_types::memory::{MemoryFile, MemoryWhat};
use homeagent_types::{CallError, Viewer};
use proptest::prelude::*;

use crate::world::World;

fn export(world: &World) -> String {
    let mut bytes = Vec::new();
    world.memory.export(&mut bytes).expect("exported");
    String::from_utf8(bytes).expect("text")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

async fn lived(names: &[String], forgotten: usize) -> World {
    let world = World::new().await;
    for (at, pair) in names.windows(2).enumerate() {
        world.learn(&pair[0], &pair[1], i64::try_from(at).expect("small") + 1000);
        world.note(&pair[0], &format!("{} was seen near {}", pair[0], pair[1]));
    }
    world.keep(&format!("greet {}", names[0]));
    world.say("the kettle is broken").await;
    if let Some(name) = names.get(forgotten) {
        world.forget(MemoryWhat::Entity(name.clone()), false).await;
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn what_is_taken_in_is_exported_as_the_same_bytes(
        names in prop::collection::btree_set("[A-Z][a-z]{5,9}x", 3..6),
        forgotten in 0..8_usize,
    ) {
        let names: Vec<String> = names.into_iter().collect();
        runtime().block_on(async {
            let world = lived(&names, forgotten).await;
            let first = export(&world);
            let other = World::new().await;
            let imported = other.memory.import(&mut first.as_bytes()).expect("imported");
            assert_eq!(imported.conflicts, Vec::<String>::new());
            assert_eq!(export(&other), first);
            for name in &names {
                let known = |world: &World| world.memory.graph().named(name, &Viewer::Everything).expect("read");
                assert_eq!(known(&world), known(&other));
            }
            let again = other.memory.import(&mut first.as_bytes()).expect("imported");
            assert_eq!((again.rows, again.documents), (0, 0));
            assert_eq!(export(&other), first);
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_line_is_named_and_nothing_of_the_graph_is_taken() {
    let world = lived(&["Alfredo".to_owned(), "Bergamo".to_owned()], 9).await;
    let whole = export(&world);
    let other = World::new().await;
    let before = export(&other);
    let at = whole.lines().position(|line| line.contains("\"table\":\"relations\"")).expect("there is one");
    let bad: Vec<&str> =
        whole.lines().enumerate().map(|(n, line)| if n == at { "{\"type\":\"row\"" } else { line }).collect();
    let error = other.memory.import(&mut bad.join("\n").as_bytes()).expect_err("it is bad").to_string();
    assert!(error.contains(&format!("line {}", at + 1)), "{error}");
    assert_eq!(export(&other), before);
    assert!(other.memory.import(&mut "{}".as_bytes()).is_err());
    let path = whole.lines().last().expect("a document").replacen("\"id\":\"", "\"id\":\"../", 1);
    let header = whole.lines().next().expect("a header");
    assert!(
        other.memory.import(&mut format!("{header}\n{path}").as_bytes()).is_err(),
        "no name leads out of the folder"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_whole_and_closed_to_others_and_read_by_another_memory() {
    let world = lived(&["Annax".to_owned(), "Berthax".to_owned(), "Chloex".to_owned()], 9).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memory.jsonl");
    let file = |replace: bool| MemoryFile { path: path.display().to_string(), replace };
    let written = Arc::clone(&world.memory).export_to(file(false)).await.expect("exported");
    let text = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!((written.records, written.bytes), (text.lines().count(), text.len() as u64));
    assert_eq!(text, export(&world));
    assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let again = Arc::clone(&world.memory).export_to(file(false)).await;
    assert!(matches!(again, Err(CallError::Conflict(_))), "{again:?}");
    Arc::clone(&world.memory).export_to(file(true)).await.expect("it was asked for");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left beside it");
    let other = World::new().await;
    let taken = Arc::clone(&other.memory).import_from(file(false)).await.expect("imported");
    assert!(taken.rows > 0 && taken.conflicts.is_empty(), "{taken:?}");
    assert_eq!(export(&other), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_that_can_be_used_is_refused_in_words() {
    let world = World::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).expect("a pipe");
    std::fs::write(at("other.jsonl"), "{\"type\":\"row\"}\n").expect("written");
    let there = |path: &str| path.to_owned();
    for (path, words) in [
        (there("memory.jsonl"), "no whole path"),
        (at("missing/memory.jsonl"), "can't be written"),
        (there(&folder.path().display().to_string()), "is a folder"),
    ] {
        let refused = Arc::clone(&world.memory).export_to(MemoryFile { path, replace: true }).await;
        let refused = refused.expect_err("it can't be").to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let ways = [
        (there("memory.jsonl"), "no whole path"),
        (at("missing.jsonl"), "can't be read"),
        (at("pipe"), "is no file"),
        (at("other.jsonl"), "line 1"),
    ];
    for (path, words) in ways {
        let refused = Arc::clone(&world.memory).import_from(MemoryFile { path, replace: false }).await;
        let refused = refused.expect_err("it can't be").to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
