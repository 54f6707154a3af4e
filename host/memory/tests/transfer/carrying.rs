//! What one memory exports, another takes in, and exports as the same bytes.

use homeagent_types::Viewer;
use homeagent_types::memory::MemoryWhat;
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
